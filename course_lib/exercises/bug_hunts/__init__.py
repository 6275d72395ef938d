"""Bug hunts: small modules of ours, each with a real bug that once passed the tests of well-known teaching code.

In a notebook:

    from course_lib.exercises import bug_hunts, check
    print(inspect.getsource(bug_hunts.HeadsBeforeProjection))   # read it

    def test(module):                                           # write a test that catches it
        ...
    check("bug_hunt_heads_before_projection", test)

    class Mended(nn.Module):                                    # then mend it
        ...
    check("bug_hunt_heads_before_projection_mended", Mended)

The test gets an instance, in eval mode; it may use what the class's docstring names. It is judged on several modules
with the bug and on several without, which may be written quite differently: a test has to look at behaviour.
"""

from course_lib.exercises.bug_hunts import (
    causal_only_in_training,
    first_key_only,
    heads_before_projection,
    labels_shifted_twice,
    last_by_count,
    norm_over_tokens,
    only_the_future,
    positions_by_batch,
    post_norm_in_name,
    source_unused,
)
from course_lib.exercises.bug_hunts.causal_only_in_training import CausalOnlyInTraining
from course_lib.exercises.bug_hunts.first_key_only import FirstKeyOnly
from course_lib.exercises.bug_hunts.heads_before_projection import HeadsBeforeProjection
from course_lib.exercises.bug_hunts.labels_shifted_twice import LabelsShiftedTwice
from course_lib.exercises.bug_hunts.last_by_count import LastByCount
from course_lib.exercises.bug_hunts.norm_over_tokens import NormOverTokens
from course_lib.exercises.bug_hunts.only_the_future import OnlyTheFuture
from course_lib.exercises.bug_hunts.positions_by_batch import PositionsByBatch
from course_lib.exercises.bug_hunts.post_norm_in_name import PostNormInName
from course_lib.exercises.bug_hunts.source_unused import SourceUnused

HUNTS = tuple(
    module.HUNT
    for module in (
        heads_before_projection,  # notebook 01
        positions_by_batch,  # 02
        only_the_future,  # 03
        causal_only_in_training,  # 03
        norm_over_tokens,  # 04
        post_norm_in_name,  # 04
        source_unused,  # 05
        labels_shifted_twice,  # 05
        last_by_count,  # 06
        first_key_only,  # 08
    )
)

__all__ = [
    "HUNTS",
    "CausalOnlyInTraining",
    "FirstKeyOnly",
    "HeadsBeforeProjection",
    "LabelsShiftedTwice",
    "LastByCount",
    "NormOverTokens",
    "OnlyTheFuture",
    "PositionsByBatch",
    "PostNormInName",
    "SourceUnused",
]
