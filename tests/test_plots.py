"""Figures: no figure without words, colours that hold in grey and on white, curves that do not lose a record."""

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from course_lib import plots


def luminance(rgb):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb[:3]]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def test_the_colour_map_rises_evenly_in_grey():
    greys = [luminance(matplotlib.colormaps[plots.CMAP](value)) ** (1 / 2.2) for value in np.linspace(0, 1, 65)]
    steps = np.diff(greys)
    assert (steps > 0).all() and steps.max() < 4 * steps.mean()


@pytest.mark.parametrize("color", plots.COLORS)
def test_line_colours_stand_out_on_white(color):
    assert 1.05 / (luminance(to_rgb(color)) + 0.05) >= 3


def test_numbers_in_cells_stand_out_from_their_cell():
    fig = plots.plot_weights(np.linspace(0, 1, 10)[None])
    for text in fig.axes[0].texts:
        cell = luminance(matplotlib.colormaps[plots.CMAP](float(text.get_text())))
        ink = luminance(to_rgb(text.get_color()))
        assert (max(cell, ink) + 0.05) / (min(cell, ink) + 0.05) >= 4.4


def test_a_figure_without_words_is_refused():
    with pytest.raises(ValueError, match="needs alt"):
        plots.show(plots.figure()[0], " ")


def test_show_gives_an_image_with_its_text(monkeypatch):
    shown = []
    monkeypatch.setattr(plots, "display", lambda data, raw: shown.append(data))
    plots.show(plots.plot_lines([1, 2], {"a": [1, 2]}, "x", "y"), 'falls "fast" & far')
    assert 'alt="falls &quot;fast&quot; &amp; far"' in shown[0]["text/html"]
    assert shown[0]["text/plain"] == '[figure: falls "fast" & far]'


def test_names_of_lines_do_not_touch():
    lines = {f"line {i}": [0, 1 + i / 1000] for i in range(5)}
    heights = sorted(text.xy[1] for text in plots.plot_lines([0, 1], lines, "x", "y").axes[0].texts)
    assert min(np.diff(heights)) > 0.05


def test_the_spread_shows_each_seed_and_the_mean():
    fig = plots.plot_spread({"a": [0.1, 0.3], "b": [0.5, 0.5]}, "share", chance=0.25)
    points = np.hstack([line.get_xdata() for line in fig.axes[0].lines if line.get_marker() == "o"])
    assert sorted(points.tolist()) == pytest.approx([0.1, 0.3, 0.5, 0.5])
    assert {"0.20", "0.50", "chance"} <= {text.get_text() for text in fig.axes[0].texts}


def test_a_distribution_peaks_where_its_values_lie_and_every_outline_has_the_same_area():
    values = {"small": 10 ** (-3 + 0.1 * np.random.default_rng(0).standard_normal(500)), "large": [10, 20, 30, 40]}
    ax = plots.plot_distributions(values, "error").axes[0]
    small, large = (shape.get_paths()[0].vertices for shape in ax.collections)
    assert small[small[:, 1].argmax(), 0] == pytest.approx(1e-3, rel=0.1) and 10 < large[large[:, 1].argmax(), 0] < 40
    area = [abs(np.trapezoid(outline[:, 1], np.log10(outline[:, 0]))) for outline in (small, large)]
    assert area == pytest.approx([1, 1], rel=0.05)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["small", "large"]
    assert len({str(shape.get_linestyle()) for shape in ax.collections}) == 2  # told apart without colour


def records(n):
    for step in range(1, n + 1):
        yield {"step": step, "steps": n, "loss": 1 / step}


def test_live_returns_every_record_and_says_what_happened(capsys):
    kept = plots.live(records(30), "small model")
    assert [record["step"] for record in kept] == list(range(1, 31))
    assert capsys.readouterr().out.startswith("small model: step 30 of 30, 1.000 at first, ")


def stopped_at(step):
    yield from records(step)
    raise KeyboardInterrupt


def test_an_interrupted_live_shows_how_far_it_came_and_stops_the_cell(capsys):
    with pytest.raises(KeyboardInterrupt, match="you stopped the training. loss: step 7 of 7") as stopped:
        plots.live(stopped_at(7), every=100)
    assert capsys.readouterr().out.startswith("loss: step 7 of 7")
    assert stopped.value.__suppress_context__  # no page of torch's own lines


def test_a_live_that_is_stopped_while_it_draws_ends_the_training(monkeypatch):
    def training():
        try:
            yield from records(9)
        finally:
            ended.append(True)

    def draw(kept, done=False):
        if not done:
            raise KeyboardInterrupt

    ended, given = [], training()
    monkeypatch.setattr(plots, "_terminal_drawer", lambda label: draw)
    with pytest.raises(KeyboardInterrupt):
        plots.live(given, every=0)
    assert ended == [True]


def test_live_of_nothing(capsys):
    assert plots.live(iter([])) == []
    assert "no steps" in capsys.readouterr().out


def test_live_in_a_notebook_draws_through_one_handle_and_not_for_every_record(monkeypatch):
    class Handle:
        def __init__(self):
            self.drawn = []

        def update(self, data, raw):
            self.drawn.append(data)

    handle, opened = Handle(), []
    monkeypatch.setattr(plots, "get_ipython", lambda: type("Shell", (), {"kernel": True})())
    monkeypatch.setattr(plots, "display", lambda *args, **options: opened.append(options) or handle)
    plots.live(records(1000), "loss")
    assert len(opened) == 1 and 1 <= len(handle.drawn) < 50
    assert 'role="img" aria-label="loss: step 1000 of 1000' in handle.drawn[-1]["text/html"]


def test_a_map_keeps_its_limits_and_says_what_colours_mean():
    fig = plots.plot_map([[0.0, 0.5], [0.25, -0.5]], "position", "dimension", "value", limits=(-2, 2))
    ax, bar = fig.axes
    assert ax.images[0].get_clim() == (-2, 2) and bar.get_ylabel() == "value"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("dimension", "position")
    assert ax.yaxis_inverted()  # row 0 on top
