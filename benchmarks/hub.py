"""How long a class waits, and how much memory it takes: N learners on a real hub on this machine, all at the same time.

    python benchmarks/hub.py [N=20] [CELLS=all]

Each logs in, fetches the course by a link, opens notebook 01, runs its first CELLS code cells, answers a question and
saves. Prints the table that hub/values.yaml reckons with. All of notebook 01 costs each learner about 50 CPU seconds.
"""

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import hub_kit  # noqa: E402  (lies in tests/)
from hub_class import attend, code_cells, work  # noqa: E402  (lies in tests/)
from hub_kit import Hub, Learner, bare_repository  # noqa: E402  (lies in tests/)

from course_lib.classroom import release, tasks  # noqa: E402  (stands beside benchmarks/)

hub_kit.LIMIT = 3600  # seconds: a long cell, twenty times at once on two cores
RIGHT = {"given": "B", "attempts": 1, "right": True, "done": True}


def main(n=20, cells=None):
    with tempfile.TemporaryDirectory() as folder:
        os.environ["COURSE_LIB_HOME"] = f"{folder}/records"  # never the real one
        repository = bare_repository(dict(release.files(tasks.shipped())), Path(folder) / "repository")
        with Hub(Path(folder) / "hub") as hub:
            learners = [Learner(hub, f"learner{i:02}", repository, "01_multi_head_intuition") for i in range(n)]
            print(work(hub, learners, lambda learner: attend(learner, lambda book: code_cells(book)[:cells], RIGHT)))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
