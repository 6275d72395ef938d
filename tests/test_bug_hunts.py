"""Bug hunts: a good test passes, a weak or unfair one is told why, and only a mended module passes."""

import pytest
import torch

from course_lib.exercises import check
from course_lib.exercises.bug_hunts import HUNTS
from course_lib.exercises.bug_hunts.heads_before_projection import HeadsAfterProjection
from course_lib.exercises.bug_hunts.hunt import built

each_hunt = pytest.mark.parametrize("hunt", HUNTS, ids=[hunt.name for hunt in HUNTS])


@each_hunt
def test_the_librarys_own_test_passes(hunt):
    result = check(f"bug_hunt_{hunt.name}", hunt.witness)
    assert result and hunt.bug in result.message


@each_hunt
def test_the_bug_is_not_named_before_it_is_found(hunt):
    assert hunt.bug not in check(f"bug_hunt_{hunt.name}", lambda module: None).message


def content(module):
    torch.zeros(2)


def never_content(module):
    assert False, "no"  # noqa: B011


def only_the_shape(module):
    x = torch.randn(2, 5, 8)
    assert x.shape == (2, 5, 8)


def uses_what_is_not_there(module):
    module.no_such_part(1)


@each_hunt
@pytest.mark.parametrize("test, status, mistake", [
    (content, "failed", "misses-the-bug"),
    (only_the_shape, "failed", "misses-the-bug"),
    (never_content, "failed", "accuses-every-module"),
    (uses_what_is_not_there, "error", "raises-attributeerror"),
    (lambda module: False, "failed", "returns-instead-of-raising"),
])  # fmt: skip
def test_a_weak_test_is_told_why(hunt, test, status, mistake):
    result = check(f"bug_hunt_{hunt.name}", test)
    assert (result.status, result.mistake) == (status, mistake), result.message


def test_a_test_that_fails_some_right_modules_is_unfair():
    def knows_one_class(module):
        assert type(module).__name__ == "HeadsAfterProjection"

    assert check("bug_hunt_heads_before_projection", knows_one_class).mistake == "accuses-a-right-module"


def test_a_class_is_not_started_while_its_functions_are_stubs():
    class Mended(torch.nn.Module):
        def __init__(self, d_model, n_heads):
            super().__init__()

        def forward(self, x): ...

    class Inherits(HeadsAfterProjection):
        pass

    assert check("bug_hunt_heads_before_projection_mended", Mended).status == "not_started"
    assert check("bug_hunt_heads_before_projection_mended", Inherits).status == "passed"
    assert check("split_heads", int).status != "not_started"


def test_a_stub_is_not_started():
    def test(module):
        """Raise AssertionError if `module` is wrong; return None if it is right."""
        ...

    assert check("bug_hunt_heads_before_projection", test).status == "not_started"


@each_hunt
def test_only_a_mended_class_passes(hunt):
    name = f"bug_hunt_{hunt.name}_mended"
    assert check(name, hunt.right[0])
    assert check(name, hunt.buggy).mistake == "still-there"
    assert check(name, built(hunt.right[0], hunt.sizes[0], 0)).mistake == "not-a-class"


def test_a_mended_class_must_still_do_its_work():
    class GivesUp(torch.nn.Module):
        def __init__(self, d_model):
            super().__init__()
            self.d_model = d_model

        def forward(self, x):
            return x

    assert check("bug_hunt_norm_over_tokens_mended", GivesUp).mistake == "norms-each-token"
