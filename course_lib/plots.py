"""Arrays in, figures out: one style for every figure of the course, and learning curves that draw themselves.

Figures keep a white ground, which is legible in light and dark themes. They are `matplotlib.figure.Figure`, never
pyplot, since a widget may draw while a cell runs.
"""

import base64
import html
import io
import sys
import time

import matplotlib
import numpy as np
from IPython import get_ipython
from IPython.display import display
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

CMAP = "viridis"  # from dark to light in even steps: reads the same in grey and for colour-blind eyes
COLORS = ("#0072B2", "#D55E00", "#007A5A", "#8F4E8B", "#5A5A5A")  # each at least 3 : 1 on white
MARKERS = ("o", "s", "^", "D", "v")  # colour is never the only difference
STYLE = {
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 2,
    "figure.constrained_layout.use": True,
}


def figure(width=6.4, height=3.2, rows=1, columns=1, **options):
    """An empty figure in the course's style. Returns (Figure, axes); options go to Figure.subplots."""
    with matplotlib.rc_context(STYLE):
        fig = Figure(figsize=(width, height))
        return fig, fig.subplots(rows, columns, **options)


def show(fig, alt):
    """Display a figure with its text alternative: one or two sentences that state what is to be seen in it."""
    if not alt or not alt.strip():
        raise ValueError("show needs alt: a sentence that says what the figure shows")
    buffer = io.BytesIO()
    fig.savefig(buffer, format="png", dpi=110, facecolor="white")
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    image = f'<img style="max-width:100%" alt="{html.escape(alt, quote=True)}" src="data:image/png;base64,{data}">'
    display({"text/html": image, "text/plain": f"[figure: {alt}]"}, raw=True)


def plot_weights(weights, queries=None, keys=None, titles=None, ylabel="query", xlabel="key"):
    """Heat maps of numbers between 0 and 1, such as attention weights: one map per head, on one colour scale.

    weights (T, S) or (h, T, S); queries, keys: T and S labels; titles: one per map. Returns a Figure.
    Up to 12 keys, each cell also carries its number.
    """
    weights = np.asarray(weights, dtype=float)
    weights = weights[None] if weights.ndim == 2 else weights
    h, T, S = weights.shape
    queries, keys = ([str(label) for label in labels] for labels in (queries or range(T), keys or range(S)))
    tilt = 40 if max(map(len, keys)) > 3 else 0
    fig, axes = figure(1.2 + h * max(1.8, 0.62 * S), 1.2 + max(1.4, 0.5 * T), 1, h, squeeze=False)
    for head, (ax, map_) in enumerate(zip(axes[0], weights, strict=True)):
        ax.imshow(map_, cmap=CMAP, vmin=0, vmax=1, aspect="auto")
        ax.set_xticks(range(S), keys, rotation=tilt, ha="right" if tilt else "center", rotation_mode="anchor")
        ax.set_yticks(range(T), queries if head == 0 else [""] * T)
        ax.set_xlabel(xlabel)
        ax.set_title(titles[head] if titles else "")
        for row, column in np.ndindex(T, S) if S <= 12 else ():
            value = map_[row, column]
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=ink_on(value))
    axes[0, 0].set_ylabel(ylabel)
    return fig


def plot_map(values, ylabel, xlabel, label, limits=(-1, 1)):
    """One heat map for a table too large to read number by number: values (rows, columns), row 0 on top.

    label: what the colours mean, beside the colour bar; limits: the values at its ends. Returns a Figure.
    """
    fig, ax = figure(6.4, 4.0)
    low, high = limits
    image = ax.imshow(np.asarray(values), cmap=CMAP, vmin=low, vmax=high, aspect="auto", interpolation="nearest")
    ax.set(xlabel=xlabel, ylabel=ylabel)
    bar = fig.colorbar(image, ax=ax)
    bar.set_label(label)
    bar.outline.set_visible(False)
    return fig


def ink_on(value):
    """Black or white, whichever stands out more from the colour map at value (0 to 1)."""
    rgb = np.array(matplotlib.colormaps[CMAP](float(value))[:3])
    luminance = ((rgb + 0.055) / 1.055) ** 2.4 @ [0.2126, 0.7152, 0.0722]  # WCAG 2.2, relative luminance
    return "black" if luminance > 0.18 else "white"


def plot_slices(x, splits):
    """Which numbers each head gets: x (T, d_model) on the left, then one panel per split (h, T, d_k), a head a colour.

    splits: {label: array}. The first split says which head a column belongs to, and so its colour. Returns a Figure.
    """
    x = np.asarray(x)
    right = np.asarray(next(iter(splits.values())))
    head_of = {float(number): head for head, slice_ in enumerate(right) for number in slice_.ravel()}
    height = len(right) * (x.shape[0] + 0.35)
    fig, axes = figure(3.0 * (1 + len(splits)), 0.4 + 0.4 * height, 1, 1 + len(splits))
    for ax, (label, block) in zip(axes, {"x": x[None], **splits}.items(), strict=True):
        row = 0 if len(block) > 1 else (height - x.shape[0]) / 2
        for head, slice_ in enumerate(np.asarray(block)):
            if len(block) > 1:
                ax.text(-0.15, row + len(slice_) / 2, f"head {head + 1}", ha="right", va="center")
            for numbers in slice_:
                for column, number in enumerate(numbers):
                    color = COLORS[head_of[float(number)]]
                    ax.add_patch(Rectangle((column, row), 0.94, 0.9, facecolor=color))
                    ax.text(column + 0.47, row + 0.45, f"{number:.1f}", color="white", ha="center", va="center")
                row += 1
            row += 0.35
        ax.set(xlim=(-1.8, x.shape[1] + 0.2), ylim=(height, -0.2), title=label)
        ax.set_axis_off()
    return fig


def plot_spread(groups, xlabel, chance=None, xlim=(0, 1.02), chance_label="chance"):
    """One row per group, one dot per seed, and a bar at their mean. groups: {label: values}.

    chance: where to draw a dashed line, named chance_label. Returns a Figure.
    """
    fig, ax = figure(6.8, 0.9 + 0.42 * len(groups))
    for row, values in enumerate(groups.values()):
        ax.plot(values, [row] * len(values), "o", color=COLORS[0], markersize=8, alpha=0.75, zorder=3)
        mean = float(np.mean(list(values)))
        ax.plot([mean, mean], [row - 0.3, row + 0.3], color=COLORS[1], linewidth=3)
        to_line = np.inf if chance is None or chance < max(values) else chance - max(values)
        beside = (12, "left") if mean < 0.85 * xlim[1] and to_line > 0.2 * xlim[1] else (-12, "right")
        ax.annotate(f"{mean:.2f}", (max([*values, mean]) if beside[0] > 0 else min([*values, mean]), row),
                    (beside[0], 0), textcoords="offset points", ha=beside[1], va="center")  # fmt: skip
    if chance is not None:
        ax.axvline(chance, color=COLORS[4], linestyle="--", linewidth=1)
        ax.annotate(
            chance_label, (chance, -0.62), (3, 0), textcoords="offset points", color=COLORS[4], annotation_clip=False
        )
    ax.set(xlim=xlim, ylim=(len(groups) - 0.5, -0.5), xlabel=xlabel)
    ax.set_yticks(range(len(groups)), list(groups))
    ax.tick_params(left=False)
    return fig


def plot_distributions(groups, xlabel):
    """How the values of each group are distributed, on a logarithmic axis. groups: {label: positive values}.

    Each group's outline has the same area and a line style of its own. Returns a Figure.
    """
    import seaborn  # here: it costs three CPU seconds, and the other figures do without

    fig, ax = figure(6.8, 2.6)
    for (label, values), color, style in zip(groups.items(), COLORS, ("-", "--", "-.", ":"), strict=False):
        values = np.asarray(values, dtype=float)
        seaborn.kdeplot(x=values, log_scale=True, fill=True, alpha=0.2, color=color, linestyle=style, linewidth=2, label=label, ax=ax)
    ax.set(xlabel=xlabel, ylabel="share of values", yticks=[])
    ax.legend(frameon=False)
    return fig


def plot_lines(x, lines, xlabel, ylabel, *, reference=None, logx=False, logy=False):
    """Lines with their names at their ends. lines: {label: (n,) or (seeds, n)}; several seeds become mean and range.

    reference: {label: y} draws dashed levels, such as chance. Returns a Figure.
    """
    fig, ax = figure(6.8, 3.4)
    for i, y in enumerate(lines.values()):
        y = np.atleast_2d(np.asarray(y, dtype=float))
        color = COLORS[i % len(COLORS)]
        marker = {"marker": MARKERS[i % len(MARKERS)], "markersize": 5, "markevery": max(1, len(x) // 16)}
        ax.plot(x, y.mean(0), color=color, **marker)
        ax.fill_between(x, y.min(0), y.max(0), color=color, alpha=0.2, linewidth=0)
    for label, level in (reference or {}).items():
        ax.axhline(level, color=COLORS[4], linestyle="--", linewidth=1)
        ax.annotate(label, (x[0], level), (0, 3), textcoords="offset points", color=COLORS[4])
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.set_xscale("log" if logx else "linear")
    ax.set_yscale("log" if logy else "linear")
    if logx and len(x) <= 8:  # few enough to name each
        ax.set_xticks(list(x), [f"{value:,}" for value in x])
        ax.minorticks_off()
    _name_lines(ax, lines)
    return fig


def plot_line_panels(x, panels, xlabel, *, logx=False, logy=()):
    """The same lines by several measures, side by side, with one legend above. Returns a Figure.

    panels: {ylabel: {label: (n,) or (seeds, n)}}; several seeds: mean and range; logy: ylabels with a log axis.
    """
    fig, axes = figure(4.4 * len(panels), 3.6, 1, len(panels), squeeze=False)
    for ax, (ylabel, lines) in zip(axes[0], panels.items(), strict=True):
        for i, (label, y) in enumerate(lines.items()):
            y = np.atleast_2d(np.asarray(y, dtype=float))
            ax.plot(x, y.mean(0), color=COLORS[i % len(COLORS)], marker=MARKERS[i % len(MARKERS)], label=label)
            ax.fill_between(x, y.min(0), y.max(0), color=COLORS[i % len(COLORS)], alpha=0.2, linewidth=0)
        ax.set(xlabel=xlabel, ylabel=ylabel, yscale="log" if ylabel in logy else "linear")
        if logx:
            ax.set_xscale("log")
            ax.set_xticks(list(x), [str(value) for value in x])
            ax.minorticks_off()
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    return fig


def _name_lines(ax, lines):
    """Write each line's name at its right end, moved up or down until no two names touch."""
    fig_height = ax.figure.get_size_inches()[1] * 72
    ends = [ax.lines[i].get_ydata()[-1] for i in range(len(lines))]
    to_axes = ax.transData + ax.transAxes.inverted()
    heights = [to_axes.transform((0, end))[1] for end in ends]
    lowest = -np.inf
    for i in np.argsort(heights):
        lowest = max(heights[i], lowest + 15 / (0.75 * fig_height))
        color = COLORS[i % len(COLORS)]
        ax.annotate(
            list(lines)[i], (1.01, lowest), xycoords="axes fraction", color=color, va="center", annotation_clip=False
        )


def live(records, label="loss", every=0.25):
    """Run a training and show its curve while it runs: `records = plots.live(train(…))`.

    records: an iterable of {"step", "steps", "loss", …}. Draws at most once in `every` seconds, through one display
    handle in a notebook, and as one line in a terminal. Returns the list of records. Interrupted, it draws how far
    the training came, and says so.
    """
    kept, drawn = [], time.monotonic()
    draw = _notebook_drawer(label) if getattr(get_ipython(), "kernel", None) else _terminal_drawer(label)
    try:
        for record in records:
            kept.append(record)
            if time.monotonic() - drawn > every:
                draw(kept)
                drawn = time.monotonic()
    except KeyboardInterrupt:
        if hasattr(records, "close"):
            records.close()  # stopped while drawing, the training would hold on to its threads and its mode
        draw(kept, done=True)
        raise KeyboardInterrupt(f"you stopped the training. {_in_words(kept, label)}") from None
    draw(kept, done=True)
    return kept


def _in_words(kept, label):
    if not kept:
        return f"{label}: no steps"
    last = np.mean([r["loss"] for r in kept[-20:]])
    of = f" of {kept[-1]['steps']}" if kept[-1].get("steps") else ""
    span = f"{kept[0]['loss']:.3f} at first, {last:.3f} over the last {len(kept[-20:])}"
    return f"{label}: step {kept[-1]['step']}{of}, {span}"


def _terminal_drawer(label):
    def draw(kept, done=False):
        start, end = ("\r", "" if not done else "\n") if sys.stdout.isatty() else ("", "\n")
        if done or sys.stdout.isatty():
            print(start + _in_words(kept, label), end=end, flush=True)

    return draw


def _notebook_drawer(label):
    handle = display({"text/plain": f"{label}: starting"}, raw=True, display_id=True)

    def draw(kept, done=False):
        words = html.escape(_in_words(kept, label))
        handle.update(
            {"text/html": f"<div>{_curve_svg(kept, words)}<div>{words}</div></div>", "text/plain": words}, raw=True
        )

    return draw


def _curve_svg(kept, words, width=420, height=90):
    """The losses so far as one polyline: cheap enough to redraw while training, and it follows the theme's colour."""
    losses = np.array([r["loss"] for r in kept] or [0.0])
    chunks = np.array_split(losses, min(len(losses), 120))
    y = np.array([chunk.mean() for chunk in chunks])
    low, high = min(0.0, float(np.min(y))), max(float(np.max(y)), 1e-9)
    share = len(kept) / (kept[-1].get("steps") or len(kept)) if kept else 0
    xs = 6 + np.linspace(0, (width - 12) * share, len(y))
    ys = 6 + (height - 12) * (1 - (y - low) / (high - low))
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(xs, ys, strict=True))
    return (
        f'<svg role="img" aria-label="{words}" width="{width}" height="{height}" style="max-width:100%">'
        f'<rect x="1" y="1" width="{width - 2}" height="{height - 2}" fill="none" stroke="currentColor" opacity=".35"/>'
        f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="2"/></svg>'
    )
