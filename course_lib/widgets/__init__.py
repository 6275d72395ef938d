"""The explorers: each explore_…() is one call and returns a view with synced controls."""

from course_lib.widgets.alignment import explore_alignment
from course_lib.widgets.attention import explore_attention
from course_lib.widgets.block import explore_block
from course_lib.widgets.deployment import explore_deployment
from course_lib.widgets.generation import explore_generation
from course_lib.widgets.heads import explore_heads
from course_lib.widgets.mask import explore_mask
from course_lib.widgets.parameters import explore_parameters
from course_lib.widgets.positions import explore_positions

__all__ = [
    "explore_alignment",
    "explore_attention",
    "explore_block",
    "explore_deployment",
    "explore_generation",
    "explore_heads",
    "explore_mask",
    "explore_parameters",
    "explore_positions",
]
