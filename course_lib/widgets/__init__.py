"""The explorers: each explore_…() is one call and returns a view with synced controls."""

from course_lib.widgets.heads import explore_heads

__all__ = ["explore_heads"]
