"""Every test keeps its progress in a folder of its own; a learner's real records must never be touched."""
import os
import tempfile
from pathlib import Path

import pytest
from notebook_runs import NOTEBOOKS, RUNS, start_runs

from course_lib import journal

# Before any fixture runs, and for kernels that tests start: never the learner's own folder.
os.environ["COURSE_LIB_HOME"] = tempfile.mkdtemp(prefix="course-lib-tests-")
# Before torch is imported: two threads that wait for each other make small models several times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def progress_home(tmp_path_factory, monkeypatch):
    """A fresh COURSE_LIB_HOME; afterwards the real folder must be as it was."""
    folder = tmp_path_factory.mktemp("progress")
    monkeypatch.setenv("COURSE_LIB_HOME", str(folder))
    real = journal.default_home()  # now: a test may pretend to run on another system
    before = contents(real)
    yield folder
    if contents(real) != before:
        pytest.fail(f"This test touched the learner's own records in {real} "
                    "(or a notebook outside the tests did so meanwhile).")


def contents(folder):
    """{file: (size, time of change)} of a folder; empty if it does not exist."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def about_notebooks(item):
    return item.path.name == "test_notebooks.py"


def pytest_collection_modifyitems(items):
    """The notebooks come last: they run beside the other tests, and what seems dear is measured again alone."""
    items.sort(key=about_notebooks)


def pytest_runtestloop(session):
    """Two cores: notebooks run on one, from the start, while the other tests run on the other."""
    items = [item for item in session.items if about_notebooks(item) and "runs" in item.fixturenames]
    asked = {item.callspec.params["path"] for item in items if hasattr(item, "callspec")}
    if items:
        folder = Path(tempfile.mkdtemp(prefix="course-lib-runs-"))
        session.config.stash[RUNS] = start_runs(sorted(asked) or NOTEBOOKS, folder)


def pytest_sessionfinish(session):
    if RUNS in session.config.stash:
        session.config.stash[RUNS][0].shutdown(wait=False, cancel_futures=True)
