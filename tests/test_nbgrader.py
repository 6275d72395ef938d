"""With nbgrader: the course folder is valid and keeps its secrets, and the three commands do what they should."""

import csv
import importlib.util
import json
import os
import random
import re
import subprocess
import sys
import warnings

import nbformat
import pytest
import torch
from handed_in import DAMAGE, answered, as_bytes

from course_lib import attention
from course_lib.classroom import nbgrader_tests, release, tasks
from course_lib.classroom.nbgrader_intake import ANSWER, NOT_RUN, TEST, exercises, marks, put_in_place
from course_lib.classroom.private.variants import BY_NAME, VARIANTS, numbers
from tests.mistakes import split_heads as attempts

NOTEBOOK = "01_multi_head_intuition"
SEED = "nobody-knows-these-words"
COURSE = f"""
notebooks: [{NOTEBOOK}]
exercises: [{{exercise: split_heads, points: 2}}, {{exercise: merge_heads}}]
variants: [{{variant: windowed_mask, points: 3}}]
seed: {SEED}
"""
EVERYTHING = f"variants: [{', '.join(f'{{variant: {v.name}}}' for v in VARIANTS)}]\n"
needs_nbgrader = pytest.mark.skipif(not importlib.util.find_spec("nbgrader"), reason="no nbgrader: python3 -m course_lib install grading")
RIGHT = {
    "split_heads": "def split_heads(x, n_heads):\n    if x.shape[-1] % n_heads:\n        raise ValueError('the width cannot be divided')\n"
    "    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)\n",
    "merge_heads": "def merge_heads(x):\n    return x.transpose(1, 2).flatten(2)\n",
}
WRONG = "def split_heads(x, n_heads):\n    B, T, d = x.shape\n    return x.reshape(B, n_heads, T, d // n_heads)\n"
SCRAMBLED = "a head holds pieces of several tokens"  # what the check says to WRONG


def released(text, folder):
    """The course folder that `release --nbgrader` makes of a course file's text."""
    folder.mkdir(parents=True)
    (folder / "course.yaml").write_text(text, encoding="utf-8")
    assert release.main([str(folder / "class"), "--course", str(folder / "course.yaml"), "--nbgrader"]) == 0
    return folder / "class"


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """{name: notebook} of the sources of the whole course, with all variants."""
    folder = released(EVERYTHING, tmp_path_factory.mktemp("nbgrader") / "whole")
    return {p.stem: json.loads(p.read_text(encoding="utf-8")) for p in sorted(folder.glob("source/*/*.ipynb"))}


def about(cell):
    return cell["metadata"].get("nbgrader", {})


def with_id(book, id):
    return next(cell for cell in book["cells"] if about(cell).get("grade_id") == id)


def ids(book):
    return [about(cell)["grade_id"] for cell in book["cells"] if about(cell)]


# ---- what is written ----


def test_each_exercise_has_its_answer_and_behind_it_a_test_with_its_points(everything):
    assert list(everything) == [*tasks.shipped().notebooks, tasks.GRADED]
    for name, book in everything.items():
        names = [t.exercise for t in tasks.tasks_of(name)] if name != tasks.GRADED else list(BY_NAME)
        found = [id for id in ids(book) if not id.startswith("text-")]
        assert found == [id for exercise in names for id in (ANSWER + exercise, TEST + exercise)]
        for one, two in zip(book["cells"], book["cells"][1:], strict=False):
            if about(two).get("grade_id", "").startswith(TEST):
                assert about(one)["grade_id"] == about(two)["grade_id"].replace(TEST, ANSWER)
                assert about(two)["points"] == 1 and about(two)["locked"] and not about(two)["solution"]


def test_the_notebooks_are_valid_and_every_mark_is_there_once(everything):
    for book in everything.values():
        nbformat.validate(nbformat.from_dict(book))
        assert len(set(ids(book))) == len(ids(book))
        assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])


def test_short_answers_are_asked_and_marked_by_hand(everything):
    texts = {name: [id for id in ids(book) if id.startswith("text-")] for name, book in everything.items()}
    assert {name: found for name, found in texts.items() if found} == {
        NOTEBOOK: ["text-Q4"], "07_ethics": ["text-change_your_mind"]}  # fmt: skip
    place = ids(everything[NOTEBOOK]).index("text-Q4")
    assert place == len(ids(everything[NOTEBOOK])) - 1
    assert about(with_id(everything["07_ethics"], "text-change_your_mind"))["points"] == 3
    assert "more attention heads always improve" in everything[NOTEBOOK]["cells"][-2]["source"]


def solved(book):
    """[(exercise, text of the answer's cell, text of its test)] of a source."""
    return [(exercise, *(with_id(book, kind + exercise)["source"] for kind in (ANSWER, TEST)))
            for exercise, _, _ in exercises({id: with_id(book, id)["source"] for id in ids(book)})]  # fmt: skip


@pytest.mark.parametrize("name", [*tasks.shipped().notebooks, tasks.GRADED])
def test_the_answers_in_the_source_pass_their_hidden_tests(everything, name):
    for exercise, answer, test in solved(everything[name]):
        space = {"torch": torch, "check": lambda *_: None}
        exec(answer, space)
        exec(test, space)
        with pytest.raises(nbgrader_tests.NotYet):  # no answer, no points
            exec(test, {})
        assert f'exercise("{exercise}"' in test


@needs_nbgrader
def test_nbgraders_own_validator_finds_nothing(everything):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbgrader's own
        from nbgrader.nbgraderformat import MetadataValidator
    validator = MetadataValidator()
    for book in everything.values():
        validator.validate_nb(nbformat.from_dict(book))
    spoilt = nbformat.from_dict(everything[NOTEBOOK])
    spoilt.cells.append(with_id(spoilt, TEST + "split_heads"))
    with pytest.raises(Exception, match="Duplicate grade id"):
        validator.validate_nb(spoilt)


def test_a_dry_run_writes_nothing_and_says_what_it_would(tmp_path, capsys):
    assert release.main([str(tmp_path / "class"), "--nbgrader", "--dry-run"]) == 0
    assert "source/08_kernels_and_scale/08_kernels_and_scale.ipynb" in capsys.readouterr().out
    assert not (tmp_path / "class").exists()


# ---- the hidden test ----


def problem_with(candidate, name="split_heads", **drawn):
    return nbgrader_tests.what_is_wrong(nbgrader_tests.exercise(name, **drawn), candidate, "words")


@pytest.mark.parametrize("slugs, attempt, remark", attempts.ANSWERS, ids=lambda a: getattr(a, "__name__", ""))
def test_known_attempts_pass_or_fail_as_in_the_check(slugs, attempt, remark):
    assert bool(problem_with(attempt)) == bool(slugs)


def test_no_answer_an_imported_one_and_one_learned_by_heart_are_told_apart():
    def by_heart(n):  # right for every size that the check asks for, and for no other
        return torch.ones(n, n).tril() > 0 if n < 14 else torch.zeros(n, n) > 0

    assert "no cell defines it" in problem_with(None)
    assert "imported" in problem_with(attention.split_heads)
    assert problem_with(lambda x, n_heads: attention.split_heads(x, n_heads)) == ""
    assert "not on fresh ones" in problem_with(by_heart, "causal_mask")
    assert "a loop that does not end" in problem_with(endless)


def endless(x, n_heads):
    while True:
        pass


def test_a_variants_numbers_count():
    def mask(n):
        distance = torch.arange(n)[:, None] - torch.arange(n)
        return (distance >= 0) & (distance < 4)

    assert problem_with(mask, "windowed_mask", window=4, before=3) == ""
    assert problem_with(mask, "windowed_mask", window=5, before=4)


def test_the_error_shows_the_checks_words_and_nothing_else():
    with pytest.raises(nbgrader_tests.NotYet) as caught:
        nbgrader_tests.must_pass(nbgrader_tests.exercise("split_heads"), attempts.straight_view, "words")
    assert SCRAMBLED in str(caught.value)
    shown = caught.value._render_traceback_()
    assert " ".join(shown).split() == str(caught.value).split()
    assert max(map(len, shown)) <= nbgrader_tests.WIDTH
    assert [line for line in shown if "|" in line] == [line for line in str(caught.value).split("\n") if "|" in line]  # tables stay


# ---- submissions, whatever their state ----

SOURCES = {ANSWER + name: text.split("\n")[0] + "\n    ..." for name, text in RIGHT.items()} | {TEST + name: "" for name in RIGHT}
POINTS = {TEST + "split_heads": 2, TEST + "merge_heads": 1, "text-Q4": 1}
SOLVED = answered(NOTEBOOK, RIGHT, only=tuple(RIGHT))
UNREADABLE = {"metadata_nonsense", "odd_cells_between", "saved_mid_run", "cut_off_at_the_end", "utf_16", "western_encoding",
              "old_format"}  # to nbgrader: it says so, and goes on with the next learner  # fmt: skip
COSTLY = {"one_big_cell"}  # there is no telling what an answer uses: the whole notebook runs
READABLE = [damage for damage in DAMAGE if damage.__name__ not in UNREADABLE | COSTLY]


def tidied(raw):
    """A submission's bytes as nbgrader would get it from put_in_place: a NotebookNode."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbformat's: of ids that are missing
        book = nbformat.reads(raw.decode("utf-8-sig"), as_version=4)
    put_in_place(book, SOURCES, POINTS)
    return book


def scores(book):
    """{id of a test: whether it passes} in a run from top to bottom, without the cells that do not run."""
    space, found = {"check": lambda *_: None}, {}
    for cell in book.cells:
        id = about(cell).get("grade_id", "")
        if id.startswith(TEST):
            found[id] = problem_with(space.get(id.removeprefix(TEST)), id.removeprefix(TEST)) == ""
        elif (cell.cell_type == "code" or id.startswith(ANSWER)) and NOT_RUN not in cell.metadata.get("tags", ()):
            text = re.sub(r"^(from course_lib|import inspect).*$", "", cell.source, flags=re.M)
            exec(text, space)
    return found


@pytest.mark.parametrize("damage", READABLE, ids=lambda d: d.__name__)
def test_damage_costs_no_points(damage):
    book = tidied(damage(SOLVED, random.Random(1)))
    assert scores(book) == {TEST + "split_heads": True, TEST + "merge_heads": True}
    found = ids(book)
    assert len(set(found)) == len(found)


def test_only_what_the_answers_use_is_run():
    book = json.loads(as_bytes(SOLVED))
    answer = next(c for c in book["cells"] if c["metadata"].get("exercise") == "merge_heads")
    answer["source"] = "def merge_heads(x):\n    return joined(x)\n"
    helper = {"cell_type": "code", "id": "helper", "metadata": {}, "outputs": [], "execution_count": None,
              "source": "def joined(x):\n    return x.transpose(1, 2).flatten(2)\n"}  # fmt: skip
    book["cells"] = [helper, *book["cells"]]
    tidy = tidied(as_bytes(book))
    running = [c for c in tidy.cells if c.cell_type == "code" and NOT_RUN not in c.metadata.get("tags", ())]
    assert [about(c).get("grade_id") for c in running] == [
        None, None, ANSWER + "split_heads", TEST + "split_heads", ANSWER + "merge_heads", TEST + "merge_heads"]  # fmt: skip
    assert scores(tidy) == {TEST + "split_heads": True, TEST + "merge_heads": True}


def test_a_wrong_answer_fails_and_one_that_is_no_python_stops_nothing():
    book = answered(NOTEBOOK, RIGHT | {"split_heads": WRONG}, only=tuple(RIGHT))
    assert scores(tidied(as_bytes(book))) == {TEST + "split_heads": False, TEST + "merge_heads": True}
    broken = answered(NOTEBOOK, RIGHT | {"split_heads": "def split_heads(x, n_heads:\n    return x"}, only=tuple(RIGHT))
    tidy = tidied(as_bytes(broken))
    assert about(with_id(tidy, ANSWER + "split_heads"))["solution"]
    assert NOT_RUN not in with_id(tidy, ANSWER + "split_heads").metadata.tags  # it runs, and says what is wrong with it


def test_the_last_of_two_texts_counts():
    book = json.loads(as_bytes(SOLVED))
    text = {"cell_type": "markdown", "metadata": {"nbgrader": marks("text-Q4", 1)}}
    book["cells"] += [text | {"id": "one", "source": "first"}, text | {"id": "two", "source": "second"}]
    tidy = tidied(as_bytes(book))
    assert [c.source for c in tidy.cells if about(c).get("grade_id") == "text-Q4"] == ["second"]


# ---- nbgrader itself ----


def nbgrader(folder, *arguments, limit=200):
    """Run a command of nbgrader in a course folder. It must end in time; returns the finished process."""
    home = folder.parent
    env = os.environ | {
        "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"],  # nbgrader calls alembic by its name
        "PYTHONPATH": os.pathsep.join(filter(None, [str(tasks.ROOT), os.environ.get("PYTHONPATH")])),
        "JUPYTER_CONFIG_DIR": str(home / "config"), "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"), "IPYTHONDIR": str(home / "ipython"), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    command = [sys.executable, "-m", "nbgrader", *arguments]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=limit)


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """A course folder after generate_assignment for one notebook."""
    folder = released(COURSE, tmp_path_factory.mktemp("nbgrader") / "small")
    done = nbgrader(folder, "generate_assignment", NOTEBOOK)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def handed_out(folder, name=NOTEBOOK):
    return json.loads((folder / "release" / name / f"{name}.ipynb").read_text(encoding="utf-8"))


@needs_nbgrader
def test_what_is_handed_out_holds_no_answer_and_no_test(generated):
    text = json.dumps(handed_out(generated))
    source = (generated / "source" / NOTEBOOK / f"{NOTEBOOK}.ipynb").read_text(encoding="utf-8")
    for word in ("HIDDEN", "SOLUTION", "must_pass", "nbgrader_tests", "classroom", ".reference", "1 of these"):
        assert word not in text
        assert word in source
    assert SEED not in text + source


@needs_nbgrader
def test_the_exercises_are_handed_out_as_the_course_ships_them(generated):
    shipped = json.loads((tasks.NOTEBOOKS / f"{NOTEBOOK}.ipynb").read_text(encoding="utf-8"))
    cells = {c["metadata"]["exercise"]: "".join(c["source"]) for c in shipped["cells"] if c["metadata"].get("exercise")}
    book = handed_out(generated)
    assert {id: "".join(with_id(book, ANSWER + id)["source"]) for id in RIGHT} == {id: cells[id] for id in RIGHT}
    assert len(book["cells"]) == len(shipped["cells"]) + 4  # two tests, a question and its answer


def submit(folder, learner, change, name=NOTEBOOK):
    """Hand in what was handed out, after `change` has been made in it."""
    book = handed_out(folder, name)
    change(book)
    place = folder / "submitted" / learner / name
    place.mkdir(parents=True)
    (place / f"{name}.ipynb").write_bytes(as_bytes(book))


def solve(book, **answers):
    for name, text in (RIGHT | answers).items():
        with_id(book, ANSWER + name)["source"] = f'{text}\n\ncheck("{name}", {name})'


def one_twice(book):
    solve(book)
    copies = [with_id(book, kind + "split_heads") | {"id": f"{kind}copy"} for kind in (ANSWER, TEST)]
    book["cells"] = copies + book["cells"] + copies[1:]


def without_its_tests(book):
    solve(book)
    book["cells"] = [cell for cell in book["cells"] if not about(cell).get("grade_id", "").startswith(TEST)]


def never_ending(book):
    solve(book, split_heads="while True:\n    pass\n\n\ndef split_heads(x, n_heads):\n    return x\n")


def never_ending_elsewhere(book):
    solve(book)
    book["cells"].insert(3, {"cell_type": "code", "id": "loop", "metadata": {}, "outputs": [], "execution_count": None,
                             "source": "while True:\n    pass"})  # fmt: skip


def writes_an_answer(book):
    with_id(book, "text-Q4")["source"] = "The heads get narrower."


CLASS = {  # learner: what they did, and the points that they get for split_heads and merge_heads
    "ann": (solve, 2, 1),
    "ben": (lambda book: solve(book, split_heads=WRONG), 0, 1),
    "cleo": (never_ending, 0, 1),
    "dan": (one_twice, 2, 1),
    "eve": (without_its_tests, 2, 1),
    "fay": (never_ending_elsewhere, 2, 1),
    "gus": (writes_an_answer, 0, 0),
}


@pytest.fixture(scope="module")
def graded(generated):
    """The course folder after autograde and generate_feedback, for a class."""
    for learner, (change, _, _) in CLASS.items():
        submit(generated, learner, change)
    broken = generated / "submitted" / "abe" / NOTEBOOK / f"{NOTEBOOK}.ipynb"  # he comes first
    broken.parent.mkdir(parents=True)
    broken.write_text("this is no notebook", encoding="utf-8")
    done = nbgrader(generated, "autograde", NOTEBOOK, "--Execute.timeout=25", limit=500)
    assert done.returncode == 1 and done.stderr.count("error processing assignment '") == 1, done.stderr[-3000:]
    assert "for student 'abe'" in done.stderr
    assert "has changed!" not in done.stderr  # of a test: each is put back as nbgrader knows it
    done = nbgrader(generated, "generate_feedback", NOTEBOOK)
    assert done.returncode == 0, done.stderr[-3000:]
    return generated


def outcome(folder, learner, name=NOTEBOOK):
    """{id of a test: whether its cell ended without an error} of an autograded notebook."""
    path = folder / "autograded" / learner / name / f"{name}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return {about(c)["grade_id"]: c["outputs"] == [] for c in cells if about(c).get("grade_id", "").startswith(TEST)}


@needs_nbgrader
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_everybody_gets_the_points_that_they_have_earned(graded, tmp_path):
    assert nbgrader(graded, "export", "--to", str(tmp_path / "grades.csv")).returncode == 0
    with open(tmp_path / "grades.csv", encoding="utf-8") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file) if row["assignment"] == NOTEBOOK}
    assert {learner: float(rows[learner]["score"]) for learner in CLASS} == {who: split + merge for who, (_, split, merge) in CLASS.items()}
    for learner, (_, split, merge) in CLASS.items():
        assert outcome(graded, learner) == {TEST + "split_heads": bool(split), TEST + "merge_heads": bool(merge)}
    assert {row["max_score"] for row in rows.values()} == {"4.0"}


@needs_nbgrader
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_feedback_carries_the_checks_words_and_no_hidden_test(graded):
    pages = {p.parent.parent.name: p.read_text(encoding="utf-8") for p in graded.glob("feedback/*/*/*.html")}
    assert set(pages) == set(CLASS)
    assert {learner for learner, page in pages.items() if SCRAMBLED in page} == {"ben"}
    assert "CellTimeoutError" in pages["cleo"] or "KeyboardInterrupt" in pages["cleo"]
    for page in pages.values():
        assert not re.search("must_pass|HIDDEN|nbgrader_tests", page)


@needs_nbgrader
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_variant_is_graded_by_its_numbers(generated):
    window = numbers(BY_NAME["windowed_mask"], SEED, release.EVERYBODY)["window"]

    def answer(width):
        return lambda book: with_id(book, ANSWER + "windowed_mask").update(
            source=f"def windowed_mask(n):\n    d = torch.arange(n)[:, None] - torch.arange(n)\n    return (d >= 0) & (d < {width})\n")  # fmt: skip

    assert nbgrader(generated, "generate_assignment", tasks.GRADED).returncode == 0
    assert "".join(with_id(handed_out(generated, tasks.GRADED), ANSWER + "windowed_mask")["source"]) == "def windowed_mask(n):\n    ..."
    submit(generated, "ann", answer(window), tasks.GRADED)
    submit(generated, "ben", answer(window + 1), tasks.GRADED)
    done = nbgrader(generated, "autograde", tasks.GRADED, limit=250)
    assert done.returncode == 0, done.stderr[-3000:]
    assert outcome(generated, "ann", tasks.GRADED) == {TEST + "windowed_mask": True}
    assert outcome(generated, "ben", tasks.GRADED) == {TEST + "windowed_mask": False}
