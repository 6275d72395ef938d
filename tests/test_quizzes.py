"""The quiz files themselves: their form, one right option, a reason for each, and answers that are recomputed."""
import json
import os
import random
import re

import pytest

from course_lib import quiz_bank, quiz_marking, quiz_numbers, rich_text
from course_lib.counting import encoder_block_param_count

FILES = sorted(quiz_bank.FOLDER.glob("*.yaml"))
QUIZZES = [quiz_bank.load(path.stem) for path in FILES]
ITEMS = [pytest.param(item, id=f"{quiz['notebook'][:2]}-{item['id']}") for quiz in QUIZZES for item in quiz["items"]]
DRILLS = [pytest.param(item.values[0], id=item.id) for item in ITEMS if item.values[0]["kind"] == "drill"]


def reasons(item):
    """Every explanation that an item can give."""
    parts = [item, *(part for key in ("options", "steps", "slips", "samples") for part in item.get(key, []))]
    return [part["why"] for part in parts if "why" in part]


# ---- the files that are there ----
def test_the_first_five_notebooks_have_a_quiz():
    assert {"01", "02", "03", "04", "05"} <= {path.stem[:2] for path in FILES}


@pytest.mark.parametrize("quiz", QUIZZES, ids=lambda quiz: quiz["notebook"])
def test_five_items_and_a_drill_at_most_and_two_predictions(quiz):
    """Notebook 06 has six situations besides, discussed in a section of their own."""
    situations = {"search", "replies", "speech_to_text", "anonymising", "captions", "sorting"}
    items = {item["id"] for item in quiz["items"] if item["kind"] != "drill"}
    assert items >= situations if quiz["notebook"] == "06_variants" else not items & situations
    assert len(items - situations) == 5
    assert len(quiz.get("predictions", [])) <= 2


@pytest.mark.parametrize("item", ITEMS)
def test_each_reason_is_there_and_its_own(item):
    why = reasons(item)
    assert why
    assert len(set(why)) == len(why)
    assert all(len(text) > 20 for text in why)


def test_ids_of_predictions_are_unique_in_the_course():
    ids = [prediction["id"] for quiz in QUIZZES for prediction in quiz.get("predictions", [])]
    assert len(set(ids)) == len(ids)


def test_the_right_letter_cannot_be_guessed_from_its_place():
    """Over the course no letter is right for more than half of the single-choice questions."""
    right = [option["letter"] for quiz in QUIZZES for item in quiz["items"] if item["kind"] == "one"
             for option in item["options"] if option["correct"]]
    assert max(right.count(letter) for letter in "ABCD") <= len(right) / 2
    assert set(right) == set("ABCD")


# ---- the notebooks that use them ----
NOTEBOOKS = sorted((quiz_bank.FOLDER.parent / "notebooks").glob("*.ipynb"))


def calls(path, function):
    """[first string, further strings …] of each call of a quiz function in a notebook's code, in order."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return [re.findall(r'"([^"]*)"', call) for call in re.findall(rf"\b{function}\(([^)]*)", code)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_asks_every_item_of_its_own_quiz(path):
    asked = calls(path, "ask")
    assert len(asked) == (2 if path.stem == "06_variants" else 1)
    assert {notebook for notebook, *_ in asked} == {path.stem}
    notebook, ids = path.stem, [id for _, *some in asked for id in some]
    items = [item["id"] for item in quiz_bank.load(notebook)["items"]]
    assert not ids or sorted(ids) == sorted(items)
    assert [call[0] for call in calls(path, "still_yours")] == [notebook]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_prediction_is_asked_once_and_compared_once(path):
    known = [prediction["id"] for prediction in quiz_bank.load(path.stem).get("predictions", [])]
    asked = [call[0] for call in calls(path, "predict")]
    compared = [call[0] for call in calls(path, "compare")]
    assert sorted(asked) == sorted(compared) == sorted(known)


# ---- the four questions of the lecture, whose letters and order are fixed ----
@pytest.mark.parametrize("notebook, id, right, order", [
    ("01_multi_head_intuition", "Q1", "B", ["256", "32", "8", "2048"]),
    ("02_position_fingerprints", "Q2", "B", ["tracks?|keeps", "drop", "less noise", "cannot be trained"]),
    ("05_decoder", "Q3", "B", ["encoder's output", "previous sub-layer", "vocabulary", "positional encodings"]),
])
def test_the_lectures_questions_keep_letters_and_order(notebook, id, right, order):
    item = quiz_bank.find_item(notebook, id)
    assert [option["letter"] for option in item["options"]] == list("ABCD")
    assert [option["letter"] for option in item["options"] if option["correct"]] == [right]
    for option, words in zip(item["options"], order, strict=True):
        assert re.search(words, option["text"]), option["text"]


def test_q4_is_a_short_answer_with_a_rubric():
    item = quiz_bank.find_item("01_multi_head_intuition", "Q4")
    assert item["kind"] == "text"
    assert len(item["rubric"]) == 5
    assert any("redundant" in point for point in item["rubric"])


# ---- answers recomputed another way ----
def test_answers_agree_with_the_library_and_with_counting():
    bert = quiz_bank.find_item("04_encoder", "block_parameters")
    assert bert["answer"] == encoder_block_param_count(768, 12, 3072)
    projections = quiz_bank.find_item("01_multi_head_intuition", "parameters")
    assert projections["answer"] == sum(64 * 64 for _ in ("W^Q", "W^K", "W^V", "W^O"))
    cells = quiz_bank.find_item("03_causal_mask", "allowed_cells")
    assert cells["answer"] == sum(1 for i in range(5) for j in range(5) if j <= i)
    weights = quiz_bank.find_item("05_decoder", "cross_weights")
    assert weights["answer"] == len([(b, h, t, s) for b in range(2) for h in range(8) for t in range(4)
                                     for s in range(7)])


@pytest.mark.parametrize("item", DRILLS)
def test_a_drill_has_one_right_option_and_no_fixed_letter(item):
    rng, letters, texts = random.Random(1), set(), set()
    for _ in range(200):
        question = quiz_numbers.draw(item, rng)
        [right] = [option for option in question["options"] if option["correct"]]
        assert len({option["text"] for option in question["options"]}) == len(question["options"])
        assert "[" not in question["text"] + "".join(option["why"] for option in question["options"])
        letters.add(right["letter"])
        texts.add(question["text"])
    assert letters == set("ABCDEFGH"[:len(item["options"])])
    assert len(texts) > 20


def test_q1s_drill_is_right_by_division():
    item, rng = quiz_bank.find_item("01_multi_head_intuition", "Q1_drill"), random.Random(2)
    for _ in range(200):
        question = quiz_numbers.draw(item, rng)
        d_model, h = (int(n) for n in re.findall(r"= (\d+)", question["text"]))
        [right] = [option["text"] for option in question["options"] if option["correct"]]
        assert int(right) * h == d_model


# ---- files that break a rule ----
GOOD = """notebook: 09_trial
items:
  - id: first
    kind: one
    text: "What is $d_k$?"
    compute: 64 / 8
    options:
      - {letter: A, text: "8", correct: true, why: "64 / 8."}
      - {letter: B, text: "64", correct: false, why: "That is all."}
  - id: second
    kind: number
    text: "2 + 2?"
    answer: 4
    tolerance: 0
    compute: 2 + 2
    why: "Count."
"""


def written(tmp_path, text):
    path = tmp_path / "09_trial.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_good_file_is_read(tmp_path):
    assert [item["id"] for item in quiz_bank.read(written(tmp_path, GOOD))["items"]] == ["first", "second"]


@pytest.mark.parametrize("old, new, line, question, says", [
    ("correct: true, why", "correct: false, why", 8, "first", "exactly one option must be correct, not 0"),
    ("correct: false, why", "correct: true, why", 8, "first", "exactly one option must be correct, not 2"),
    (', why: "That is all."', "", 9, "first", "why"),
    ("letter: B", "letter: C", 8, "first", "must run from A"),
    ('text: "8"', 'text: "9"', 8, "first", "64 / 8 is 8.0; the right option says '9'"),
    ("answer: 4", "answer: 5", 13, "second", "the answer is 5, but 2 + 2 gives 4"),
    ("answer: 4", 'answer: "4"', 13, "second", "must be number"),
    ("compute: 2 + 2", "compute: open('x')", 15, "second", "neither a known name nor arithmetic"),
    ("compute: 2 + 2", "compute: 1 / 0", 15, "second", "division by zero"),
    ("compute: 2 + 2", "compute: 2 +", 15, "second", "invalid syntax"),
    ("kind: number", "kind: guess", 11, "second", "must be one of"),
    ("    tolerance: 0\n", "", 10, "second", "tolerance"),
    ("id: second", "id: first", 10, "first", "used twice"),
    ("$d_k$", "$\\\\dk$", 5, "first", "is not known to rich_text"),
    ("notebook: 09_trial", "notebook: 08_other", 1, "", "the file is called '09_trial'"),
    ("    kind: one", "   kind: one", 4, "", "this is not YAML"),
])
def test_a_bad_file_fails_with_file_line_and_question(tmp_path, old, new, line, question, says):
    assert old in GOOD
    path = written(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(quiz_bank.BadQuiz) as error:
        quiz_bank.read(path)
    assert f"{path}, line {line}{f', question {question}' if question else ''}: " in str(error.value)
    assert says in str(error.value)


def test_an_empty_file_is_a_bad_quiz(tmp_path):
    with pytest.raises(quiz_bank.BadQuiz, match="must be object"):
        quiz_bank.read(written(tmp_path, ""))


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match="01_multi_head_intuition"):
        quiz_bank.load("99_nothing")
    with pytest.raises(ValueError, match="Q1"):
        quiz_bank.find_item("01_multi_head_intuition", "Q9")
    with pytest.raises(ValueError, match="wider_head"):
        quiz_bank.find_prediction("nothing")


def test_an_edited_file_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(quiz_bank, "FOLDER", tmp_path)
    (tmp_path / "schema.json").write_bytes((FILES[0].parent / "schema.json").read_bytes())
    path = written(tmp_path, GOOD)
    assert quiz_bank.load("09_trial")["items"][1]["text"] == "2 + 2?"
    written(tmp_path, GOOD.replace("2 + 2?", "Two and two?"))
    os.utime(path, ns=(1, 1))
    assert quiz_bank.load("09_trial")["items"][1]["text"] == "Two and two?"


# ---- marking ----
STEPS = {"kind": "order", "steps": [{}, {}, {}]}
OPTIONS = {"options": [{"letter": "A", "correct": True}, {"letter": "B", "correct": False},
                       {"letter": "C", "correct": True}]}


@pytest.mark.parametrize("item, given, right", [
    ({"kind": "one", **OPTIONS}, "A", True),
    ({"kind": "one", **OPTIONS}, "B", False),
    ({"kind": "several", **OPTIONS}, ["C", "A"], True),
    ({"kind": "several", **OPTIONS}, ["A"], False),
    ({"kind": "several", **OPTIONS}, ["A", "B", "C"], False),
    ({"kind": "number", "answer": 0.5, "tolerance": 0.01}, 0.505, True),
    ({"kind": "number", "answer": 0.5, "tolerance": 0.01}, 0.52, False),
    (STEPS, [0, 1, 2], True),
    (STEPS, [1, 0, 2], False),
    ({"kind": "text", "need": 2}, [0, 3], True),
    ({"kind": "text", "need": 2}, [3], False),
])
def test_marking(item, given, right):
    assert quiz_marking.is_right(item, given) is right


@pytest.mark.parametrize("item, given", [
    ({"kind": "one", **OPTIONS}, "D"), ({"kind": "one", **OPTIONS}, None), ({"kind": "one", **OPTIONS}, ["A"]),
    ({"kind": "several", **OPTIONS}, []), ({"kind": "several", **OPTIONS}, ["A", "D"]),
    ({"kind": "number"}, "8"), ({"kind": "number"}, float("inf")), ({"kind": "number"}, True), ({"kind": "number"}, None),
    (STEPS, [0, 1]), (STEPS, [0, 1, 1]), (STEPS, ["a", 1, 2]),
    ({"kind": "text", "rubric": ["x"]}, [1]), ({"kind": "text", "rubric": ["x"]}, "x"),
])
def test_what_is_no_answer_does_not_fit(item, given):
    assert not quiz_marking.fits(item, given)


@pytest.mark.parametrize("expression, value", [
    ("2 + 3 * 4", 14), ("(2 + 3) * 4", 20), ("-7 // 2", -4), ("7 % 4", 3), ("2 ** 10", 1024), ("h * d_k", 64)])
def test_expressions(expression, value):
    assert quiz_numbers.evaluate(expression, {"h": 4, "d_k": 16}) == value


@pytest.mark.parametrize("expression", ["__import__('os')", "h.real", "[1]", "'a'", "True", "x", "1 if 1 else 2"])
def test_nothing_but_arithmetic_is_evaluated(expression):
    with pytest.raises(ValueError, match="neither a known name nor arithmetic"):
        quiz_numbers.evaluate(expression, {"h": 4})


# ---- texts ----
@pytest.mark.parametrize("source, html, plain", [
    ("$d_k$", '<span class="maths"><i>d</i><sub><i>k</i></sub></span>', "d_k"),
    ("$W^Q x$", '<span class="maths"><i>W</i><sup><i>Q</i></sup><i>x</i></span>', "W^Qx"),
    (r"$\frac{d_{model}}{h}$", '<span class="maths"><i>d</i><sub>model</sub> / <i>h</i></span>', "d_model / h"),
    (r"$\sqrt{d_k}$", '<span class="maths">√<span class="root"><i>d</i><sub><i>k</i></sub></span></span>', "√(d_k)"),
    ("$PE_{p+k}$", '<span class="maths"><i>P</i><i>E</i><sub><i>p</i> + <i>k</i></sub></span>', "PE_(p+k)"),
    ("`a*b` *yes* **no**", "<code>a*b</code> <em>yes</em> <strong>no</strong>", "a*b yes no"),
    ("1 < 2 & <b>", "1 &lt; 2 &amp; &lt;b&gt;", "1 < 2 & <b>"),
    ("$x < 3$", '<span class="maths"><i>x</i> &lt; 3</span>', "x < 3"),
    ("2 * 3 * 4", "2 * 3 * 4", "2 * 3 * 4"),
])
def test_markup(source, html, plain):
    assert rich_text.to_html(source) == html
    assert rich_text.to_plain(source) == plain


@pytest.mark.parametrize("source", [r"$\unknown$", "$a_$", "$a_{b$", "$}$"])
def test_a_formula_that_cannot_be_read_says_so(source):
    with pytest.raises(ValueError):
        rich_text.to_html(source)
