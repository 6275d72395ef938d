"""Questions in the notebook: ask() for a quiz, predict() before a result and compare() beside it.

    ask("01_multi_head_intuition")          all items, with a reason for each option and a second try
    ask("01_multi_head_intuition", "Q1")    one of them
    predict("wider_head")                   the learner commits to an answer, or skips
    compare("wider_head", 0.37)             what was measured beside what they said
    still_yours("01_multi_head_intuition", "split_heads")   what is left to do in a notebook

Answers are kept by progress.py and come back when a cell is run again. Nothing here is graded: the keys are in
the files. Without a front end each object prints as plain text.
"""
import random
import weakref
from pathlib import Path

import anywidget
import traitlets

from course_lib import progress, quiz_bank
from course_lib.rich_text import to_html, to_plain

FILES = Path(__file__).parent / "widgets"
AHEAD = 20                                   # drill questions that lie ready in the browser


class QuizWidget(anywidget.AnyWidget):
    """What the three views share: the files, and how a saved answer is acknowledged."""
    _esm = FILES / "quiz.js"
    _css = FILES / "quiz.css"
    view = traitlets.Unicode().tag(sync=True)
    saved = traitlets.Unicode().tag(sync=True)       # "" or why an answer is not on the disk
    saved_count = traitlets.Int(0).tag(sync=True)    # grows by one with each answer that arrived here

    def keep(self, kind, id, **data):
        """Record an answer and tell the browser that it arrived."""
        progress.record(kind, id, **data)
        self.saved = progress.warning()
        self.saved_count += 1

    def as_text(self):
        """What a reader without a browser sees."""
        raise NotImplementedError

    def __repr__(self):
        return self.as_text()

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data["text/plain"] = self.as_text()
        return bundle


# ---- quizzes ----
def ask(notebook, *ids):
    """The quiz of a notebook as one widget, or only the items named."""
    items = quiz_bank.load(notebook)["items"]
    if ids:
        items = [quiz_bank.find_item(notebook, id) for id in ids]
    return Quiz(notebook, items)


class Quiz(QuizWidget):
    """Items with feedback. `answers` maps an item's id to {given, attempts, right, done}, and is kept."""
    items = traitlets.List().tag(sync=True)
    draws = traitlets.Dict().tag(sync=True)          # a drill's id -> its questions so far
    answers = traitlets.Dict().tag(sync=True)

    def __init__(self, notebook, items):
        self._notebook, self._items = notebook, {item["id"]: item for item in items}
        self._rng = random.Random()
        super().__init__(view="ask", items=[for_browser(item) for item in items], answers=self._answers_so_far())
        for item in items:
            if item["kind"] == "drill":
                self._draw_more(item, AHEAD)
        self.observe(self._on_answers, "answers")

    def _answers_so_far(self):
        last = {event["id"]: event for event in progress.events("answer")}
        states = {id: last.get(self._key(id)) for id in self._items}
        return {id: {key: event[key] for key in ("given", "ticked", "attempts", "right", "done") if key in event}
                for id, event in states.items() if event}

    def _key(self, id):
        return f"{self._notebook}/{id}"

    def _draw_more(self, item, count):
        new = [for_browser(quiz_bank.draw(item, self._rng)) for _ in range(count)]
        self.draws = {**self.draws, item["id"]: [*self.draws.get(item["id"], []), *new]}

    def _on_answers(self, change):
        for id, state in change.new.items():
            if id in self._items and state != change.old.get(id) and state.get("attempts"):
                self._answered(self._items[id], state)

    def _answered(self, item, state):
        """Keep one answer. Whether it is right is judged here once more; the browser's verdict was for the eye."""
        key = self._key(item["id"])
        if item["kind"] == "drill":
            index = state["index"]
            question = self.draws[item["id"]][index]
            self.keep("drill", key, given=state["given"], right=quiz_bank.is_right(question, state["given"]),
                      numbers=question["numbers"])
            if index > len(self.draws[item["id"]]) - AHEAD // 2:
                self._draw_more(item, AHEAD)
            return
        judged = state["ticked"] if item["kind"] == "text" else state["given"]
        self.keep("answer", key, **{**state, "right": quiz_bank.is_right(item, judged)})

    def as_text(self):
        return "\n\n".join(item_text(item) for item in self._items.values())


def for_browser(item):
    """An item with its texts turned into HTML; the steps of an "order" item get a shuffled order to start from."""
    def convert(value, key=""):
        if isinstance(value, dict):
            return {k: convert(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [convert(v, key) for v in value]
        return to_html(value) if key in ("text", "why", "rubric") else value
    ready = convert(item)
    if item["kind"] == "order":
        ready["start"] = shuffled(len(item["steps"]), seed=item["id"])
    return ready


def shuffled(n, seed):
    """0 … n - 1 in an order that is always the same for one seed and never the sorted one."""
    rng, order = random.Random(seed), list(range(n))
    while order == sorted(order):
        rng.shuffle(order)
    return order


def item_text(item):
    """An item as plain text, without its key."""
    if item["kind"] == "drill":
        item = quiz_bank.draw(item, random.Random(0))
    lines = [f"{item['id']}  {to_plain(item['text'])}"]
    lines += [f"   {option['letter']}. {to_plain(option['text'])}" for option in item.get("options", [])]
    if item["kind"] == "order":
        lines += [f"   - {to_plain(item['steps'][i]['text'])}" for i in shuffled(len(item["steps"]), item["id"])]
    return "\n".join(lines)


# ---- predictions ----
_comparisons = weakref.WeakSet()             # those shown by this kernel: a late commitment updates them


def predict(id):
    """Ask the learner to commit before a result is shown. Skipping is allowed, and kept as skipped."""
    notebook, item = quiz_bank.find_prediction(id)
    return Prediction(notebook, item)


class Prediction(QuizWidget):
    """One prediction. `committed` is {} before, then {given} or {skipped: True}."""
    item = traitlets.Dict().tag(sync=True)
    committed = traitlets.Dict().tag(sync=True)

    def __init__(self, notebook, item):
        self._key, self._item = f"{notebook}/{item['id']}", item
        super().__init__(view="predict", item=for_browser(item), committed=latest_prediction(self._key))
        self.observe(self._on_commitment, "committed")

    def _on_commitment(self, change):
        if change.new:
            late = any(other.key == self._key for other in _comparisons)
            self.keep("prediction", self._key, **change.new, late=late)
            for other in _comparisons:
                if other.key == self._key:
                    other.refresh()

    def as_text(self):
        said = latest_prediction(self._key)
        return f"Predict first. {item_text(self._item)}" + (f"\n   You said: {said_text(self._item, said)}" if said else "")


def latest_prediction(key):
    """{given} or {skipped: True} of the learner's last commitment; {} if there is none."""
    found = progress.events("prediction", key)
    return {k: found[-1][k] for k in ("given", "skipped") if k in found[-1]} if found else {}


def said_text(item, said):
    """A commitment in words."""
    if said.get("skipped"):
        return "(skipped)"
    return value_text(item, said["given"])


def value_text(item, value):
    """A number with its unit, or a letter with its option."""
    if item["kind"] == "number":
        return " ".join([f"{value:,.4g}", *([item["unit"]] if "unit" in item else [])])
    return next(f"{o['letter']}. {o['text']}" for o in item["options"] if o["letter"] == value)


def compare(id, outcome, because=""):
    """Show what was measured beside what the learner predicted.

    outcome: the letter that turned out to be true, or the number measured. because: one sentence that says why.
    """
    notebook, item = quiz_bank.find_prediction(id)
    if item["kind"] == "one" and outcome not in [option["letter"] for option in item["options"]]:
        raise ValueError(f"The outcome of {id!r} must be one of its letters, not {outcome!r}.")
    return Comparison(f"{notebook}/{id}", item, outcome if item["kind"] == "one" else float(outcome), because)


class Comparison(QuizWidget):
    """Prediction and measurement side by side, with one sentence."""
    html = traitlets.Dict().tag(sync=True)           # question, said, measured, sentence, because

    def __init__(self, key, item, outcome, because):
        self.key, self._item, self._outcome, self._because = key, item, outcome, because
        super().__init__(view="compare")
        _comparisons.add(self)
        self.refresh()

    def refresh(self):
        """Read the learner's commitment again."""
        said = latest_prediction(self.key)
        sentence, surprising = self._verdict(said)
        self._text = {
            "question": self._item["text"], "said": said_text(self._item, said) if said else "nothing yet",
            "measured": value_text(self._item, self._outcome), "sentence": sentence, "because": self._because}
        self.html = {key: to_html(text) for key, text in self._text.items()}
        if "given" in said:
            self.keep("outcome", self.key, outcome=self._outcome, surprising=surprising, sentence=to_plain(sentence))

    def _verdict(self, said):
        measured = value_text(self._item, self._outcome)
        if not said:
            return "You did not commit to a prediction. Next time run the cell above first: it is how surprises stick.", False
        if said.get("skipped"):
            return "You skipped the prediction.", False
        mine = value_text(self._item, said["given"])
        if self._item["kind"] == "one":
            expected = said["given"] == self._outcome
        else:
            expected = abs(said["given"] - self._outcome) <= self._item["near"]
        return (f"As you said: {measured}." if expected else f"You said {mine}; it turned out to be {measured}."), not expected

    def as_text(self):
        t = {key: to_plain(text) for key, text in self._text.items()}
        return f"{t['question']}\n   You said: {t['said']}\n   Measured: {t['measured']}\n   {t['sentence']} {t['because']}".rstrip()


# ---- what is left ----
def still_yours(notebook, *exercises):
    """A page that lists the exercises and quiz items of a notebook that this learner has not passed yet."""
    done = progress.passed()
    tasks = [name for name in exercises if name not in done]
    items = [i["id"] for i in quiz_bank.load(notebook)["items"] if i["kind"] != "drill"]
    questions = [id for id in items if f"{notebook}/{id}" not in done]
    sections = {}
    if tasks:
        sections["Exercises not passed yet"] = tasks
    if questions:
        sections["Quiz items not answered rightly yet"] = questions
    if not sections:
        sections["Nothing"] = ["All exercises and quiz items of this notebook are done."]
    return progress.Page("Still yours to do", sections)
