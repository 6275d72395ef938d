"""Marking: whatever state a notebook is in, its learner gets a mark and a page, and the mark is the right one."""

import csv
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import unicodedata
import zipfile
from datetime import datetime

import pytest
import torch
from handed_in import DAMAGE, answered, as_bytes

from course_lib.classroom import finding, intake, mark, report, roster, sandbox, tasks, wire
from course_lib.classroom.marking import mark_file
from course_lib.classroom.session import Zygote
from course_lib.exercises.registry import all_exercises

NOTEBOOK = "01_multi_head_intuition"
pytestmark = pytest.mark.skipif(bool(sandbox.why_not()), reason=f"no sandbox here: {sandbox.why_not()}")


def two_tasks():
    """Two quick exercises of notebook 01."""
    return [t for t in tasks.tasks_of(NOTEBOOK) if t.exercise in ("split_heads", "merge_heads")]


SOLVED = answered(NOTEBOOK, only=("split_heads", "merge_heads"))


@pytest.fixture(scope="module")
def zygote():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with Zygote() as started:
        yield started
    torch.set_num_threads(threads)


def statuses(zygote, raw, chosen=None):
    found = mark_file(zygote, raw, chosen or two_tasks(), all_exercises(), "seed")
    return [answer["status"] for answer in found.values()]


# ---- damage ----


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda d: d.__name__)
def test_a_damaged_notebook_gets_the_mark_of_the_whole_one(zygote, damage):
    assert statuses(zygote, damage(SOLVED, random.Random(1))) == ["passed", "passed"]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_two_hundred_damaged_notebooks_all_get_their_marks(zygote):
    for number in range(200):
        damage = DAMAGE[number % len(DAMAGE)]
        assert statuses(zygote, damage(SOLVED, random.Random(number))) == ["passed", "passed"], (damage.__name__, number)


@pytest.mark.parametrize("raw", [b"", b"{", b"\0" * 100, b"[" * 100_000, b'{"cells": 3}', b'{"cells": [{"source": 5}]}',
                                 "ü".encode("cp1252") * 50, json.dumps({"cells": []}).encode()])  # fmt: skip
def test_a_file_that_is_no_notebook_gets_no_points_and_a_reason(zygote, raw):
    found = mark_file(zygote, raw, two_tasks(), all_exercises(), "seed")
    assert [a["status"] for a in found.values()] == ["not_started", "not_started"]
    assert all("found" in a["message"] for a in found.values())


def test_a_wrong_answer_is_told_in_the_checks_own_words(zygote):
    wrong = {"split_heads": "def split_heads(x, n_heads):\n    B, T, d = x.shape\n    return x.view(B, n_heads, T, d // n_heads)\n"}
    raw = as_bytes(answered(NOTEBOOK, wrong, only=("split_heads", "merge_heads")))
    here = mark_file(zygote, raw, two_tasks(), all_exercises(), "seed")[f"{NOTEBOOK}/split_heads"]
    space = {"torch": torch}
    exec(wrong["split_heads"], space)
    from course_lib.exercises import check

    there = check("split_heads", space["split_heads"])
    assert (here["status"], here["mistake"]) == (there.status, there.mistake) == ("failed", "view-scrambles")
    assert here["message"].replace(", `return x.view(B, n_heads, T, d // n_heads)`", "") == there.message  # a cell's line is known


def test_an_answer_for_the_published_inputs_only_fails_on_fresh_ones(zygote):
    lookup = ("def split_heads(x, n_heads):\n    from course_lib.attention import split_heads as s\n"
              "    from course_lib.exercises.split_heads import PROBES\n    import torch\n"
              "    known = any(torch.equal(x.float(), p.args[0].float()) for p in PROBES if p.args[0].shape == x.shape)\n"
              "    return s(x, n_heads) if known or x.shape[-1] % n_heads else s(x * 0, n_heads)\n")  # fmt: skip
    raw = as_bytes(answered(NOTEBOOK, {"split_heads": lookup}, only=("split_heads",)))
    answer = mark_file(zygote, raw, two_tasks(), all_exercises(), "seed")[f"{NOTEBOOK}/split_heads"]
    assert (answer["status"], answer["mistake"]) == ("failed", "wrong-on-fresh-inputs")


def test_an_imported_answer_is_not_a_written_one(zygote):
    raw = as_bytes(answered(NOTEBOOK, {"split_heads": "from course_lib.attention import split_heads"}, only=("split_heads",)))
    answer = mark_file(zygote, raw, two_tasks(), all_exercises(), "seed")[f"{NOTEBOOK}/split_heads"]
    assert answer["mistake"] == "imported"


def test_every_right_answer_of_the_course_passes_across_processes(zygote):
    for notebook in tasks.shipped().notebooks[:2]:
        chosen = tasks.tasks_of(notebook)
        assert set(statuses(zygote, as_bytes(answered(notebook)), chosen)) == {"passed"}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_right_answer_of_every_notebook_passes_across_processes(zygote):
    for notebook in tasks.shipped().notebooks[2:]:
        found = mark_file(zygote, as_bytes(answered(notebook)), tasks.tasks_of(notebook), all_exercises(), "seed")
        assert {k: a["message"] for k, a in found.items() if a["status"] != "passed"} == {}


def test_a_helper_in_another_cell_and_a_constant_are_found(zygote):
    book = answered(NOTEBOOK, {"merge_heads": "def merge_heads(x):\n    return helper(x) * ONE\n"}, only=("merge_heads",))
    helper = "import torch\nONE = 2 - 1\nprint('training')\ndef helper(x):\n    return x.transpose(1, 2).flatten(2)\nwhile True: pass"
    book["cells"].append({"cell_type": "code", "metadata": {}, "source": helper})
    assert statuses(zygote, as_bytes(book)) == ["not_started", "passed"]


# ---- what a class is ----


@pytest.fixture
def handed_in(tmp_path):
    """A class of four, as an LMS gives it: a zip of folders, with a zip in it."""
    inner = tmp_path / "inner.zip"
    with zipfile.ZipFile(inner, "w") as z:
        z.writestr(f"work/{NOTEBOOK}.ipynb", as_bytes(SOLVED))
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as z:
        z.writestr(f"Anna Muster_4711_assignsubmission_file_/{NOTEBOOK}.ipynb", as_bytes(SOLVED))
        z.writestr("Bo <b>/my notebook.ipynb", as_bytes(answered(NOTEBOOK, only=("split_heads",))))
        z.writestr(f"Cy/{NOTEBOOK} (1).ipynb", b"no notebook")
        z.writestr(f"Cy/.ipynb_checkpoints/{NOTEBOOK}.ipynb", as_bytes(SOLVED))
        z.write(inner, "=Dee/all.zip")
        z.writestr("=Dee/mine.jsonl", json.dumps(
            {"v": 1, "uid": "1", "time": "2026-11-01T10:00:00+00:00", "kind": "answer", "id": f"{NOTEBOOK}/Q4",
             "given": "=1+1 heads get narrow", "ticked": [], "attempts": 1, "right": None}))  # fmt: skip
    return tmp_path / "class.zip"


def course_file(folder):
    path = folder / "course.yaml"
    lines = [f"  - {{exercise: {name}, notebook: {NOTEBOOK}, points: 2}}" for name in ("split_heads", "merge_heads")]
    path.write_text("\n".join([f"notebooks: [{NOTEBOOK}]", "seed: ours", "exercises:", *lines]), encoding="utf-8")
    return path


def run(handed_in, tmp_path, *more):
    return mark.main([str(handed_in), "--out", str(tmp_path / "out"), "--course", str(course_file(tmp_path)), "--jobs", "1", *more])


def table(tmp_path):
    with (tmp_path / "out" / "marks.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["learner"]: row for row in csv.DictReader(file)}


def test_a_class_is_marked_resumed_and_marked_again_with_the_same_result(handed_in, tmp_path, capfd):
    assert run(handed_in, tmp_path) == 0
    first = table(tmp_path)
    assert {name: row["points"] for name, row in first.items()} == {"Anna Muster": "4", "Bo <b>": "2", "Cy": "0", "'=Dee": "4"}
    out = tmp_path / "out"
    pages = sorted(p.name for p in (out / "pages").glob("*.html"))
    assert len(pages) == 4
    assert "<b>" not in next((out / "pages").glob("Bo*")).read_text(encoding="utf-8").split("<main>")[1]
    kept = {p.name: p.read_bytes() for p in (out / "results").iterdir()}

    damaged = next(p for p in (out / "results").iterdir() if "Anna" in p.name)
    damaged.write_text(damaged.read_text(encoding="utf-8")[:50], encoding="utf-8")  # a crash in the middle
    capfd.readouterr()
    assert run(handed_in, tmp_path) == 0
    assert [line for line in capfd.readouterr().out.splitlines() if line.endswith(" points")] == ["Anna Muster: 4 points"]
    assert {p.name: p.read_bytes() for p in (out / "results").iterdir()} == kept

    shutil.rmtree(out / "results")
    assert run(handed_in, tmp_path) == 0
    assert {p.name: p.read_bytes() for p in (out / "results").iterdir()} == kept
    assert table(tmp_path) == first

    texts = out / "short_answers.csv"
    rows = texts.read_text(encoding="utf-8-sig")
    assert "'=1+1" in rows  # no formula for a spreadsheet
    texts.write_text(rows.rstrip("\r\n") + "1.5\r\n", encoding="utf-8")
    assert run(handed_in, tmp_path) == 0
    assert table(tmp_path)["'=Dee"]["points"] == "5.5"
    assert "1.5" in texts.read_text(encoding="utf-8-sig")


@pytest.mark.parametrize("written, says", [
    ("learner,question,answer,points\nAnna,q,a,two\n", "the points of Anna for q are 'two'"), ("a,b\n1,2\n", "must have the columns"),
    ("learner,question,answer,points\nAnna,q,für,1\n".encode("cp1252"), "UTF-8"),
])  # fmt: skip
def test_a_table_of_points_that_cannot_be_read_is_said_before_anything_is_marked(handed_in, tmp_path, written, says, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "short_answers.csv").write_bytes(written if isinstance(written, bytes) else written.encode())
    assert run(handed_in, tmp_path) == 1
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out" / "results").exists()


@pytest.mark.parametrize("mark_between", [",", ";", "\t"])
def test_points_come_back_from_any_spreadsheet(tmp_path, mark_between):
    path = tmp_path / "short_answers.csv"
    rows = [["learner", "question", "answer", "points"], ["Anna", "01/Q4", "one, two; three\nfour", "1,5"], ["'=Bo", "01/Q4", "'-2 heads", ""]]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, delimiter=mark_between).writerows(rows)
    assert report.read_texts(path) == {("Anna", "01/Q4", "one, two; three\nfour"): 1.5, ("=Bo", "01/Q4", "-2 heads"): None}


def test_a_dry_run_writes_nothing(handed_in, tmp_path, capsys):
    assert run(handed_in, tmp_path, "--dry-run") == 0
    assert "4 learners, 2 exercises" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


def test_without_a_sandbox_it_refuses_and_says_why(handed_in, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sandbox, "why_not", lambda: "There is none here.")
    assert run(handed_in, tmp_path) == 3
    said = capsys.readouterr().err
    assert "There is none here." in said
    assert "--trusted" in said
    assert not (tmp_path / "out").exists()


def test_where_a_right_answer_does_not_pass_nobody_gets_a_mark(handed_in, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(mark, "RIGHT", "def merge_heads(x):\n    import not_to_be_had")
    assert run(handed_in, tmp_path) == 1
    said = capfd.readouterr().err
    assert "a right answer does not pass on this machine" in said
    assert "not_to_be_had" in said
    assert table(tmp_path) == {}


def test_a_course_that_lies_below_the_folder_for_temporary_files_can_mark(tmp_path):
    for name in ("course_lib", "quizzes"):
        shutil.copytree(tasks.ROOT / name, tmp_path / "course" / name, ignore=shutil.ignore_patterns("__pycache__"))
    code = ("from course_lib.classroom import mark, session\n"
            "with session.Zygote() as zygote:\n    print(session.ROOT, repr(mark.does_not_work(zygote)))")  # fmt: skip
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "course")}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.stdout.strip() == f"{tmp_path / 'course'} ''", done.stderr


def test_trusted_marks_without_a_sandbox(handed_in, tmp_path, monkeypatch):
    monkeypatch.setattr(sandbox, "why_not", lambda: "There is none here.")
    assert run(handed_in, tmp_path, "--trusted") == 0
    assert table(tmp_path)["Anna Muster"]["points"] == "4"


@pytest.mark.parametrize("text, says", [
    ("notebooks: [99_none]", "no notebook 99_none"), ("exam: 1", "exam"), ("- 1", "no keys"), ("a: [", "cannot be read"),
    ("exercises: [{exercise: scaled_dot_product_attention}]", "in 2 of the chosen notebooks"), ("exercises: [3]", "is written"),
    ("exercises: [{exercise: none_such}]", "no exercise none_such in the chosen notebooks; there are scaled_dot"),
    ("exercises: [{exercise: split_heads, points: two}]", "points are a number"), ("exercises: [{exercise: split_heads, points: -1}]", "from 0 on"),
    ("exercises: [{exercise: split_heads, due: 2027-13-01}]", "month must be in"), ("variants: [{variant: windowed_mask, points: .nan}]", "points"),
    ("exercises: [{exercise: split_heads}, {exercise: split_heads}]", "split_heads is there twice"), ("roster: anna", "roster is a list"),
    ("roster: [a/b]", "no slash"), ("keep_reveal: 'no'", "true or false"), ("exercises: {exercise: split_heads}", "exercises is a list"),
])  # fmt: skip
def test_a_bad_course_file_says_what_is_wrong(tmp_path, text, says):
    path = tmp_path / "course.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(tasks.BadCourse, match=says):
        tasks.read(path)


def test_loose_files_belong_to_the_name_before_the_notebooks(tmp_path):
    for name in (f"muster_anna_123_456_{NOTEBOOK}.ipynb", f"{NOTEBOOK}.ipynb"):
        (tmp_path / name).write_bytes(b"{}")
    assert {s.learner for s in intake.gather([tmp_path], [NOTEBOOK])} == {tmp_path.name, "muster_anna"}


@pytest.mark.parametrize("given", ["Class", "Class/*", "Class/*/*.ipynb"])
def test_a_folder_or_a_zip_given_by_itself_is_a_learner(tmp_path, given):
    """Otherwise all are one learner, named like the notebook, who gets the best answer of each."""
    for place in ("Anna_4711_assignsubmission_file_/{}", "Bo/{}", "Cem/notebooks/{}", "Cem/graded/cem_graded"):
        file = tmp_path / "Class" / f"{place.format(NOTEBOOK)}.ipynb"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"{}")
    with zipfile.ZipFile(tmp_path / "Class" / "Dee.zip", "w") as z:
        z.writestr(f"{NOTEBOOK}.ipynb", b"{}")
    found = {s.learner: len(s.notebooks) for s in intake.gather(sorted(tmp_path.glob(given)), [NOTEBOOK, "cem_graded"])}
    assert found == ({"Anna": 1, "Bo": 1} if given.endswith(".ipynb") else {"Anna": 1, "Bo": 1, "Cem": 2, "Dee": 1})


def test_a_name_that_a_mac_wrote_is_found_in_the_roster(tmp_path):
    """Otherwise variants are marked with everybody's numbers, and right answers fail."""
    course = tasks.Course("", (NOTEBOOK,), (), roster=("Jörg", "Zoë"))
    for place in ("Jörg Öz/{}", "Zoë_{}", "Zoë_graded"):
        file = tmp_path / unicodedata.normalize("NFD", f"{place.format(NOTEBOOK)}.ipynb")
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"{}")
    found = {s.learner: len(s.notebooks) for s in intake.gather([tmp_path], roster.handed_out(course))}
    assert found == {"Jörg Öz": 1, "Zoë": 2}
    assert [roster.numbers_of(learner, course) for learner in found] == ["Jörg", "Zoë"]


def test_loose_graded_files_belong_to_their_learner_too(tmp_path):
    course = tasks.Course("", (NOTEBOOK,), (), roster=("anna", "bo"))
    for name in (f"musteranna_LATE_12_34_{NOTEBOOK}.ipynb", "musteranna_LATE_12_35_anna_graded.ipynb", "bo_graded.ipynb"):
        (tmp_path / name).write_bytes(b"{}")
    found = {s.learner: len(s.notebooks) for s in intake.gather([tmp_path], roster.handed_out(course))}
    assert found == {"musteranna": 2, "bo": 1}


def test_nobody_is_lost_who_handed_in_no_notebook_or_a_broken_zip(tmp_path):
    (tmp_path / "Dee").mkdir()
    (tmp_path / "Dee" / "essay.docx").write_bytes(b"x")
    (tmp_path / "Eva.zip").write_bytes(b"no zip")
    (tmp_path / "Fay").mkdir()
    with zipfile.ZipFile(tmp_path / "Fay" / "all.zip", "w") as z:
        z.writestr("inner.zip", b"no zip")
        z.writestr(f"{NOTEBOOK}.ipynb", b"{}")
    found = {s.learner: s for s in intake.gather([tmp_path], [NOTEBOOK])}
    assert found["Dee"].notes == ["No notebook was handed in."]
    assert "Eva.zip cannot be opened" in found["Eva"].notes[0]
    assert "inner.zip cannot be opened" in found["Fay"].notes[0]
    assert len(found["Fay"].notebooks) == 1
    with pytest.raises(OSError, match="cannot be opened as a zip"):
        intake.gather([tmp_path / "Eva.zip"], [NOTEBOOK])


@pytest.mark.parametrize("learner, owner, remark", [
    ("Bo Berg", "bo", ""), ("Dora Bond", "bo", "part of a word"), ("Anna_Bond_graded", "anna", ""), ("Cem", "everybody", "No name of the roster"),
])  # fmt: skip
def test_a_name_of_the_roster_is_looked_for_as_a_word(learner, owner, remark):
    graded = tasks.Task(tasks.GRADED, "windowed_mask", "windowed_mask", True)
    course = tasks.Course("", (), (graded,), roster=("anna", "bo"))
    assert roster.numbers_of(learner, course) == owner
    said = roster.in_doubt(learner, course)
    assert remark in said[0] if remark else said == []
    assert roster.missing([intake.Submission(learner)], course).count(",") == (owner == "everybody")


@pytest.mark.parametrize("due, file, day, late", [
    ("2027-01-31", "a.ipynb", 31, "no"), ("2027-01-30", "a.ipynb", 31, "yes"), ("2027-01-31 11:59", "a.ipynb", 31, "yes"),
    ("2027-01-31 12:00", "a.ipynb", 31, "no"), ("week 3", "a.ipynb", 31, ""), ("", "a.ipynb", 31, ""), ("2027-01-30", "a.ipynb", None, ""),
    ("week 3", "a_LATE_1_2_n.ipynb", 31, "yes"),
])  # fmt: skip
def test_what_came_late_is_said_and_costs_nothing(due, file, day, late):
    task = tasks.Task("n", "e", "f", True, due=due)
    course = tasks.Course("C", ("n",), (task,))
    result = {"learner": "A", "notes": [], "answers": {"n/e": {"status": "passed", "mistake": None, "notes": [], "file": file}}}
    when = {("A", file): day and datetime(2027, 1, day, 12)}
    rows = list(csv.DictReader(report.findings_csv(course, [result], when).lstrip("\ufeff").splitlines()))
    assert rows[0]["late"] == late
    points = next(csv.DictReader(report.marks_csv(course, [result], {}, when).lstrip("\ufeff").splitlines()))
    assert (points["points"], points["late"]) == ("1", "n/e" if late == "yes" else "")


def test_the_overview_counts_mistakes_by_slug():
    task = tasks.Task("n", "e", "f", True)
    answers = [{"status": "failed", "mistake": "scale-missing", "message": "Not <divided>.", "notes": []}] * 2
    results = [{"learner": str(i), "answers": {"n/e": a}, "quiz": {f"{NOTEBOOK}/Q1": {"right": False}}} for i, a in enumerate(answers)]
    shown = report.overview(tasks.Course("C", ("n",), (task,)), results)
    assert "<td class='n'>2</td><th scope='row'><code>scale-missing</code></th><td>Not &lt;divided&gt;.</td>" in shown
    assert "2 of 2" in shown


# ---- the parts ----


@pytest.mark.parametrize("value", [
    None, True, 3, 1.5, "ü", [1, [2]], (1, (2.0,)), {"a": (1,)}, torch.randn(2, 3), torch.tensor(3), torch.zeros(0, 4),
    torch.tensor([True, False]), torch.randn(3, dtype=torch.bfloat16), torch.randn(2, 2).t(), torch.randn(2, dtype=torch.complex64),
])  # fmt: skip
def test_values_come_across_unchanged(value):
    one, two = socket.socketpair()
    with one, two:
        wire.send(one, {"v": value})
        back = wire.receive(two)["v"]
    same = torch.equal(back, value) and (back.dtype, back.stride()) == (value.dtype, value.stride()) if isinstance(value, torch.Tensor) else back == value
    assert same
    assert type(back) is type(value)


@pytest.mark.parametrize("text, block", [
    (b"[", b""), (b'{"tensor": "float32", "shape": [1000000000], "at": 0}', b"1234"), (b'{"tensor": "object", "shape": [], "at": 0}', b""),
    (b'{"tensor": "float32", "shape": [-1], "at": 0}', b"1234"), (b'{"tensor": "float32", "shape": [1], "at": -4}', b"1234"),
    (b"[" * 50_000, b""), (b'{"ref": 0, "about": null, "block": ""}', b""), (b"\xff", b""), (b"1" * 6000, b""),
])  # fmt: skip
def test_what_is_no_message_is_refused(text, block):
    one, two = socket.socketpair()
    with one, two:
        one.sendall(wire.HEAD.pack(len(text), len(block)) + text + block)
        with pytest.raises(wire.WireError):
            wire.receive(two)


def test_what_cannot_be_sent_keeps_only_the_name_of_its_type():
    one, two = socket.socketpair()
    with one, two:
        wire.send(one, [lambda: 0, {1, 2}])
        assert [type(v).__name__ for v in wire.receive(two)] == ["function", "set"]


def test_of_several_answers_the_last_that_is_started_counts():
    texts = ["def f(x):\n    return 1", "def f(x):\n    return 2", 'def f(x):\n    """Doc."""\n    ...']
    cells, _ = finding.cells_of(as_bytes({"cells": [{"cell_type": "code", "source": t, "metadata": {}} for t in texts]}))
    answer = finding.find(cells, "f", "f", True)
    assert answer.cell.number == 2
    assert "2 cells" in " ".join(answer.notes)
