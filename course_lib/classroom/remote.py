"""How `judge` reaches a candidate that lives in another process."""

import inspect
import types
from contextlib import nullcontext

import torch

from course_lib.classroom.session import Gone
from course_lib.classroom.standins import RemoteModule
from course_lib.exercises.runner import InProcess, Outcome, Raised

CALL_LIMIT = 5.0  # seconds for one call of a learner's function, by the child's own watchdog


def stand_in(session, exercise, portrait):
    """What `judge` is given in place of the learner's function or class: never run, only looked at."""
    if portrait["is_class"]:
        return remote_class(session, exercise, portrait["type"])
    words = tuple(str(w) for w in portrait["words"] or ())

    def body(*args):
        return args[0]

    function = types.FunctionType(body.__code__.replace(co_names=words), {}, exercise)
    function.session = session
    with_names = portrait["parameters"]
    if with_names is not None:
        function.__signature__ = inspect.Signature([
            inspect.Parameter(str(name), getattr(inspect.Parameter, str(kind)), default=None if has else inspect.Parameter.empty)
            for name, kind, has in with_names])  # fmt: skip
    else:
        function.__signature__ = inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])
    return function


def remote_class(session, exercise, name):
    """A class whose instances live in the child."""

    def __new__(cls, *args):  # noqa: N807 - the name is Python's
        return session.ask("construct", exercise, args, torch.initial_seed() % 2**32)

    made = type("Mended", (RemoteModule,), {"__new__": __new__})
    made.session = session
    return made


class Remote:
    """Runner with the interface of `runner.InProcess`: asks the child for a learner's function; runs ours here."""

    def __init__(self, candidate):
        self.candidate = candidate
        self.session = getattr(candidate, "session", None)
        self.afresh = getattr(candidate, "afresh", None)  # () -> a new session for one call

    def call(self, args, grad=False):
        """Call the candidate. Never raises; the Outcome tells. Seconds are always 0: a mark does not hang on the clock."""
        if self.session is None or isinstance(self.candidate, type):
            return self._here(args, grad)
        try:
            with self.afresh() if self.afresh else nullcontext(self.session) as session:
                answer = session.ask("call", self.candidate.__name__, list(args), grad, 7, CALL_LIMIT)
            outcome = _outcome(answer, args)
            if outcome.raised and ("MemoryError" in outcome.raised.kind or "allocate memory" in outcome.raised.text):
                self.session.close("it was out of memory")  # and would be again on the next probe
            return outcome
        except Gone as gone:
            kind = "TimeUp" if "time" in str(gone) else "ProcessEnded"
            return Outcome(None, args, None, Raised(kind, str(gone), None, ""), 0.0)
        except Exception as error:  # what the child answered makes no sense
            return Outcome(None, args, None, Raised("ProcessEnded", f"it answered oddly ({type(error).__name__})", None, ""), 0.0)

    def _here(self, args, grad):
        outcome = InProcess(self.candidate, 60.0).call(args, grad)
        return Outcome(outcome.output, outcome.inputs_after, outcome.gradients, outcome.raised, 0.0)


def _outcome(answer, args):
    """The child's answer as an Outcome."""
    raised = answer["raised"] and Raised(
        str(answer["raised"]["kind"]), str(answer["raised"]["text"]), answer["raised"]["line_number"], str(answer["raised"]["line"]))  # fmt: skip
    after = tuple(a if callable(a) else b for a, b in zip(args, answer["after"], strict=True))
    return Outcome(answer["output"], after, answer["gradients"], raised or None, 0.0)
