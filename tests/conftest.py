"""Every test keeps its progress in a folder of its own; a learner's real records must never be touched."""
import os
import tempfile

import pytest

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
