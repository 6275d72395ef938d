"""The learner's side: reads one notebook, runs its answers and lets them be asked. It holds no reference and no key."""

import ast
import inspect
import linecache
import random

import numpy as np
import torch

from course_lib.classroom import finding
from course_lib.classroom.peer import Peer
from course_lib.exercises.runner import InProcess, surroundings_kept
from course_lib.exercises.stub import not_started, words_in


class Submission:
    """One notebook in this process. The methods are what the marking side may ask for."""

    def __init__(self):
        self.cells, self.candidates = [], {}

    def read(self, file):
        """Take in the file, a tensor of its bytes. Returns the notes on its state."""
        self.cells, notes = finding.cells_of(file.numpy().tobytes())
        return {"notes": notes, "cells": len(self.cells)}

    def count(self, wanted):
        """{notebook: how many of its exercises are found by tag, by check or by function}."""
        counts = {}
        for notebook, exercise, function in wanted:
            found = finding.find(self.cells, exercise, function, function not in ("test", "Mended")) is not None
            counts[notebook] = counts.get(notebook, 0) + found
        return counts

    def look_for(self, exercise, function, alone, limit):
        """Find an answer and run what it needs. Returns a dict that says what there is; `state` comes first."""
        answer = finding.find(self.cells, exercise, function, alone)
        if answer is None:
            return {"state": "missing", "notes": []}
        about = {"notes": answer.notes, "cell": answer.cell.number}
        if answer.cell.tree is None:
            return about | {"state": "unreadable", "problem": answer.cell.problem}
        _seed(0)
        outcome = InProcess(lambda: self._world(answer), limit).call(())
        if outcome.raised:
            raised = outcome.raised
            return about | {"state": "raises", "problem": f"{raised.kind}: {raised.text[:300]}", "timed_out": raised.timed_out}
        candidate = outcome.output[answer.name]
        self.candidates[exercise] = candidate
        return about | {"state": "ready", **_portrait(candidate)}

    def _world(self, answer):
        """The names that an answer needs, and the answer: a namespace."""
        world = {"__name__": "submission"}
        for cell, statement in finding.needed(self.cells, answer):
            filename = f"cell {cell.number}"
            linecache.cache[filename] = (len(cell.text), None, cell.text.splitlines(keepends=True), filename)
            code = compile(ast.Module([statement], []), filename, "exec")
            try:
                exec(code, world)
            except Exception:
                if statement is answer.cell.names[answer.name]:
                    raise
                continue  # a name that it should have made will be missed, if it is needed at all
        return world

    def call(self, exercise, args, grad, seed, limit):
        """One call of a candidate; all that happened, as a dict."""
        _seed(seed)
        with surroundings_kept():
            outcome = InProcess(self.candidates[exercise], limit).call(tuple(args), grad=grad)
        raised = outcome.raised and vars(outcome.raised)
        after = [a if isinstance(a, torch.Tensor | bool | int | float | str | list) else None for a in outcome.inputs_after]
        return {"output": outcome.output, "after": after, "gradients": outcome.gradients, "raised": raised}

    def construct(self, exercise, args, seed):
        """An instance of a learner's class; the marking side gets a stand-in."""
        torch.manual_seed(seed)
        module = self.candidates[exercise](*args)
        if not isinstance(module, torch.nn.Module):
            raise TypeError(f"the class must be a torch.nn.Module; it is a {type(module).__name__}")
        return module


def _seed(number):
    """Chance starts anew for each call, so that marking twice gives the same."""
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number % 2**32)


def _portrait(candidate):
    """What the marking side may know of a candidate without having it."""
    try:
        parameters = [[p.name, p.kind.name, p.default is not p.empty] for p in inspect.signature(candidate).parameters.values()]
    except (TypeError, ValueError):
        parameters = None
    return {
        "callable": callable(candidate), "is_class": inspect.isclass(candidate), "type": type(candidate).__name__,
        "ours": str(getattr(candidate, "__module__", "")).startswith("course_lib"),
        "not_started": callable(candidate) and not_started(candidate), "parameters": parameters,
        "words": sorted((w for w in words_in(candidate) if isinstance(w, str) and len(w) < 60), key=str)[:300],
    }  # fmt: skip


def serve(sock):
    """Answer the marking side until it hangs up."""
    torch.set_num_threads(1)
    submission = Submission()
    Peer(sock, {
        "read": submission.read, "count": submission.count, "look_for": submission.look_for, "call": submission.call,
        "construct": submission.construct,
    }).serve()  # fmt: skip
