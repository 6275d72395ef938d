"""Every explorer on small models, without a front end: each control at both ends and the middle, wrong values, words."""

from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
import torch

from course_lib import plots
from course_lib.widgets import explore_heads
from course_lib.widgets.view import colour_table


def ends_and_middle(limit):
    """The first, the middle and the last value of a control."""
    if isinstance(limit, dict):
        steps = round((limit["max"] - limit["min"]) / limit["step"])
        return [limit["min"] + limit["step"] * i for i in (0, steps // 2, steps)]
    return [limit[0], limit[len(limit) // 2], limit[-1]]


def sweep(view):
    """Move every control to both ends and the middle; each time the view must answer without an error."""
    for name, limit in view.limits.items():
        if isinstance(limit, dict) and "length" in limit:
            continue
        start = getattr(view, name)
        for value in ends_and_middle(limit):
            setattr(view, name, value)
            assert view.error == "", (name, value)
            assert getattr(view, name) == value
            assert view.words()
        setattr(view, name, start)


def as_array(sent, *shape):
    return np.frombuffer(sent, dtype=np.float32).reshape(shape)


def luminance(colours):
    """WCAG relative luminance of uint8 (n, 3) colours, (n,)."""
    c = colours / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def test_the_colour_map_is_ordered_in_grey_and_reads_against_both_inks():
    colours = colour_table()
    grey = luminance(colours)
    assert (np.diff(grey[::3]) > 0).all() and grey[-1] - grey[0] > 0.6  # every third: 8 bits a channel round
    white, black = 1.05 / (grey + 0.05), (grey + 0.05) / 0.05
    assert np.maximum(white, black).min() >= 4.5


def test_a_rainbow_map_would_fail():
    assert (np.diff(luminance(colour_table_of("jet"))[::3]) < 0).any()


def colour_table_of(name):
    return np.round(255 * matplotlib.colormaps[name](np.linspace(0, 1, 256))[:, :3]).astype(np.uint8)


def test_widgets_and_figures_share_the_map():
    assert (colour_table() == colour_table_of(plots.CMAP)).all()


@pytest.fixture
def runs():
    """Four models of a made-up task, T = 5 positions, k = 2 asked for, 3 examples."""

    def run(d_model, n_heads):
        weights = torch.rand(3, n_heads, 5, generator=torch.Generator().manual_seed(d_model + n_heads)).softmax(-1)
        return SimpleNamespace(
            accuracy=d_model / 10, all_right=0.25, n_parameters=1000 * d_model, d_k=d_model // n_heads, weights=weights,
            asked=torch.tensor([[0, 3], [1, 2], [4, 0]]), model=SimpleNamespace(n_values=5),
        )  # fmt: skip

    return {(d, h): run(d, h) for d in (4, 8) for h in (1, 2)}


def test_explore_heads_moves_over_the_grid(runs):
    view = explore_heads(runs)
    assert view.limits == {"n_heads": [1, 2], "d_model": [4, 8], "example": [1, 2, 3]}
    sweep(view)
    view.n_heads, view.d_model = 2, 4
    assert "2 heads of d_k = 2: 40% of the answers right, with 4,000 parameters" in view.words()


def test_explore_heads_sends_every_map_once(runs):
    sent = explore_heads(runs).result
    assert sent["chance"] == 1 / 5
    by_size = {(m["d_model"], m["n_heads"]): m for m in sent["models"]}
    assert by_size.keys() == runs.keys()
    for size, run in runs.items():
        assert np.array_equal(as_array(by_size[size]["weights"], 3, size[1], 5), run.weights.numpy())
        assert by_size[size]["asked"] == run.asked.tolist()


@pytest.mark.parametrize("value", [3, 0, -1, True, "2", 2.0, None])
def test_a_wrong_value_is_answered_in_the_widget(runs, value):
    view = explore_heads(runs)
    view.n_heads = 2
    view.n_heads = value
    assert view.n_heads == 2
    assert view.error == f"n_heads must be one of 1, 2; got {value!r}."
    view.n_heads = 1
    assert view.error == ""


def test_explore_heads_refuses_a_grid_with_holes(runs):
    del runs[4, 2]
    with pytest.raises(ValueError, match=r"missing: \[\(4, 2\)\]"):
        explore_heads(runs)


def test_without_a_front_end_the_view_says_itself_in_words(runs):
    data, _ = explore_heads(runs)._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "of the answers right" in data["text/plain"] and "of the answers right" in data["text/html"]
