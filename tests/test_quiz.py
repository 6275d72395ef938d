"""ask(), predict(), compare() and still_yours() without a browser: what they keep, restore, show and say."""
import errno
import os

import pytest

from course_lib import progress, quiz_bank, quiz_predictions
from course_lib.quiz import ask, compare, predict, still_yours
from course_lib.quiz_widget import for_browser, shuffled

NOTEBOOK = "01_multi_head_intuition"


@pytest.fixture(autouse=True)
def a_new_kernel(monkeypatch):
    monkeypatch.setattr(quiz_predictions, "_shown", {})


def answer(quiz, id, given, attempts=1, done=True, **more):
    """What the browser sends after a press on Check."""
    quiz.answers = {**quiz.answers, id: {"given": given, "attempts": attempts, "done": done, **more}}


# ---- ask ----
def test_ask_shows_all_items_or_those_named():
    assert [item["id"] for item in ask(NOTEBOOK).items] == [i["id"] for i in quiz_bank.load(NOTEBOOK)["items"]]
    assert [item["id"] for item in ask(NOTEBOOK, "Q4", "Q1").items] == ["Q4", "Q1"]
    with pytest.raises(ValueError, match="has no question 'Q7'"):
        ask(NOTEBOOK, "Q7")
    for typed in ("01", f"{NOTEBOOK}.ipynb", "01_multi_head_intuitoin"):
        with pytest.raises(ValueError, match=f"Did you mean '{NOTEBOOK}'"):
            ask(typed)


def test_answers_are_kept_and_come_back_in_the_next_session():
    quiz = ask(NOTEBOOK)
    answer(quiz, "Q1", "A", attempts=1, done=False)
    answer(quiz, "Q1", "B", attempts=2)
    answer(quiz, "parameters", 16384)
    [first, second] = progress.events("answer", f"{NOTEBOOK}/Q1")
    assert (first["given"], first["right"], second["given"], second["right"]) == ("A", False, "B", True)
    assert quiz.saved_count == 3 and quiz.saved == ""
    again = ask(NOTEBOOK)
    assert again.answers["Q1"] == {"given": "B", "attempts": 2, "right": True, "done": True}
    assert set(again.answers) == {"Q1", "parameters"}
    assert again.saved_count == 0                        # restoring is not answering


def test_the_same_id_in_another_notebook_is_another_item():
    answer(ask(NOTEBOOK), "Q1", "B")
    assert ask("02_position_fingerprints").answers == {}


def test_python_judges_and_does_not_believe_the_browser():
    answer(ask(NOTEBOOK), "Q1", "A", right=True)
    [event] = progress.events("answer")
    assert event["right"] is False


def test_answer_again_is_not_an_answer():
    quiz = ask(NOTEBOOK)
    answer(quiz, "Q1", "B")
    quiz.answers = {**quiz.answers, "Q1": {}}
    assert len(progress.events()) == 1


def test_a_text_is_kept_for_the_instructor_and_marked_by_its_writer():
    quiz = ask(NOTEBOOK)
    answer(quiz, "Q4", "They get too narrow.", ticked=[])
    answer(quiz, "Q4", "They get too narrow.", ticked=[0])
    [written, marked] = progress.events("answer")
    assert written["given"] == marked["given"] == "They get too narrow."
    assert (written["right"], marked["right"]) == (None, True)
    assert progress.come_back() == {}


@pytest.mark.parametrize("notebook, id, right, wrong", [
    (NOTEBOOK, "which_pairs", ["A", "C"], ["A"]),
    (NOTEBOOK, "parameters", 16384, 12288),
    ("04_encoder", "pre_norm_block", [0, 1, 2, 3, 4, 5], [1, 0, 2, 3, 4, 5]),
])
def test_other_kinds_are_judged(notebook, id, right, wrong):
    quiz = ask(notebook)
    answer(quiz, id, wrong, attempts=1, done=False)
    answer(quiz, id, right, attempts=2)
    assert [event["right"] for event in progress.events("answer")] == [False, True]


def test_a_drill_never_ends():
    quiz = ask(NOTEBOOK, "Q1_drill")
    for index in range(100):
        question = quiz.draws["Q1_drill"][index]
        [right] = [option["letter"] for option in question["options"] if option["correct"]]
        answer(quiz, "Q1_drill", right, index=index)
    kept = progress.events("drill")
    assert len(kept) == 100 and all(event["right"] for event in kept)
    assert kept[0]["numbers"]["d_model"] == kept[0]["numbers"]["h"] * kept[0]["numbers"]["d_k"]
    assert ask(NOTEBOOK, "Q1_drill").answers == {}       # a drill starts afresh


def test_steps_start_shuffled_always_in_the_same_way():
    item = quiz_bank.find_item("04_encoder", "pre_norm_block")
    start = for_browser(item)["start"]
    assert start == for_browser(item)["start"]
    for n in range(2, 9):
        order = shuffled(n, seed="any")
        assert sorted(order) == list(range(n)) and order[0] != 0


def test_texts_reach_the_browser_as_html_and_ids_as_they_are():
    item = ask(NOTEBOOK, "Q1").items[0]
    assert "<i>d</i><sub>model</sub>" in item["text"] and item["id"] == "Q1"


def test_a_full_disk_shows_in_the_widget(monkeypatch):
    quiz = ask(NOTEBOOK)
    with monkeypatch.context() as full:
        def no_space(handle, data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        full.setattr(os, "write", no_space)
        answer(quiz, "Q1", "B")
        assert "No space left on device" in quiz.saved and quiz.saved_count == 1
        assert ask(NOTEBOOK).answers["Q1"]["given"] == "B"       # held in memory
    answer(quiz, "parameters", 16384)
    assert quiz.saved == ""
    assert len(progress.events("answer")) == 2


def test_an_error_in_a_callback_shows_in_the_widget(monkeypatch):
    quiz = ask(NOTEBOOK)
    answer(quiz, "Q1", "Z")
    assert quiz.saved == "Not saved: 'Z' is no answer to Q1." and quiz.saved_count == 1
    monkeypatch.setattr(progress, "record", lambda *a, **k: 1 / 0)
    answer(quiz, "Q1", "B")
    assert quiz.saved == "Not saved: ZeroDivisionError: division by zero" and quiz.saved_count == 2


def test_a_kept_answer_that_no_longer_fits_is_left_out():
    """The quiz may have changed since: a view that met a missing letter would stay empty."""
    progress.record("answer", f"{NOTEBOOK}/Q1", given="H", attempts=1, right=True, done=True)
    progress.record("answer", "04_encoder/pre_norm_block", given=[0, 1], attempts=1, right=False, done=False)
    progress.record("prediction", f"{NOTEBOOK}/pairs_in_one_head", given="H")
    assert ask(NOTEBOOK).answers == {} and ask("04_encoder").answers == {}
    assert predict("pairs_in_one_head").committed == {}
    assert "did not commit" in compare("pairs_in_one_head", "B").texts["sentence"]


# ---- plain text ----
def test_without_a_front_end_a_quiz_is_legible_text_without_its_key():
    quiz = ask(NOTEBOOK)
    bundle, _ = quiz._repr_mimebundle_()
    text = bundle["text/plain"]
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert text == repr(quiz)
    assert "Q1  A model has d_model = 256 and h = 8 heads." in text
    assert "   B. 32" in text
    assert "<" not in text and "$" not in text
    for item in quiz_bank.load(NOTEBOOK)["items"]:
        assert all(option["why"] not in text for option in item.get("options", []))


@pytest.mark.parametrize("path", sorted(quiz_bank.FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_quiz_and_prediction_can_be_shown(path):
    assert repr(ask(path.stem))
    for prediction in quiz_bank.load(path.stem).get("predictions", []):
        assert repr(predict(prediction["id"])).startswith("Predict first.")
        outcome = "A" if prediction["kind"] == "one" else 1.5
        assert "You did not commit" in repr(compare(prediction["id"], outcome))


# ---- predict and compare ----
def test_a_commitment_stands_beside_the_measurement():
    predict("wider_head").committed = {"given": 0.9}
    shown = compare("wider_head", 0.37, "Width is not a second distribution.")
    assert (shown.texts["said"], shown.texts["measured"]) == ("0.9", "0.37")
    assert shown.texts["sentence"] == "You said 0.9; it is 0.37."
    assert "Width is not" in repr(shown)
    [kept] = progress.events("prediction")
    assert (kept["given"], kept["late"]) == (0.9, False)
    [outcome] = progress.events("outcome")
    assert outcome["surprising"] and outcome["outcome"] == 0.37
    assert "You said 0.9" in progress.show().sections["What surprised you"][0]


def test_a_good_prediction_is_no_surprise():
    predict("wider_head").committed = {"given": 0.4}
    assert compare("wider_head", 0.37).texts["sentence"] == "Close to what you predicted."
    predict("pairs_in_one_head").committed = {"given": "B"}
    assert compare("pairs_in_one_head", "B").texts["sentence"] == "As you predicted."
    assert not any(event["surprising"] for event in progress.events("outcome"))


def test_a_letter_is_shown_with_its_option():
    predict("pairs_in_one_head").committed = {"given": "A"}
    shown = compare("pairs_in_one_head", "B")
    assert shown.texts["said"].startswith("A. One") and shown.texts["measured"].startswith("B. Two")
    assert shown.texts["sentence"] == "You said A; it is B."


def test_skipping_is_allowed_and_kept_as_skipped():
    predict("wider_head").committed = {"skipped": True}
    assert progress.events("prediction")[0]["skipped"] is True
    assert compare("wider_head", 0.37).texts["sentence"] == "You skipped the prediction."
    assert progress.events("outcome") == []


def test_run_all_then_a_late_commitment_updates_what_is_shown():
    question = predict("wider_head")
    shown = compare("wider_head", 0.37)
    assert "did not commit" in shown.texts["sentence"]
    assert progress.events("outcome") == []
    question.committed = {"given": 0.8}
    assert shown.texts["said"] == "0.8"
    assert progress.events("prediction")[0]["late"] is True
    assert len(progress.events("outcome")) == 1
    question.committed = {}                              # "Predict again"
    assert shown.texts["said"] == "0.8"


def test_a_commitment_comes_back_when_the_cell_is_run_again():
    predict("wider_head").committed = {"given": 0.9}
    again = predict("wider_head")
    assert again.committed == {"given": 0.9}
    assert "You said: 0.9" in repr(again)
    assert len(progress.events()) == 1


def test_an_outcome_must_be_one_of_the_letters():
    with pytest.raises(ValueError, match="one of A, B, C, not 'Z'"):
        compare("pairs_in_one_head", "Z")


# ---- what is left ----
def test_still_yours_lists_what_is_not_passed():
    page = still_yours(NOTEBOOK, "split_heads", "merge_heads")
    assert page.sections["Exercises to pass"] == ["split_heads", "merge_heads"]
    assert page.sections["Quiz items to answer"] == ["Q1", "Which pairs", "Parameters", "Important head", "Q4"]
    progress.record("exercise", "split_heads", status="passed", mistake=None)
    progress.record("exercise", "merge_heads", status="failed", mistake="wrong-axis")
    answer(ask(NOTEBOOK), "Q1", "B")
    answer(ask(NOTEBOOK), "parameters", 1)
    page = still_yours(NOTEBOOK, "split_heads", "merge_heads")
    assert page.sections["Exercises to pass"] == ["merge_heads"]
    assert page.sections["Quiz items to answer"] == ["Which pairs", "Parameters", "Important head", "Q4"]


def test_still_yours_says_what_the_disk_does_not_take(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    assert "About the files" not in still_yours(NOTEBOOK).sections
    monkeypatch.setenv("COURSE_LIB_HOME", str(tmp_path / "file" / "home"))
    progress.record("exercise", "split_heads", status="passed", mistake=None)
    page = still_yours(NOTEBOOK, "split_heads")
    assert "Exercises to pass" not in page.sections and page.sections["About the files"][0].startswith("Not saved: ")


def test_what_is_no_prediction_is_not_called_kept():
    prediction = predict("a_thousand_ones")
    prediction.committed = {"given": float("inf")}
    assert prediction.saved == "Not saved: inf is no answer to this."
    assert "nothing yet" in compare("a_thousand_ones", 256).as_text()


def test_still_yours_can_be_empty():
    quiz = ask(NOTEBOOK)
    for id, given in [("Q1", "B"), ("which_pairs", ["A", "C"]), ("parameters", 16384), ("important_head", "D")]:
        answer(quiz, id, given)
    answer(quiz, "Q4", "Redundant heads.", ticked=[1])
    assert still_yours(NOTEBOOK).sections == {"Nothing": ["All of this notebook is done."]}
