"""What `check` answers: a sentence, a small example, and nothing printed."""

import html
import re
from dataclasses import dataclass, field

HEADINGS = {
    "passed": "✔ Passed",
    "failed": "✘ Not yet",
    "error": "✘ It stops with an error",
    "timeout": "✘ It takes too long",
    "not_started": "○ Not started",
}


@dataclass(frozen=True)
class Table:
    """At most 3 × 3 numbers of the learner's beside the right ones, as text; none where the caption says it all."""

    caption: str
    yours: tuple
    right: tuple

    def __str__(self):
        if not self.right:
            return self.caption
        width = max((len(cell) for row in self.yours + self.right for cell in row), default=0)
        left = ["  ".join(cell.rjust(width) for cell in row) for row in self.yours]
        right = ["  ".join(cell.rjust(width) for cell in row) for row in self.right]
        left_width = max(map(len, ["yours", *left]))
        left, right = left + [""] * (len(right) - len(left)), right + [""] * (len(left) - len(right))
        lines = [f"  {a.ljust(left_width)}  |  {b}" for a, b in zip(["yours", *left], ["right", *right], strict=True)]
        return "\n".join([self.caption, *lines])

    def as_html(self):
        caption = f"<p>{html.escape(self.caption)}</p>"
        if not self.right:
            return caption
        pair = _cells("Yours", self.yours, self.right) + _cells("Right", self.right, self.right)
        return f"{caption}<div class='tbe-pair'>{pair}</div>"


@dataclass(frozen=True)
class CheckResult:
    """The verdict on one answer. `bool(result)` is True when it passed; `str(result)` is plain text."""

    status: str  # passed, failed, error, timeout or not_started
    mistake: str | None
    message: str
    remark: str | None
    seconds: float
    title: str = field(default="", repr=False)
    table: Table | None = field(default=None, repr=False)

    def __bool__(self):
        return self.status == "passed"

    def __str__(self):
        return self.message

    def _repr_html_(self):
        """The same message, with its small table as a real one; colours come from JupyterLab's theme."""
        text = self.message if self.table is None else self.message.replace(f"\n{self.table}", "")
        paragraphs = "".join(f"<p>{_marked_up(line)}</p>" for line in text.split("\n") if line)
        table = "" if self.table is None else self.table.as_html()
        name = f" · <code>{html.escape(self.title)}</code>" if self.title else ""
        heading = f"<p class='tbe-heading'>{HEADINGS[self.status]}{name}</p>"
        return f"{STYLE}<div class='tbe-check tbe-{self.status}'>{heading}{paragraphs}{table}</div>"


def _marked_up(line):
    """Escaped, with `code` set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(line))


def _cells(name, rows, right):
    """One table of numbers; a cell that differs from the right one is marked by a sign, not by colour alone."""
    body = ""
    for i, row in enumerate(rows):
        cells = ""
        for j, cell in enumerate(row):
            same = i < len(right) and j < len(right[i]) and right[i][j] == cell
            cells += f"<td>{html.escape(cell)}</td>" if same else f"<td class='tbe-off'>≠ {html.escape(cell)}</td>"
        body += f"<tr>{cells}</tr>"
    return f"<table><caption>{name}</caption><tbody>{body}</tbody></table>"


STYLE = """<style>
.tbe-check { border-left: 4px solid var(--jp-border-color1, #757575); padding: 2px 0 2px 12px; max-width: 46em;
  color: var(--jp-content-font-color1, CanvasText); font-family: var(--jp-content-font-family, sans-serif); }
.tbe-check p { margin: 4px 0; line-height: 1.45; }
.tbe-check .tbe-heading { font-weight: 600; }
.tbe-check.tbe-passed { border-left-color: var(--jp-success-color1, #2e7d32); }
.tbe-check.tbe-failed, .tbe-check.tbe-error, .tbe-check.tbe-timeout { border-left-color: var(--jp-error-color1, #c62828); }
.tbe-check .tbe-pair { display: flex; flex-wrap: wrap; gap: 8px 28px; margin: 4px 0; }
.tbe-check table { margin: 0; border-collapse: collapse; font-family: var(--jp-code-font-family, monospace);
  font-size: var(--jp-code-font-size, 13px); color: inherit; }
.tbe-check caption { caption-side: top; text-align: left; font-weight: 600; color: inherit; padding: 0 0 2px 0; }
.tbe-check td { padding: 2px 8px; text-align: right; border: 1px solid var(--jp-border-color2, #bdbdbd);
  background: var(--jp-layout-color1, Canvas); color: inherit; white-space: pre; }
.tbe-check td.tbe-off { font-weight: 700; border: 2px solid currentColor; }
</style>"""
