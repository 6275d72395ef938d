"""explore_heads: two sliders, head count and d_model, over a grid of trained models."""

import numpy as np

from course_lib.widgets.view import Control, View, floats, source


class HeadsView(View):
    """Where each head of a trained model looks, beside what that model gets right. Drawn wholly in the browser."""

    _esm = source("keys.js", "family.js", "controls.js", "colours.js", "heat_map.js", "heads.js")
    _css = source("family.css", "heads.css")
    in_browser = ("n_heads", "d_model", "example")
    n_heads = Control()
    d_model = Control()
    example = Control()

    def __init__(self, models, chance=None):
        self.models, self.chance = models, chance
        widths, heads = sorted({d for d, _ in models}), sorted({h for _, h in models})
        missing = [(d, h) for d in widths for h in heads if (d, h) not in models]
        if missing or not models:
            raise ValueError(
                f"models needs one model for each (d_model, n_heads) of the grid; missing: {missing or 'all'}"
            )
        examples = list(range(1, len(next(iter(models.values())).asked) + 1))
        limits = {"n_heads": heads, "d_model": widths, "example": examples}
        super().__init__(limits, n_heads=heads[0], d_model=widths[-1], example=1)

    def compute(self):
        return {"chance": self.chance, "models": [self._sent(*key) for key in sorted(self.models)]}

    def _sent(self, d_model, n_heads):
        run = self.models[d_model, n_heads]
        weights = np.asarray(run.weights)  # (n_examples, h, T)
        return {
            "d_model": int(d_model),
            "n_heads": int(n_heads),
            "d_k": int(run.d_k),
            "T": weights.shape[-1],
            "accuracy": float(run.accuracy),
            "all_right": float(run.all_right),
            "n_parameters": int(run.n_parameters),
            "asked": np.asarray(run.asked).tolist(),
            "weights": floats(weights),
        }

    def picture(self):
        return np.asarray(self.models[self.d_model, self.n_heads].weights)[self.example - 1], 0, 1

    def words(self):
        run = self.models[self.d_model, self.n_heads]
        weights, asked = np.asarray(run.weights)[self.example - 1], np.asarray(run.asked)[self.example - 1]
        found = sorted(set(weights.argmax(-1).tolist()) & set(asked.tolist()))
        return (
            f"d_model = {self.d_model} split into {self.n_heads} head{'s' * (self.n_heads > 1)} of d_k = {run.d_k}: "
            f"{run.accuracy:.0%} of the answers right, with {run.n_parameters:,} parameters. "
            f"Asked for positions {', '.join(map(str, sorted(asked.tolist())))}; a head looks most at "
            f"{', '.join(map(str, found)) or 'none of them'}."
        )


def explore_heads(models, chance=None):
    """Move head count and d_model over trained models, and see accuracy and attention change together.

    models: {(d_model, n_heads): run}, a full grid. A run has accuracy (per slot, 0–1), all_right (0–1),
    n_parameters, d_k, weights (n_examples, h, T), one row of attention per head, and asked (n_examples, k), the
    positions asked for.
    chance: the accuracy of guessing, drawn as a mark; by default 1 / n_values of the runs' models.
    Returns a widget with the traits n_heads, d_model and example (from 1). Raises ValueError if the grid has holes.
    """
    return HeadsView(models, _guessing(models) if chance is None else chance)


def _guessing(models):
    """The accuracy of guessing among a task's values, where the runs tell how many there are."""
    values = {run.model.n_values for run in models.values() if hasattr(run, "model")}
    return 1 / values.pop() if len(values) == 1 else None
