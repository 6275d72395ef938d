"""The explorers: each explore_…() is one call and returns a view with synced controls."""

from course_lib.widgets.heads import explore_heads
from course_lib.widgets.positions import explore_positions

__all__ = ["explore_heads", "explore_positions"]
