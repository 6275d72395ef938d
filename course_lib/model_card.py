"""A model card: what a model is, what was measured, and what only its maker can say. Saved as Markdown.

What was measured comes filled in; the rest is the maker's. A card without limits or subgroups is not saved: those are
the two that people leave out. Source: Mitchell et al. 2019, section 4.
"""

import os
from pathlib import Path

from course_lib import journal

HEADINGS = {
    "intended_use": "What it is for, and what it is not for",
    "data_inspected": "The training data: where from, and what I found when I looked at it",
    "subgroups": "Subgroups: for whom it was measured, for whom not, and how they differ",
    "limits": "Limits: where it fails, and what the measurements do not show",
}
REQUIRED = ("subgroups", "limits")
PLACEHOLDERS = ("", "...", "…", "todo", "tbd", "none", "n/a", "-")
FIRST_LINE = "<!-- model card, Transformers by Experiment -->"


class ModelCard:
    """A card for one model. measured: {what: text or number}; the four texts may be set later, as attributes."""

    def __init__(self, name, measured, **texts):
        unknown = set(texts) - set(HEADINGS)
        if unknown:
            raise ValueError(f"a card has {', '.join(HEADINGS)}; got {', '.join(sorted(unknown))}")
        self.name, self.measured = name, measured
        for field in HEADINGS:
            setattr(self, field, texts.get(field, ""))

    def missing(self):
        """Names of the required texts that are still empty."""
        return [field for field in REQUIRED if is_empty(getattr(self, field))]

    def status(self):
        """One sentence: what is still missing, or that the card can be saved."""
        if not self.missing():
            return "Complete: card.save() writes it."
        return f"Not saved: {' and '.join(self.missing())} must be filled in first."

    def save(self, path=None):
        """Write the card as Markdown and return its path. path: by default a file in the folder of your progress.

        ValueError while a required text is empty: it says which. FileExistsError if another file is there already.
        """
        if self.missing():
            raise ValueError(self.status())
        path = journal.home() / f"model_card_{file_name(self.name)}.md" if path is None else Path(path)
        if path.exists() and not path.read_text(encoding="utf-8", errors="replace").startswith(FIRST_LINE):
            raise FileExistsError(f"{path} exists and is no model card of this course. Choose another path.")
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_text(self.as_markdown(), encoding="utf-8")
        os.replace(part, path)  # an old card stays whole until the new one is
        return path

    def as_markdown(self):
        """The whole card; what is empty says so."""
        rows = [f"| {as_cell(what)} | {as_cell(value)} |" for what, value in self.measured.items()]
        parts = [f"# Model card: {self.name}", "## Measured", "\n".join(["| what | value |", "|---|---|", *rows])]
        for field, heading in HEADINGS.items():
            text = getattr(self, field)
            parts += [f"## {heading}", f"*Still empty: card.{field}*" if is_empty(text) else str(text).strip()]
        return FIRST_LINE + "\n\n" + "\n\n".join(parts) + "\n"

    def _repr_markdown_(self):
        lines = self.as_markdown().split("\n")
        smaller = "\n".join(f"##{line}" if line.startswith(("# ", "## ")) else line for line in lines)
        return f"{smaller}\n**{self.status()}**"  # below the headings of the notebook around it

    def __repr__(self):
        return f"{self.as_markdown()}\n{self.status()}"


def is_empty(text):
    """True for nothing, white space, and what people write in place of an answer."""
    return str(text).strip().rstrip(".").lower() in PLACEHOLDERS or set(str(text).strip()) <= {".", "…"}


def as_cell(value):
    """A value inside a Markdown table: a bar or a new line would break the row."""
    text = f"{value:.3g}" if isinstance(value, float) else str(value)
    return " ".join(text.replace("|", "\\|").split())


def file_name(name):
    """The name of a model as part of a file's name: small letters, digits and underscores."""
    return "_".join("".join(c.lower() if c.isalnum() else " " for c in name).split()) or "unnamed"
