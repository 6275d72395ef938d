"""progress.py and journal.py: nothing a learner did is lost, whatever happens to the kernel or the disk."""
import errno
import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import journal, progress

ROOT = Path(__file__).resolve().parents[1]


def run_python(code, home, *arguments):
    """Run code in a process of its own with `home` as COURSE_LIB_HOME; returns what it printed."""
    environment = {**os.environ, "COURSE_LIB_HOME": str(home), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], env=environment, text=True,
                          capture_output=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return done.stdout


def at(time, kind, id, **data):
    """Keep an event as if it had happened at `time`."""
    journal.append({**journal.new_record(kind, id, data), "time": time.isoformat()})


# ---- keeping and reading ----
def test_events_come_back_in_order_with_their_data():
    progress.record("answer", "01_x/Q1", given="B", right=True)
    progress.record("hint", "split_heads", number=1)
    first, second = progress.events()
    assert (first["kind"], first["id"], first["given"], first["right"]) == ("answer", "01_x/Q1", "B", True)
    assert second["number"] == 1
    assert progress.events("hint") == [second]
    assert progress.events(id="01_x/Q1") == [first]
    assert progress.events("hint", "01_x/Q1") == []


def test_records_are_lines_of_json_that_a_person_can_read(progress_home):
    progress.record("answer", "01_x/Q4", given="schöne Köpfe")
    [path] = progress_home.glob("*.jsonl")
    line = path.read_text(encoding="utf-8").strip()
    assert "schöne Köpfe" in line
    assert json.loads(line)["kind"] == "answer"


def test_data_cannot_replace_the_records_own_fields():
    progress.record("answer", "Q1", **{"time": "yesterday", "uid": "mine", "v": 99})
    [event] = progress.events()
    assert event["v"] == journal.VERSION
    assert event["uid"] != "mine"
    assert datetime.fromisoformat(event["time"]).tzinfo


def test_what_is_no_json_raises_and_spoils_nothing():
    with pytest.raises(TypeError):
        progress.record("answer", "Q1", given=object())
    progress.record("answer", "Q2")
    assert [event["id"] for event in progress.events()] == ["Q2"]
    assert progress.warning() == ""


def test_home_is_course_lib_home_or_the_systems_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_LIB_HOME", str(tmp_path / "mine"))
    assert journal.home() == tmp_path / "mine"
    monkeypatch.delenv("COURSE_LIB_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    for platform, part in (("linux", "data"), ("win32", "local"), ("darwin", "Library")):
        monkeypatch.setattr(sys, "platform", platform)
        assert part in journal.home().parts
        assert journal.home().name == "transformers-by-experiment"


# ---- crashes ----
KILLS = """
import os, random, select, signal, sys, time
from course_lib import journal, progress
top, kills, careless = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "careless"

def careless_write(path, text):              # what must not be done: the file is empty for a moment
    path.parent.mkdir(parents=True, exist_ok=True)
    old = path.read_text() if path.exists() else ""
    with open(path, "w") as file:
        for line in (old + text).splitlines(True):
            file.write(line)
            file.flush()

if careless:
    journal._write = careless_write

def write_for_ever(pipe):
    i = 0
    while True:
        progress.record("answer", str(i), given="B" * random.randrange(2000))
        os.write(pipe, b"%d\\n" % i)         # only now may the learner believe that it is kept
        i += 1

lost = torn = kept = 0
for kill in range(kills):
    os.environ["COURSE_LIB_HOME"] = os.path.join(top, str(kill))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        write_for_ever(writer)
    os.close(writer)
    select.select([reader], [], [], 10)      # it is writing now
    time.sleep(random.random() * 0.004)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    said = b""
    while chunk := os.read(reader, 65536):
        said += chunk
    os.close(reader)
    promised = set(said.decode().split("\\n")[:-1])
    events, notes = journal.read()
    have = {event["id"] for event in events}
    lost += len(promised - have)
    torn += len(have - promised) > 1 or len(notes) > 1
    kept += len(have)
print(lost, torn, kept)
"""
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system; try Linux or macOS")


def kills(tmp_path, number, how="careful"):
    """Kill that many writing processes; (answers lost, files with more than one odd line, answers kept)."""
    return map(int, run_python(KILLS, tmp_path, tmp_path, number, how).split())


@needs_fork
def test_thirty_kills_lose_no_answer(tmp_path):
    lost, torn, kept = kills(tmp_path, 30)
    assert (lost, torn) == (0, 0)
    assert kept >= 30


@needs_fork
def test_the_kill_test_finds_a_careless_writer(tmp_path):
    lost, _, _ = kills(tmp_path, 60, "careless")
    assert lost > 0


@needs_fork
@pytest.mark.slow
def test_a_thousand_kills_lose_no_answer(tmp_path):
    lost, torn, kept = kills(tmp_path, 1000)
    assert (lost, torn) == (0, 0)
    assert kept >= 1000


def test_two_kernels_may_write_at_once(progress_home):
    code = "import sys; from course_lib import progress\n" \
           "for i in range(150): progress.record('answer', f'{sys.argv[1]}-{i}')"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    both = [subprocess.Popen([sys.executable, "-c", code, name], env=environment) for name in ("a", "b")]
    assert [process.wait(60) for process in both] == [0, 0]
    assert {event["id"] for event in progress.events()} == {f"{n}-{i}" for n in "ab" for i in range(150)}
    assert len(list(progress_home.glob("*.jsonl"))) == 2


@needs_fork
def test_a_forked_child_writes_its_own_file(progress_home):
    progress.record("answer", "parent")
    run_python("import os; from course_lib import progress\nprogress.record('answer', 'before')\n"
               "child = os.fork()\nprogress.record('answer', 'child' if child == 0 else 'after')\n"
               "os._exit(0) if child == 0 else os.waitpid(child, 0)", progress_home)
    assert {event["id"] for event in progress.events()} == {"parent", "before", "child", "after"}
    assert len(list(progress_home.glob("*.jsonl"))) == 3


# ---- the disk ----
def full_after(monkeypatch, n_bytes):
    """Let os.write take that many bytes more, and then say that the disk is full."""
    real, left = os.write, [n_bytes]

    def write(handle, data):
        if left[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        data = data[:left[0]]
        left[0] -= len(data)
        return real(handle, data)

    monkeypatch.setattr(os, "write", write)


def test_a_full_disk_says_so_and_loses_nothing(progress_home, monkeypatch):
    progress.record("answer", "before")
    with monkeypatch.context() as full:
        full_after(full, 25)
        progress.record("answer", "during")
        progress.record("answer", "during too")
        assert "No space left on device" in progress.warning()
        assert "2 record(s) are held in memory" in progress.warning()
        assert [event["id"] for event in progress.events()] == ["before", "during", "during too"]
        assert any("No space left" in line for line in progress.show().sections["About the files"])
    progress.record("answer", "after")
    assert progress.warning() == ""
    [path] = progress_home.glob("*.jsonl")
    records, notes = journal.read_file(path)
    assert [record["id"] for record in records] == ["before", "during", "during too", "after"]
    assert notes == []


@pytest.mark.skipif(sys.platform == "win32", reason="no file size limits on Windows")
def test_a_write_that_the_system_cuts_short_leaves_no_torn_line(tmp_path):
    """A real failure in the middle of a line: the system's limit on the size of a file."""
    said = run_python("""if True:
        import resource, signal
        from course_lib import journal, progress
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))
        for i in range(40):
            progress.record("answer", str(i))
        warned = bool(progress.warning())
        [path] = journal.home().glob("*.jsonl")
        inside = journal.read_file(path)
        in_memory = len(progress.events())
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        progress.record("answer", "last")
        print(warned, 0 < len(inside[0]) < 40, inside[1], in_memory, len(journal.read_file(path)[0]),
              progress.warning() == "")""", tmp_path)
    assert said.split() == ["True", "True", "[]", "40", "41", "True"]


def test_a_home_that_cannot_be_written_keeps_everything_in_memory(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("COURSE_LIB_HOME", str(tmp_path / "file" / "home"))
    progress.record("answer", "Q1", right=True)
    assert "held in memory" in progress.warning()
    assert progress.passed() == {"Q1"}
    assert "Q1" in str(progress.show())
    progress.delete_everything()
    assert progress.events() == [] and progress.warning() == ""


# ---- damaged and newer files ----
@pytest.mark.parametrize("bytes_in_the_way", [
    b"\n\x00\xff\xfe garbage", b'\n{"v": 1, "kind": "answ', b'\n[1, 2]\n"text"\nnull',
    b"\n" + b"\x00" * 5000,
    b'\n{"v": 1, "uid": "a", "time": "never", "kind": "answer", "id": "Q1"}',
    b'\n{"v": true}', b'\n{"v": "1"}'])
def test_a_damaged_file_is_set_aside_and_said_so(progress_home, bytes_in_the_way):
    progress.record("answer", "good")
    [own] = progress_home.glob("*.jsonl")
    damaged = progress_home / "progress-20200101-000000-dead.jsonl"
    damaged.write_bytes(own.read_bytes().replace(b"good", b"old") + bytes_in_the_way)
    damaged.write_bytes(damaged.read_bytes().replace(b'"uid": "', b'"uid": "0'))
    was = damaged.read_bytes()
    progress.record("answer", "later")
    assert {event["id"] for event in progress.events()} == {"good", "old", "later"}
    [note] = progress.show().sections["About the files"]
    assert damaged.name in note and "damaged" in note
    assert damaged.read_bytes() == was


@given(st.binary(max_size=300))
def test_no_bytes_make_reading_fail(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "progress-x.jsonl"
    path.write_bytes(content)
    records, notes = journal.read_file(path)
    assert records == []
    assert bool(notes) == any(line.strip() for line in content.splitlines())


def test_a_newer_version_is_left_untouched_and_said_so(progress_home):
    newer = progress_home / "progress-29990101-000000-beef.jsonl"
    newer.write_text('\n{"v": 2, "what": "unknown to us"}', encoding="utf-8")
    was = newer.read_bytes()
    progress.record("answer", "Q1", right=True)
    assert [event["id"] for event in progress.events()] == ["Q1"]
    [note] = progress.show().sections["About the files"]
    assert newer.name in note and "newer version" in note and "update" in note
    assert newer.read_bytes() == was


# ---- one file to take along ----
def test_export_then_import_elsewhere_brings_everything_once(tmp_path, monkeypatch):
    progress.record("answer", "Q1", right=True)
    progress.record("prediction", "wider", given=0.9)
    before = progress.events()
    path = progress.export_file(tmp_path / "mine.jsonl")
    monkeypatch.setenv("COURSE_LIB_HOME", str(tmp_path / "other computer"))
    progress.record("answer", "Q2")
    assert progress.import_file(path)[:2] == (2, 0)
    assert progress.import_file(path)[:2] == (0, 2)
    assert progress.events()[:2] == before
    assert {event["id"] for event in progress.events()} == {"Q1", "wider", "Q2"}
    assert progress.export_file(path) == path            # an export may be replaced by a newer one


def test_export_does_not_replace_a_file_of_another_sort(tmp_path):
    path = tmp_path / "thesis.txt"
    path.write_text("three years of work", encoding="utf-8")
    with pytest.raises(FileExistsError, match=r"thesis\.txt exists and holds no progress"):
        progress.export_file(path)
    assert path.read_text(encoding="utf-8") == "three years of work"


def test_import_says_what_it_could_not_read(tmp_path):
    progress.record("answer", "Q1")
    path = progress.export_file(tmp_path / "mine.jsonl")
    with path.open("a", encoding="utf-8") as file:
        file.write('\n{"v": 1, "uid"')
    progress.delete_everything()
    result = progress.import_file(path)
    assert result.new == 1
    assert "1 damaged line(s)" in str(result)
    with pytest.raises(FileNotFoundError, match="export_file"):
        progress.import_file(tmp_path / "absent.jsonl")


def test_delete_everything_leaves_other_files_alone(progress_home):
    (progress_home / "model.safetensors").write_text("not ours to delete", encoding="utf-8")
    progress.record("answer", "Q1")
    assert "1 file(s)" in progress.delete_everything()
    assert progress.events() == []
    assert [path.name for path in progress_home.iterdir()] == ["model.safetensors"]
    progress.record("answer", "Q2")
    assert [event["id"] for event in progress.events()] == ["Q2"]


# ---- coming back ----
NOW = datetime(2026, 3, 10, 18, 0, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MISS, RIGHT = ("answer", {"right": False}), ("answer", {"right": True})


@pytest.mark.parametrize("history, due", [
    ([(0 * DAY, *RIGHT)], None),
    ([(0 * DAY, *MISS)], NOW + DAY),
    ([(0 * DAY, *MISS), (HOUR, *RIGHT)], NOW + DAY),      # the same evening proves little
    ([(0 * DAY, *MISS), (DAY - 2 * HOUR, *RIGHT)], NOW + DAY - 2 * HOUR + 7 * DAY),
    ([(0 * DAY, *MISS), (DAY, *RIGHT), (3 * DAY, *RIGHT)], NOW + 8 * DAY),
    ([(0 * DAY, *MISS), (DAY, *RIGHT), (8 * DAY, *RIGHT)], None),
    ([(0 * DAY, *MISS), (DAY, *RIGHT), (8 * DAY, *MISS)], NOW + 9 * DAY),
    ([(0 * DAY, "answer", {"right": None})], None),                              # a text not yet marked
    ([(0 * DAY, "reveal", {})], NOW + DAY),
    ([(0 * DAY, "reveal", {}), (HOUR, "exercise", {"status": "passed"})], NOW + DAY),
    ([(0 * DAY, "exercise", {"status": "failed"})], NOW + DAY),
    ([(0 * DAY, "exercise", {"status": "failed"}), (HOUR, "exercise", {"status": "passed"})], None),
    ([(0 * DAY, "exercise", {"status": "not_started"})], None),
    ([(0 * DAY, "hint", {})], None),
])
def test_when_to_come_back(history, due):
    for after, kind, data in history:
        at(NOW + after, kind, "it", **data)
    assert progress.come_back().get("it") == due


def test_the_page_sorts_by_what_matters_today():
    at(NOW - 2 * DAY, "answer", "01_multi_head_intuition/Q1", right=False)
    at(NOW - HOUR, "reveal", "split_heads")
    at(NOW, "exercise", "merge_heads", status="passed")
    at(NOW, "outcome", "02_x/smallest_d", surprising=True, sentence="You said 64; it is 12.")
    at(NOW, "outcome", "02_x/other", surprising=False, sentence="As you predicted.")
    page = progress.show(NOW)
    assert page.sections["Come back to these today"] == ["Notebook 01: Q1"]
    assert page.sections["Come back to these later"][0].startswith("split_heads: from 11 March 2026")
    assert page.sections["What surprised you"] == ["Notebook 02: smallest_d: You said 64; it is 12."]
    assert page.sections["Done"] == ["merge_heads"]
    assert "<h3>" in page._repr_html_() and "merge_heads" in str(page)


def test_the_page_escapes_what_a_learner_wrote():
    at(NOW, "outcome", "02_x/y", surprising=True, sentence="<script>alert(1)</script>")
    assert "<script>" not in progress.show()._repr_html_()


# ---- the guard in conftest.py ----
def test_the_guard_fails_a_test_that_touches_the_real_folder(tmp_path):
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path / "conftest.py")
    (tmp_path / "test_careless.py").write_text(
        "from course_lib import progress\n"
        "def test_careless(monkeypatch):\n"
        "    monkeypatch.delenv('COURSE_LIB_HOME')\n"
        "    progress.record('answer', 'Q1')\n", encoding="utf-8")
    folders = ("XDG_DATA_HOME", "LOCALAPPDATA", "HOME", "USERPROFILE")
    own = {name: str(tmp_path / "learner") for name in folders}
    own |= {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
                          env={**os.environ, **own}, text=True, capture_output=True, timeout=120)
    assert done.returncode == 1, done.stdout
    assert "touched the learner's own records" in done.stdout
