"""What quizzes, predictions and comparisons share: the browser's files, plain text, how answers are kept."""
import random
from pathlib import Path

import anywidget
import traitlets

from course_lib import progress
from course_lib.quiz_numbers import draw
from course_lib.rich_text import to_html, to_plain

FILES = Path(__file__).parent / "widgets"


class QuizWidget(anywidget.AnyWidget):
    """What the three views share: the files, plain text, and how the browser hears that all is kept."""
    _esm = "\n".join((FILES / name).read_text(encoding="utf-8") for name in ("keys.js", "quiz.js"))
    _css = FILES / "quiz.css"
    view = traitlets.Unicode().tag(sync=True)
    saved = traitlets.Unicode().tag(sync=True)       # "" or why an answer is not on the disk
    saved_count = traitlets.Int(0).tag(sync=True)    # grows by one with each answer that arrived here

    def keep(self, kind, id, **data):
        """Record an event and tell the browser that it arrived."""
        try:
            progress.record(kind, id, **data)
            self.saved = progress.warning()
            self.saved_count += 1
        except Exception as error:           # a callback's traceback is invisible in a notebook: show it here
            self.refuse(f"{type(error).__name__}: {error}")

    def refuse(self, reason):
        """Tell the browser that the answer is not kept, and why."""
        self.saved = f"Not saved: {reason}"
        self.saved_count += 1

    def as_text(self):
        """What a reader without a browser sees."""
        raise NotImplementedError

    def __repr__(self):
        return self.as_text()

    def _repr_mimebundle_(self, **kwargs):
        data, metadata = super()._repr_mimebundle_(**kwargs)
        return {**data, "text/plain": self.as_text()}, metadata


def for_browser(item):
    """An item with its texts as HTML; the steps of an "order" item get a shuffled order to start from."""
    ready = _with_html(item)
    if item["kind"] == "order":
        ready["start"] = shuffled(len(item["steps"]), seed=item["id"])
    return ready


def _with_html(value, key=""):
    if isinstance(value, dict):
        return {k: _with_html(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_html(v, key) for v in value]
    return to_html(value) if key in ("text", "why", "rubric") else value


def shuffled(n, seed):
    """0 … n - 1 in an order that is the same for the same seed, and never begins with 0."""
    rng, order = random.Random(seed), list(range(n))
    while order[0] == 0:
        rng.shuffle(order)
    return order


def item_text(item):
    """An item as plain text, without its key."""
    if item["kind"] == "drill":
        item = draw(item, random.Random(0))
    lines = [f"{item['id']}  {to_plain(item['text'])}"]
    lines += [f"   {option['letter']}. {to_plain(option['text'])}" for option in item.get("options", [])]
    if item["kind"] == "order":
        steps = [to_plain(step["text"]) for step in item["steps"]]
        lines += [f"   - {steps[i]}" for i in shuffled(len(steps), seed=item["id"])]
    return "\n".join(lines)
