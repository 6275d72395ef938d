"""How long each notebook takes on this machine, measured now.

    python3 -m course_lib timings [NOTEBOOK…]

Runs them one after the other, as shipped, and prints a table. CPU seconds are what a budget is about: on a busy machine
they grow by about a third, wall seconds by any amount. Exit code 1 if a notebook stops with an error.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from course_lib.classroom import tasks

try:
    import resource
except ImportError:  # Windows: CPU seconds stay 0 there
    resource = None

LIMIT = 900  # seconds for one notebook


def parser():
    p = argparse.ArgumentParser(prog="python3 -m course_lib timings", description=__doc__.split("\n\n")[0], epilog=__doc__.split("\n\n")[2])
    p.add_argument("notebooks", nargs="*", help="names, beginnings of names such as 03, or files (default: all)")
    return p


def main(arguments):
    """Returns the exit code."""
    asked = [Path(a).name.removesuffix(".ipynb") for a in parser().parse_args(arguments).notebooks]
    known = tasks.shipped().notebooks
    unknown = [a for a in asked if not any(n.startswith(a) for n in known)]
    if unknown:
        print(f"There is no notebook {unknown[0]}; there are {', '.join(known)}.", file=sys.stderr)
        return 1
    print(f"{'notebook':34}{'CPU s':>8}{'wall s':>8}", flush=True)
    problems = []
    for name in [n for n in known if not asked or any(n.startswith(a) for a in asked)]:
        cpu, wall, problem = measure(name)
        print(f"{name:34}{cpu:8.1f}{wall:8.1f}{'  ' + problem if problem else ''}", flush=True)
        problems += [problem] if problem else []
    return 1 if problems else 0


def measure(notebook):
    """(CPU seconds, wall seconds, what went wrong or "") of one run as shipped, the start of the kernel included."""
    path = tasks.NOTEBOOKS / f"{notebook}.ipynb"
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "COURSE_LIB_HOME": folder, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(tasks.ROOT)}
        command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", folder,
                   "--ExecutePreprocessor.timeout=300", str(path)]  # fmt: skip
        before, started = _cpu(), time.perf_counter()
        try:
            done = subprocess.run(command, env=env, capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=LIMIT)
            problem = "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it stopped"])[-1][:100]
        except subprocess.TimeoutExpired:
            problem = f"it took more than {LIMIT} s"
        return _cpu() - before, time.perf_counter() - started, problem


def _cpu():
    if resource is None:
        return 0.0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
