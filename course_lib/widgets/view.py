"""What every explorer shares: synced controls that check themselves, one result, and the files a browser needs.

A view is an anywidget. Its controls are traits named as the symbols (n_heads, d_model, …). Assigning one in
Python, or moving it in the browser, leads to the same place: `compute()` turns the controls into `result`, and the
view's .js file draws that. No front end is needed: `view.n_heads = 4; view.result` works in a plain script.
"""

import html
import threading
from pathlib import Path

import anywidget
import matplotlib
import numpy as np
import torch
import traitlets

from course_lib import plots

HERE = Path(__file__).parent


def source(*names):
    """One browser file out of several of this folder: anywidget takes one per view, and we share family.js."""
    return "\n".join((HERE / name).read_text(encoding="utf-8") for name in names)


def colour_table():
    """256 colours of the course's one map, from lowest to highest: uint8 (256, 3)."""
    return np.round(255 * matplotlib.colormaps[plots.CMAP](np.linspace(0, 1, 256))[:, :3]).astype(np.uint8)


def floats(array):
    """An array or tensor as float32 bytes, row by row, ready for a Float32Array in the browser."""
    array = array.detach().cpu().numpy() if torch.is_tensor(array) else np.asarray(array)
    return np.ascontiguousarray(array, dtype=np.float32).tobytes()


class Control(traitlets.TraitType):
    """A synced trait that answers a wrong value with the view's `.error` and keeps the old value."""

    def __init__(self, default_value=None):
        super().__init__(default_value=default_value)
        self.tag(sync=True)

    def validate(self, view, value):
        problem = view.problem(self.name, value)
        view.error = problem
        return view._trait_values.get(self.name, self.default_value) if problem else value


class View(anywidget.AnyWidget):
    """Base of every explorer. A subclass names its controls, and gives `compute()` and `words()`.

    limits: for each control either the list of values it may take, or {"min": …, "max": …, "step": …}, or
    {"length": …} for a text. The browser builds its sliders from the same limits.
    """

    _css = source("family.css")
    in_browser = ()  # controls that the browser follows alone: moving them asks nothing of Python
    limits = traitlets.Dict().tag(sync=True)
    colours = traitlets.Bytes().tag(sync=True)
    result = traitlets.Dict().tag(sync=True)
    error = traitlets.Unicode("").tag(sync=True)

    def __init__(self, limits, **controls):
        super().__init__(limits=limits, colours=colour_table().tobytes(), **controls)
        if self.error:
            raise ValueError(self.error)
        self._lock = threading.Lock()
        self.on_msg(lambda view, message, buffers: self.send("yes"))  # see watchKernel in family.js
        self.result = self._computed()
        asked = [name for name in limits if name not in self.in_browser]
        if asked:
            self.observe(self._redraw, names=asked)

    def compute(self):
        """The result for the controls as they stand: a dict of plain values and float32 bytes."""
        raise NotImplementedError

    def words(self):
        """What the view shows, in one sentence or two."""
        raise NotImplementedError

    def problem(self, name, value):
        """Why this control cannot take this value, or "" when it can."""
        limit = self.limits.get(name)
        if limit is None:  # a control that this view does not offer
            return ""
        if isinstance(limit, list):
            fits = any(type(value) is type(choice) and value == choice for choice in limit)
            expected = "one of " + ", ".join(map(str, limit))
        elif "length" in limit:
            fits, expected = isinstance(value, str) and len(value) <= limit["length"], "a text of at most {length} characters"
        else:
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            whole = isinstance(limit["step"], int) and number and value != int(value)
            fits, expected = number and not whole and limit["min"] <= value <= limit["max"], "a number from {min} to {max}"
            expected += " in steps of {step}"
        expected = expected if isinstance(limit, list) else expected.format(**limit)
        return "" if fits else f"{name} must be {expected}; got {value!r}."

    def _computed(self):
        with self._lock, torch.no_grad():  # callbacks run in a thread of their own, and grad mode is per thread
            return self.compute()

    def _redraw(self, change):
        try:
            self.result = self._computed()
        except Exception as problem:  # a callback's traceback goes to a log nobody opens, so it is shown in the view
            self.error = f"{type(problem).__name__}: {problem}"

    def _repr_mimebundle_(self, **kwargs):
        data, metadata = super()._repr_mimebundle_(**kwargs)
        words = self.words()
        note = "To move the controls, run this cell in JupyterLab."
        fallback = {"text/plain": f"{words}\n({note})", "text/html": f"<p>{html.escape(words)}</p><p>({note})</p>"}
        return {**data, **fallback}, metadata
