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


def misfit(limit, value):
    """What a control with this limit expects, if the value is not it; "" if it fits."""
    if isinstance(limit, list):
        fits = any(type(value) is type(choice) and value == choice for choice in limit)
        return "" if fits else "one of " + ", ".join(map(str, limit))
    if "length" in limit:
        fits = isinstance(value, str) and len(value) <= limit["length"]
        return "" if fits else f"a text of at most {limit['length']} characters"
    return "" if on_scale(limit, value) else "a number from {min} to {max} in steps of {step}".format(**limit)


def on_scale(limit, value):
    """Whether value is min, min + step, …, max."""
    kinds = int if isinstance(limit["step"], int) else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not limit["min"] <= value <= limit["max"]:
        return False
    steps = (value - limit["min"]) / limit["step"]
    return abs(steps - round(steps)) < 1e-6


def still_map(values, lowest, highest, alt, cell=18):
    """A heat map as an SVG text, for GitHub and other places without widgets; values (n_rows, n_cols)."""
    values = np.asarray(values, dtype=float)
    n_rows, n_cols = values.shape
    width, height = min(cell * n_cols, 420), min(cell * n_rows, 420)
    shades = np.clip(255 * (values - lowest) / (highest - lowest), 0, 255).astype(int)
    colours = ["#{:02x}{:02x}{:02x}".format(*colour) for colour in colour_table().tolist()]
    cells = "".join(
        f'<rect x="{j}" y="{i}" width="1.02" height="1.02" fill="{colours[shades[i, j]]}"/>'
        for i, j in np.ndindex(n_rows, n_cols)
    )
    return (
        f'<svg role="img" aria-label="{html.escape(alt, quote=True)}" width="{width}" height="{height}" '
        f'viewBox="0 0 {n_cols} {n_rows}" preserveAspectRatio="none">{cells}</svg>'
    )


class View(anywidget.AnyWidget):
    """Base of every explorer. A subclass names its controls, and gives `compute()` and `words()`.

    limits: for each control either the list of values it may take, or {"min": …, "max": …, "step": …}, or
    {"length": …} for a text. The browser builds its sliders from the same limits.
    """

    _css = source("family.css")
    in_browser = ()  # controls that the browser follows alone: moving them asks nothing of Python
    limits = traitlets.Dict().tag(sync=True)
    alone = traitlets.List().tag(sync=True)  # in_browser again, for a page that has no Python
    colours = traitlets.Bytes().tag(sync=True)
    result = traitlets.Dict().tag(sync=True)
    error = traitlets.Unicode("").tag(sync=True)

    def __init__(self, limits, **controls):
        super().__init__(
            limits=limits, alone=list(self.in_browser), colours=colour_table().tobytes(), **controls
        )
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

    def picture(self):
        """The view's main map for where no browser draws it: (values (n_rows, n_cols), lowest, highest), or None."""
        return None

    def problem(self, name, value):
        """Why this control cannot take this value, or "" when it can."""
        expected = misfit(self.limits[name], value) if name in self.limits else ""
        return f"{name} must be {expected}; got {value!r}." if expected else ""

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
        still = "" if self.picture() is None else still_map(*self.picture(), words)
        note = "To move the controls, run this cell in JupyterLab."
        page = f"{still}<p>{html.escape(words)}</p><p>({note})</p>"
        return {**data, "text/plain": f"{words}\n({note})", "text/html": page}, metadata
