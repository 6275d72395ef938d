"""A notebook run from top to bottom, with its outputs and the state of its views.

    rendered("notebooks/01_….ipynb") -> the notebook (nbformat)

It runs in a process of its own, which has a time limit, a fresh folder for a learner's records (nobody's answers get
into a page), and this very Python, whatever kernels are installed. Run as a script:
python -m course_lib.classroom.rendered IN OUT.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import nbclient
import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

ROOT = Path(__file__).resolve().parents[2]
CELL_LIMIT, LIMIT = 300, 1200  # seconds


class Failed(Exception):
    """A cell raised an error, or took too long: the message ends with what Python said."""


def rendered(path, limit=LIMIT):
    """The notebook with outputs; nb.metadata.widgets holds its views. Raises Failed with the last lines of the error."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.ipynb"
        environment = os.environ | {
            "COURSE_LIB_HOME": folder,
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(ROOT),
            "IPYTHONDIR": folder,
        }
        command = [sys.executable, "-P", "-m", "course_lib.classroom.rendered", str(path), str(out)]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, timeout=limit, encoding="utf-8", errors="replace"
            )
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{path} was stopped after {limit} seconds.") from late
        if done.returncode:
            raise Failed(f"{path} did not run:\n" + "\n".join(done.stderr.strip().splitlines()[-12:]))
        return nbformat.read(out, as_version=4)


class ThisPython(KernelSpecManager):
    """Every kernel name means the Python that runs this."""

    def get_kernel_spec(self, kernel_name):
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name="Python 3", language="python")


def run(source, target):
    """Run the notebook file `source` and write it with its outputs to `target`."""
    notebook = nbformat.read(source, as_version=4)
    manager = AsyncKernelManager(kernel_spec_manager=ThisPython())
    client = nbclient.NotebookClient(notebook, km=manager, timeout=CELL_LIMIT, store_widget_state=True)
    try:
        client.execute(cwd=str(Path(source).resolve().parent))
    except nbclient.exceptions.CellExecutionError as error:
        failed = [cell.source for cell in notebook.cells if _error_in(cell)]
        sys.exit(f"{error.ename}: {error.evalue}\nin the cell\n" + "\n".join(failed[:1]))
    nbformat.write(notebook, target)


def _error_in(cell):
    return any(output.output_type == "error" for output in cell.get("outputs", []))


if __name__ == "__main__":
    run(*sys.argv[1:])
