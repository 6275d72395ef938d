"""Exercise: softmax(q kᵀ / √d_k) v, with a mask."""

import torch

from course_lib.attention import scaled_dot_product_attention as reference
from course_lib.exercises.attention_stages import attention_stages
from course_lib.exercises.exercise import Example, Exercise, Finding, Probe
from course_lib.exercises.scaled_dot_product_slips import LOOK, SLIPS


def _random(*shape, seed, size=1.0, dtype=torch.float32):
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * size).to(dtype)


def _qkv(lead, T, S, d_k, d_v, seed, size=1.5, dtype=torch.float32):
    q, k = _random(*lead, T, d_k, seed=seed, size=size, dtype=dtype), _random(*lead, S, d_k, seed=seed + 1, size=size, dtype=dtype)
    return q, k, _random(*lead, S, d_v, seed=seed + 2, dtype=dtype)


def random_mask(*shape, seed):
    """A mask in which every row and every column has something to see and something that is hidden."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        mask = torch.rand(*shape, generator=generator) < 0.6
        if all(m.any(axis).all() for m in (mask, ~mask) for axis in (-1, -2)):
            return mask


def _far_apart(lead, T, S, d_k, seed, reach):
    """q and k whose scores q·k / √d_k reach from -reach to reach, each row around another level."""
    q, k = _random(*lead, T, d_k, seed=seed, size=0.5), _random(*lead, S, d_k, seed=seed + 1, size=0.5)
    q[..., 0] = torch.linspace(-1, 1, T)
    k[..., 0] = 1.0
    q[..., 0] *= 0.9 * reach * d_k**0.5
    return q, k, _random(*lead, S, 4, seed=seed + 2)


NO_MASK, MASK = "no mask is given", "a mask is given"
PROBES = (
    Probe(_qkv((2,), 4, 5, 3, 7, 1), (NO_MASK, "the input has 3 axes", "T and S differ")),
    Probe((*_qkv((2,), 4, 5, 3, 7, 4), random_mask(4, 5, seed=1)), (MASK, "the input has 3 axes", "T and S differ")),
    Probe(_qkv((), 4, 6, 5, 3, 7), (NO_MASK, "the input has 2 axes", "T and S differ")),
    Probe(_qkv((2, 3), 5, 6, 4, 7, 10), (NO_MASK, "the input has 4 axes", "T and S differ")),
    Probe((*_qkv((2, 3), 5, 6, 4, 7, 13), random_mask(2, 1, 5, 6, seed=2)), (MASK, "the input has 4 axes",
          "T and S differ")),
    Probe(_qkv((1,), 4, 4, 4, 4, 16), (NO_MASK, "the input has 3 axes", "T, S and d_k are equal")),
    Probe((*_qkv((3,), 4, 4, 4, 4, 19), random_mask(3, 4, 4, seed=3)), (MASK, "the input has 3 axes",
          "T, S and d_k are equal")),
    Probe((*_qkv((2, 3), 4, 4, 4, 4, 22), random_mask(4, 4, seed=8)), (MASK, "the input has 4 axes",
          "T, S and d_k are equal")),
    Probe((*_far_apart((2,), 5, 6, 3, 25, 30.0), random_mask(5, 6, seed=4)), (MASK, "the input has 3 axes",
          "scores reach ±30")),
    Probe(_qkv((2,), 5, 4, 6, 3, 28, 3.0, torch.float64), (NO_MASK, "the input has 3 axes", "the input is float64")),
    Probe((*_qkv((2,), 5, 4, 6, 3, 31, 2.0, torch.float64), random_mask(2, 5, 4, seed=5)), (MASK, "the input is "
          "float64")),
    Probe(_far_apart((2,), 5, 6, 3, 34, 200.0), (NO_MASK, "the input has 3 axes", "scores reach ±200"), rule="finite"),
    Probe(_far_apart((2, 3), 4, 5, 4, 49, 200.0), (NO_MASK, "the input has 4 axes",
          "scores reach ±200"), rule="finite"),
    Probe((*_far_apart((3, 2), 4, 6, 5, 52, 30.0), random_mask(4, 6, seed=7)), (MASK, "the input has 4 axes",
          "scores reach ±30")),
    Probe(_qkv((3,), 1, 6, 2, 5, 37), (NO_MASK, "the input has 3 axes", "there is one query")),
    Probe(_qkv((4,), 4, 4, 4, 4, 40), (NO_MASK, "the input has 3 axes", "B, T, S and d_k are equal")),
)


def _level(level):
    """q and k whose scores all lie around `level`."""
    q, k, v = _qkv((2,), 5, 4, 3, 4, 43, size=0.3)
    q[..., 0], k[..., 0] = level * 3**0.5, 1.0
    return q, k, v


SEPARATORS = (
    Probe((*_qkv((2,), 4, 4, 3, 5, 46), torch.ones(4, 4, dtype=torch.bool).tril())),
    Probe(_level(150.0)),
)


# ---- measurements ------------------------------------------------------------


def _weights(seen):
    """(probe, weights) of the wrong answers that have weights of the right shape."""
    return [(p, got[1]) for p, got, want in seen.pairs
            if isinstance(got, tuple | list) and len(got) == 2 and isinstance(got[1], torch.Tensor) and got[1].shape == want[1].shape]  # fmt: skip


def output_is_not_the_average(seen):
    """Right weights, wrong output."""
    for _, got, want in seen.pairs:
        pair = isinstance(got, tuple | list) and len(got) == 2 and isinstance(got[1], torch.Tensor)
        if not pair or got[1].shape != want[1].shape or not torch.allclose(got[1], want[1], atol=2e-4):
            return None
    says = "The weights are right, the output is not: it is not weights @ v."
    return Finding("output-is-not-the-average",
                   says, "Look at the product with the values, and at what happens to it "
                       "after.") if seen.pairs else None


def hidden_keys_get_weight(seen):
    """Weight on a key that the mask hides."""
    for probe, weights in _weights(seen):
        if len(probe.args) == 4 and weights.isfinite().all():
            leak = weights.masked_fill(probe.args[3], 0.0).abs().max().item()
            if leak > 1e-3:
                says = f"Hidden keys still get weight, up to {leak:.2g}; a hidden key must get 0."
                return Finding("hidden-keys-get-weight", says, f"Look at {LOOK['mask_how']}.")
    return None


def keys_hidden_without_a_mask(seen):
    """Weights of 0 where nothing is hidden and no score is large."""
    for probe, weights in _weights(seen):
        if len(probe.args) == 3 and "scores reach ±200" not in probe.facts:
            hidden = (weights == 0).nonzero()
            if len(hidden):
                says = f"Without a mask every query must see every key; yours gives query {int(hidden[0, -2])} no weight on key {int(hidden[0, -1])}."
                return Finding("keys-hidden-without-a-mask", says, f"Look at {LOOK['causal']}.")
    return None


def rows_do_not_sum_to_one(seen):
    """Sums of the weights along each axis."""
    for _, weights in _weights(seen):
        sums = weights.sum(-1)
        if weights.isfinite().all() and not torch.allclose(sums, torch.ones_like(sums), atol=1e-3):
            other = "; along the queries they do" if torch.allclose(weights.sum(-2), torch.ones_like(weights.sum(-2)), atol=1e-3) else ""
            says = f"The weights of one query sum to {sums.flatten()[0]:.3g}, not to 1{other}."
            return Finding("rows-do-not-sum-to-one", says, f"Look at {LOOK['softmax']}.")
    return None


def scores_are_off(seen):
    """Weights that are a softmax of something: of scores times a factor, or plus something."""
    for probe, weights in _weights(seen):
        if len(probe.args) == 3 and (weights > 0).all() and weights.shape[-2] > 1:
            q, k, _ = probe.args
            mine, right = weights.log(), q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
            mine, right = mine - mine.mean(-1, keepdim=True), right - right.mean(-1, keepdim=True)
            factor = ((mine * right).sum() / (right * right).sum()).item()
            if (mine - factor * right).abs().max() < 1e-2 and abs(factor - 1) > 1e-3:
                return Finding("scale-wrong",
                    f"Your scores are the right ones times {factor:.3g}.", f"Look at {LOOK['scale']}.")
            return Finding("scores-wrong",
                           "The rows sum to 1, but the scores behind them are not q·k / √d_k.",
                           f"Look at {LOOK['pair']}.")
    return None


def empty_rows(seen):
    """Remark: what comes out for a query that may attend to nothing."""
    q, k, v = _qkv((), 3, 4, 2, 2, 50)
    mask = torch.ones(3, 4, dtype=torch.bool)
    mask[1] = False
    answer = seen.ask(q, k, v, mask)
    if answer is None:
        return "With a query that may attend to nothing it raises."
    if not torch.isfinite(answer[0]).all():
        return "A query that may attend to nothing gets NaN here; the library gives it weights and output 0."
    if answer[1][1].abs().max() > 1e-6:
        return "A query that may attend to nothing spreads its weight over hidden keys here; the library gives it weights 0."
    return None


def half_precision(seen):
    """Remark: a sentinel that does not fit into float16."""
    q, k, v = _qkv((), 3, 4, 2, 2, 53, dtype=torch.float16)
    answer = seen.ask(q, k, v, random_mask(3, 4, seed=6))
    if answer is None:
        return "It stops with an error in float16 with a mask (a sentinel such as -1e9 does not fit; −∞ and torch.finfo(dtype).min do)."
    return None if torch.isfinite(answer[0].float()).all() else "In float16 with a mask it gives NaN or inf."


_TOKENS = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
EXERCISE = Exercise(
    name="scaled_dot_product_attention",
    reference=reference,
    parameters=("q", "k", "v", "mask"),
    parts=("output", "weights"),
    probes=PROBES,
    examples=(
        Example("Three tokens with d_k = 2, q = k = v = [[1, 0], [0, 2], [1, 1]], no mask:",
                (_TOKENS, _TOKENS, _TOKENS)),
        Example("Three tokens with d_k = 2, q = k = v = [[1, 0], [0, 2], [1, 1]], causal mask:",
                (_TOKENS, _TOKENS, _TOKENS, torch.ones(3, 3, dtype=torch.bool).tril())),
    ),
    hints=(
        "Four steps, each one line: scores, mask, softmax, average. Which shape does each of them have?",
        "The scores compare every query with every key, so they are (…, T, S): q times k with its last two axes "
        "exchanged, divided by a number that depends on the last axis of q. Hidden scores must become so small that "
        "exp gives 0.",
        "scores = q @ k.transpose(-2, -1) / math.sqrt(…); scores.masked_fill(~mask, …) where there is a mask; a "
        "softmax over the last axis; then weights @ v. Return both the average and the weights.",
    ),
    variant=attention_stages,
    slips=SLIPS,
    separators=SEPARATORS,
    measures=(output_is_not_the_average, hidden_keys_get_weight, keys_hidden_without_a_mask, rows_do_not_sum_to_one, scores_are_off),
    remarks=(empty_rows, half_precision),
    look=LOOK,
    basic=NO_MASK,
    chance="Dropout, where it is wanted, is switched on by the module around this function, and only in training.",
)  # fmt: skip
