"""What judging ends with."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """A status, the slug of the mistake, what is wrong, where to look, and whether a small example helps."""

    status: str
    mistake: str | None = None
    says: str = ""
    look: str = ""
    remark: str | None = None
    show: bool = True
