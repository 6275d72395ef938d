"""explore_positions: the fingerprint of each position, and which positions look alike."""

import inspect

import numpy as np

from course_lib.positions import sinusoidal_pe
from course_lib.widgets.view import Control, View, floats, source

WIDTHS = [2, 4, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128]
LENGTHS = [8, 16, 32, 64, 128, 256, 512]
BASES = [10, 100, 1000, 10000, 100000]
MAPPED = 64  # more rows than this cannot be told apart in a picture


class PositionsView(View):
    """Python fills the tables of every width once for a base; the browser compares their rows."""

    _esm = source("keys.js", "family.js", "controls.js", "colours.js", "heat_map.js", "curves.js", "positions.js")
    in_browser = ("d_model", "n_positions", "position")
    d_model = Control()
    n_positions = Control()
    position = Control()
    base = Control()

    def __init__(self, table):
        self.table = table
        self.has_base = "base" in inspect.signature(table).parameters
        limits = {
            "d_model": WIDTHS,
            "n_positions": LENGTHS,
            "position": {"min": 0, "max": LENGTHS[-1] - 1, "step": 1},
            **({"base": BASES} if self.has_base else {}),
        }
        start = {"base": 10000} if self.has_base else {}
        super().__init__(limits, d_model=32, n_positions=64, position=0, **start)

    def compute(self):
        options = {"base": float(self.base)} if self.has_base else {}
        self.tables = {d: np.asarray(self.table(LENGTHS[-1], d, **options), dtype=np.float64) for d in WIDTHS}
        for d, table in self.tables.items():
            if table.shape != (LENGTHS[-1], d):
                wanted = f"the table of {LENGTHS[-1]} positions × {d} dimensions"
                raise ValueError(f"{wanted} came with shape {table.shape}")
        return {"mapped": MAPPED, "tables": [floats(table) for table in self.tables.values()]}

    def picture(self):
        return self.tables[self.d_model][: min(self.n_positions, MAPPED)], -1, 1

    def words(self):
        n, p = self.n_positions, min(self.position, self.n_positions - 1)
        table = self.tables[self.d_model][:n]
        q, distance = nearest(table, p)
        checked = min(n, MAPPED)
        share = np.mean([abs(nearest(table, i)[0] - i) == 1 for i in range(checked)])
        return (
            f"d_model = {self.d_model}, {n} positions: the position most like {p} is {q}, at distance {distance:.3f}. "
            f"Of the first {checked} positions, {share:.0%} have a next-door position as their most similar one."
        )


def nearest(table, p):
    """The position whose fingerprint is nearest to that of p, and its distance; table (n, d_model)."""
    distance = np.linalg.norm(table - table[p], axis=1)
    distance[p] = np.inf
    return int(distance.argmin()), float(distance.min())


def explore_positions(table=sinusoidal_pe):
    """Move d_model, the number of positions and the base; see fingerprints, similarities and nearest neighbours.

    table(n_positions, d_model) -> (n_positions, d_model) gives the encodings, by default the course's own; if it takes
    `base` as well, there is a control for it. Returns a widget with the traits d_model, n_positions, position and base.
    """
    return PositionsView(table)
