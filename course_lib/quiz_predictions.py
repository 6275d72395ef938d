"""Predictions before a result: predict() asks for a commitment, compare() shows the measurement beside it.

Both work in any order. With Run All nothing is committed yet, and the comparison says so; when the learner
commits afterwards, the comparisons on the page follow, and the commitment is kept as late.
"""
import traitlets

from course_lib import progress, quiz_bank
from course_lib.quiz_marking import fits
from course_lib.quiz_widget import QuizWidget, for_browser, item_text
from course_lib.rich_text import to_html, to_plain

_shown = {}                                  # key -> the comparison this kernel shows; a late commitment updates it


def predict(id):
    """Ask the learner to commit before a result is shown. Skipping is allowed, and kept as skipped."""
    return Prediction(*quiz_bank.find_prediction(id))


class Prediction(QuizWidget):
    """One prediction. `committed` is {} before, then {"given": …} or {"skipped": True}."""
    item = traitlets.Dict().tag(sync=True)
    committed = traitlets.Dict().tag(sync=True)

    def __init__(self, notebook, item):
        self._key, self._item = f"{notebook}/{item['id']}", item
        super().__init__(view="predict", item=for_browser(item), committed=last_commitment(self._key, item))
        self.observe(self._on_commitment, "committed")

    def _on_commitment(self, change):
        said = change.new
        if said and not said.get("skipped") and not fits(self._item, said.get("given")):
            self.refuse(f"{said.get('given')!r} is no answer to this.")
        elif said:                           # {}: "Predict again" was pressed
            late = self._key in _shown           # the result was on the page already
            self.keep("prediction", self._key, **change.new, late=late)
            if late:
                _shown[self._key].refresh()

    def as_text(self):
        said = last_commitment(self._key, self._item)
        answer = f"\n   You said: {said_text(self._item, said)}" if said else ""
        return f"Predict first. {item_text(self._item)}{answer}"


def last_commitment(key, item):
    """{"given": …} or {"skipped": True} of the learner's last prediction; {} if there is none that fits."""
    for event in reversed(progress.events("prediction", key)):
        if event.get("skipped"):
            return {"skipped": True}
        if fits(item, event.get("given")):
            return {"given": event["given"]}
    return {}


def said_text(item, said):
    """A commitment in words."""
    if not said:
        return "nothing yet"
    return "(skipped)" if said.get("skipped") else value_text(item, said["given"])


def value_text(item, value):
    """A number with its unit, or a letter with its option."""
    if item["kind"] == "number":
        return f"{value:,.4g} {item.get('unit', '')}".strip()
    option = next(option for option in item["options"] if option["letter"] == value)
    return f"{option['letter']}. {option['text']}"


def compare(id, outcome, because=""):
    """Show what was measured beside what the learner predicted.

    outcome: the letter that turned out to be true, or the number measured. because: a sentence on why.
    """
    notebook, item = quiz_bank.find_prediction(id)
    if item["kind"] == "number":
        return Comparison(f"{notebook}/{id}", item, float(outcome), because)
    letters = [option["letter"] for option in item["options"]]
    if outcome not in letters:
        raise ValueError(f"The outcome of {id!r} must be one of {', '.join(letters)}, not {outcome!r}.")
    return Comparison(f"{notebook}/{id}", item, outcome, because)


class Comparison(QuizWidget):
    """Prediction and measurement side by side, with one sentence."""
    texts = traitlets.Dict().tag(sync=True)          # HTML: question, said, measured, sentence, because

    def __init__(self, key, item, outcome, because):
        self.key, self._item, self._outcome, self._because = key, item, outcome, because
        super().__init__(view="compare")
        _shown[key] = self
        self.refresh()

    def refresh(self):
        """Read the learner's commitment again, show it, and keep what came of it."""
        said = last_commitment(self.key, self._item)
        sentence, surprising = self._verdict(said)
        self._plain = {"question": self._item["text"], "said": said_text(self._item, said),
                       "measured": value_text(self._item, self._outcome), "sentence": sentence,
                       "because": self._because}
        self.texts = {name: to_html(text) for name, text in self._plain.items()}
        if "given" in said:
            self.keep("outcome", self.key, outcome=self._outcome, surprising=surprising,
                      sentence=to_plain(sentence))

    def _verdict(self, said):
        """One sentence about the commitment, and whether the measurement contradicts it."""
        if not said:
            return "You did not commit to a prediction. Next time run the cell above first.", False
        if said.get("skipped"):
            return "You skipped the prediction.", False
        given, outcome = said["given"], self._outcome
        if self._item["kind"] == "one":
            same = given == outcome
            return ("As you predicted." if same else f"You said {given}; it is {outcome}."), not same
        if abs(given - outcome) <= self._item["near"]:
            return "Close to what you predicted.", False
        return f"You said {value_text(self._item, given)}; it is {value_text(self._item, outcome)}.", True

    def as_text(self):
        plain = {name: to_plain(text) for name, text in self._plain.items()}
        lines = ["{question}", "   You said: {said}", "   Measured: {measured}", "   {sentence} {because}"]
        return "\n".join(lines).format(**plain).rstrip()
