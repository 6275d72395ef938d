"""The bug hunt `post_norm_in_name`: its witness tells the kinds apart, and a half-mended block is not let through."""

import pytest

from course_lib.exercises import check
from course_lib.exercises.bug_hunts import post_norm_in_name as hunt


class OneNormMore(hunt.PostNormInName):
    """Pre-norm with a norm at the end: the right statistics, by the wrong way."""

    def forward(self, x):
        return self.norm_2(super().forward(x))


def test_the_witness_wins_the_hunt():
    assert check("bug_hunt_post_norm_in_name", hunt.ends_with_a_norm)


@pytest.mark.parametrize("test", [hunt.keeps_the_shape, hunt.tokens_see_each_other])
def test_a_test_that_looks_elsewhere_misses_the_bug(test):
    assert check("bug_hunt_post_norm_in_name", test).mistake == "misses-the-bug"


@pytest.mark.parametrize("block", [hunt.PostNormIndeed, hunt.PyTorchsBlock, hunt.TheCoursesBlock])
def test_blocks_that_are_mended(block):
    assert check("bug_hunt_post_norm_in_name_mended", block)


@pytest.mark.parametrize("block", [hunt.PostNormInName, OneNormMore])
def test_blocks_that_are_not(block):
    assert check("bug_hunt_post_norm_in_name_mended", block).status == "failed"
