"""Questions in the notebook: ask() for a quiz, predict() before a result and compare() beside it.

    ask("01_multi_head_intuition")            all items, with a reason for each option and a second try
    ask("01_multi_head_intuition", "Q1")      one of them
    predict("wider_head")                     the learner commits to an answer, or skips
    compare("wider_head", 0.37)               what was measured, beside what they said
    still_yours("01_multi_head_intuition", "split_heads")     what is left to do in a notebook

Answers are kept by progress.py and come back when a cell is run again. Nothing is graded: the keys are in the
files. Without a front end each object prints as plain text.
"""
import random

import traitlets

from course_lib import progress, quiz_bank
from course_lib.quiz_marking import fits, is_right
from course_lib.quiz_numbers import draw
from course_lib.quiz_predictions import compare, predict
from course_lib.quiz_widget import QuizWidget, for_browser, item_text

__all__ = ["ask", "compare", "predict", "still_yours"]
AHEAD = 20                                   # questions of a drill that lie ready in the browser


def ask(notebook, *ids):
    """The quiz of a notebook as one widget, or only the items named."""
    if ids:
        return Quiz(notebook, [quiz_bank.find_item(notebook, id) for id in ids])
    return Quiz(notebook, quiz_bank.load(notebook)["items"])


class Quiz(QuizWidget):
    """Items with feedback. `answers` maps an item's id to {given, attempts, right, done}, and is kept."""
    items = traitlets.List().tag(sync=True)
    draws = traitlets.Dict().tag(sync=True)          # a drill's id -> its questions so far
    answers = traitlets.Dict().tag(sync=True)

    def __init__(self, notebook, items):
        self._notebook, self._rng = notebook, random.Random()
        self._items = {item["id"]: item for item in items}
        super().__init__(view="ask", items=[for_browser(i) for i in items], answers=self._kept_answers())
        for item in items:
            if item["kind"] == "drill":
                self._draw_more(item)
        self.observe(self._on_answers, "answers")

    def _key(self, id):
        return f"{self._notebook}/{id}"

    def _kept_answers(self):
        """The last answer to each item, from this or an earlier session, if it fits the item of today."""
        last = {event["id"]: event for event in progress.events("answer")}
        kept = {id: last[self._key(id)] for id in self._items if self._key(id) in last}
        fields = ("given", "ticked", "attempts", "right", "done")
        return {id: {field: event[field] for field in fields if field in event}
                for id, event in kept.items() if fits(self._items[id], marked_part(self._items[id], event))}

    def _draw_more(self, drill):
        new = [for_browser(draw(drill, self._rng)) for _ in range(AHEAD)]
        self.draws = {**self.draws, drill["id"]: [*self.draws.get(drill["id"], []), *new]}

    def _on_answers(self, change):
        for id, state in change.new.items():
            if state == change.old.get(id) or not state.get("attempts"):
                continue                     # unchanged, or emptied by "Answer again"
            item = self._items[id]
            keep = self._keep_drill if item["kind"] == "drill" else self._keep_answer
            keep(item, state)

    def _keep_answer(self, item, state):
        """Keep one answer. It is marked here once more: the browser's verdict was for the eye."""
        marked = marked_part(item, state)
        if not fits(item, marked):
            return self.refuse(f"{marked!r} is no answer to {item['id']}.")
        right = is_right(item, marked) if marked != [] else None     # a text with nothing ticked is not marked yet
        self.keep("answer", self._key(item["id"]), **{**state, "right": right})

    def _keep_drill(self, item, state):
        ready, index = self.draws[item["id"]], state["index"]
        self.keep("drill", self._key(item["id"]), given=state["given"], numbers=ready[index]["numbers"],
                  right=is_right(ready[index], state["given"]))
        if index >= len(ready) - AHEAD // 2:
            self._draw_more(item)

    def as_text(self):
        return "\n\n".join(item_text(item) for item in self._items.values())


def marked_part(item, state):
    """What of an answer is marked: in a text the points ticked, else the answer given."""
    return state.get("ticked") if item["kind"] == "text" else state.get("given")


def still_yours(notebook, *exercises):
    """A page with the exercises (by name) and quiz items of a notebook that are not passed yet."""
    done = progress.passed()
    items = [item for item in quiz_bank.load(notebook)["items"] if item["kind"] != "drill"]
    left = {"Exercises to pass": [name for name in exercises if name not in done],
            "Quiz items to answer": [quiz_bank.title(item) for item in items if f"{notebook}/{item['id']}" not in done]}
    left = {heading: lines for heading, lines in left.items() if lines} or {"Nothing": ["All of this notebook is done."]}
    not_saved = {"About the files": [progress.warning()]} if progress.warning() else {}
    return progress.Page("Still yours to do", left | not_saved)
