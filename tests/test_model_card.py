"""The model card: what it shows, when it refuses, and that it never writes over something else."""

import pytest

from course_lib import journal
from course_lib.model_card import HEADINGS, ModelCard, is_empty

FULL = {"subgroups": "Typists and others, 0.99 and 0.52.", "limits": "Two pronouns only."}


@pytest.mark.parametrize("left_out", ["subgroups", "limits"])
@pytest.mark.parametrize("text", ["", "   \n", "...", "…", "TODO", "tbd.", "None", "n/a", None])
def test_it_is_not_saved_without_subgroups_or_limits(tmp_path, left_out, text):
    card = ModelCard("writer", {"accuracy": 0.8}, **{**FULL, left_out: text})
    (other,) = {"subgroups", "limits"} - {left_out}
    assert card.missing() == [left_out]
    with pytest.raises(ValueError, match=left_out) as error:
        card.save(tmp_path / "card.md")
    assert other not in str(error.value) and list(tmp_path.iterdir()) == []
    assert left_out in card.status() and f"Still empty: card.{left_out}" in repr(card)


def test_both_missing_are_both_named():
    with pytest.raises(ValueError, match="subgroups and limits"):
        ModelCard("writer", {}).save()


def test_a_complete_card_is_saved_with_what_was_measured_and_said(tmp_path):
    card = ModelCard("writer", {"accuracy": 0.80123, "by | trade": "a\nb"}, **FULL, intended_use="A lesson.")
    path = card.save(tmp_path / "deep" / "card.md")
    text = path.read_text(encoding="utf-8")
    assert [p.name for p in path.parent.iterdir()] == ["card.md"]
    assert all(f"## {heading}" in text for heading in HEADINGS.values())
    assert "| accuracy | 0.801 |" in text and "| by \\| trade | a b |" in text
    assert FULL["limits"] in text and "A lesson." in text and "Still empty: card.data_inspected" in text


def test_by_default_it_goes_to_the_learners_folder_and_may_be_saved_again():
    card = ModelCard("Writer, 2nd try!", {}, **FULL)
    path = card.save()
    assert path == journal.home() / "model_card_writer_2nd_try.md"
    card.limits = "Longer by now."
    assert "Longer by now." in card.save().read_text(encoding="utf-8")


def test_another_file_is_not_replaced(tmp_path):
    notes = tmp_path / "notes.md"
    notes.write_text("mine", encoding="utf-8")
    with pytest.raises(FileExistsError, match="notes.md"):
        ModelCard("writer", {}, **FULL).save(notes)
    assert notes.read_text(encoding="utf-8") == "mine"


def test_an_unknown_text_is_refused():
    with pytest.raises(ValueError, match="sub_groups"):
        ModelCard("writer", {}, sub_groups="misspelt")


@pytest.mark.parametrize("text", ["It fails on ki.", "None of the trades was inspected.", "0"])
def test_an_answer_is_no_placeholder(text):
    assert not is_empty(text)


def test_in_a_notebook_its_headings_are_smaller_than_the_notebooks_own():
    shown = ModelCard("writer", {}, **FULL)._repr_markdown_()
    assert "\n### Model card: writer" in shown and "\n#### Measured" in shown and "\n# " not in shown
