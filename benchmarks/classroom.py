"""How long it takes to mark a class: N learners with eight exercises each, through the real command.

    python benchmarks/classroom.py [N=300] [JOBS=2]

Half of the learners have one exercise wrong. Prints wall and CPU seconds; the aim is 300 learners in 10 minutes on 2 cores.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from handed_in import answered, as_bytes  # noqa: E402  (lies in tests/)

EIGHT = {
    "01_multi_head_intuition": ("scaled_dot_product_attention", "split_heads", "merge_heads", "multi_head_attention"),
    "02_position_fingerprints": ("sinusoidal_pe",),
    "03_causal_mask": ("causal_mask", "shift_right", "future_perturbation"),
}
WRONG = """def sinusoidal_pe(n, d):
    angle = torch.arange(n)[:, None] / 10000 ** (2 * torch.arange(0, d, 2) / d)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)
"""


def main(n=300, jobs=2):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for i in range(n):
            for notebook, exercises in EIGHT.items():
                path = folder / "class" / f"learner{i:03}" / f"{notebook}.ipynb"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(as_bytes(answered(notebook, {"sinusoidal_pe": WRONG} if i % 2 else None, only=exercises)))
        lines = [f"  - {{exercise: {e}, notebook: {notebook}}}" for notebook, exercises in EIGHT.items() for e in exercises]
        (folder / "course.yaml").write_text("\n".join(["exercises:", *lines]), encoding="utf-8")
        command = [sys.executable, "-m", "course_lib.classroom.mark", str(folder / "class"), "--out", str(folder / "marks"),
                   "--course", str(folder / "course.yaml"), "--jobs", str(jobs)]  # fmt: skip
        started = time.perf_counter()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        wall = time.perf_counter() - started
        right = done.stdout.count(": 8 points"), done.stdout.count(": 7 points")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{n} learners, {jobs} at a time: {wall:.0f} s, {used.ru_utime + used.ru_stime:.0f} CPU s; "
          f"{right[0]} with 8 points, {right[1]} with 7; exit code {done.returncode}")  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
