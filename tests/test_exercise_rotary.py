"""The exercise `rotary`: right answers of any style pass, each known slip and each invented mistake is named."""

import pytest

from course_lib import positions
from course_lib.exercises import check, reveal
from course_lib.exercises.rotary import SLIPS
from course_lib.exercises.rotary_stages import stages
from tests.mistakes.rotary import ANSWERS


def test_the_library_passes_and_is_revealed_whole():
    assert check("rotary", positions.rotary)
    for function in ("rotary", "rotary_cos_sin", "turn_pairs"):
        assert f"def {function}(" in str(reveal("rotary"))


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: f"{slip.slug} {slip.knobs}")
def test_each_slip_is_named(slip):
    result = check("rotary", lambda x, places: stages(x, places, **slip.knobs))
    assert (result.status, result.mistake) == ("failed", slip.slug)


@pytest.mark.parametrize(("slugs", "answer", "remark"), ANSWERS, ids=lambda value: getattr(value, "__name__", ""))
def test_answers_of_learners(slugs, answer, remark):
    result = check("rotary", answer)
    assert (result.status == "passed") == (not slugs), result.message
    assert result.mistake in slugs if slugs else (remark or "") in (result.remark or ""), result.message
