"""Exercise: self-attention with several heads, mixed by w_o."""

import functools

import torch

from course_lib.attention import multi_head_attention as reference
from course_lib.exercises.exercise import Example, Exercise, Finding, Probe
from course_lib.exercises.multi_head_slips import ANSWERS, ATTENTION, HEADS, LOOK, MASKS, PROJECTIONS
from course_lib.exercises.multi_head_stages import multi_head_stages
from course_lib.exercises.scaled_dot_product_attention import random_mask

NO_MASK, MASK = "no mask is given", "a mask is given"


def matrices(d_model, seed, n=4, dtype=torch.float32):
    """n random (d_model, d_model), of a size that keeps scores in the ones."""
    generator = torch.Generator().manual_seed(seed)
    drawn = (torch.randn(d_model, d_model, generator=generator, dtype=torch.float64) * 1.6 / d_model**0.5 for _ in range(n))
    return tuple(w.to(dtype) for w in drawn)


def tokens(B, T, d_model, seed, size=1.0, dtype=torch.float32):
    """Random (B, T, d_model)."""
    return (torch.randn(B, T, d_model, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * size).to(dtype)


def _probe(B, T, d_model, n_heads, seed, *facts, mask=None, size=1.0, dtype=torch.float32, rule="values"):
    args = (tokens(B, T, d_model, seed, size, dtype), *matrices(d_model, seed + 1, dtype=dtype), n_heads)
    return Probe(args if mask is None else (*args, mask), (NO_MASK if mask is None else MASK, *facts), rule)


PROBES = (
    _probe(2, 5, 12, 3, 1, "there are several heads"),
    _probe(2, 5, 12, 3, 4, "there are several heads", mask=random_mask(5, 5, seed=1)),
    _probe(2, 4, 8, 1, 7, "there is one head"),
    _probe(3, 6, 10, 5, 10, "there are several heads", mask=random_mask(3, 1, 6, 6, seed=2)),
    _probe(2, 5, 12, 4, 13, "there are several heads", mask=random_mask(2, 4, 5, 5, seed=3)),
    _probe(3, 4, 6, 3, 37, "there are several heads", mask=random_mask(3, 3, 4, 4, seed=7)),
    _probe(2, 4, 4, 2, 16, "there are several heads", "n_heads and d_k are equal"),
    _probe(4, 4, 16, 4, 19, "there are several heads", "all sizes are equal", mask=random_mask(4, 4, seed=4)),
    _probe(1, 6, 6, 2, 22, "there are several heads", "the batch is one sequence"),
    _probe(2, 5, 12, 3, 25, "there are several heads", "the input is float64", dtype=torch.float64),
    _probe(2, 5, 12, 3, 28, "there are several heads", "scores are large", mask=random_mask(5, 5, seed=5), size=3.0),
    _probe(2, 5, 12, 3, 31, "there are several heads", "scores reach ±200", size=10.0, rule="finite"),
    _probe(2, 3, 5, 5, 34, "there are several heads", "each head has one feature"),
)


def stages(x, w_q, w_k, w_v, w_o, n_heads, mask=None, **knobs):
    """`multi_head_stages` on one sequence."""
    return multi_head_stages(x, x, w_q, w_k, w_v, w_o, n_heads, mask, **knobs)


# ---- measurements ------------------------------------------------------------


def _plain(seen):
    """(x, matrices, n_heads) of the first probe without a mask that was answered wrongly, with a result of the right shape."""
    for probe, got, want in seen.pairs:
        if len(probe.args) == 6 and isinstance(got, torch.Tensor) and got.shape == want.shape and probe.args[5] > 1:
            return probe.args
    return None


def does_not_use(seen):
    """A matrix, or the number of heads, that changes nothing."""
    args = _plain(seen)
    if args is None:
        return None
    base = seen.ask(*args)
    for n, name in enumerate(seen.exercise.parameters[1:5], start=1):
        other = seen.ask(*args[:n], args[n].flip(0) * 1.3, *args[n + 1 :])
        if other is not None and base is not None and torch.allclose(base, other, atol=1e-6):
            return Finding(f"ignores-{name}",
                           f"`{name}` has no influence on the result: it is never used.", "Look at the projections.")
    other = seen.ask(*args[:5], 1)
    if other is not None and torch.allclose(base, other, atol=1e-5):
        return Finding("one-head-only", "The result does not depend on n_heads: split the projections into heads.")
    return None


def looks_only_back(seen):
    """The first token's result does not change when a later token does."""
    args = _plain(seen)
    if args is None:
        return None
    x = args[0].clone()
    x[:, -1] += 1.0
    one, two = seen.ask(*args), seen.ask(x, *args[1:])
    if one is not None and two is not None and torch.allclose(one[:, 0], two[:, 0], atol=1e-6):
        return Finding("last-token-unseen",
                       "Without a mask, the first token's result must depend on the last token; yours does not.")
    return None


def without_output_matrix(seen):
    """What stands before w_o: with the identity as w_o, is the answer right?"""
    args = _plain(seen)
    if args is None:
        return None
    args = (*args[:4], torch.eye(args[0].shape[-1], dtype=args[0].dtype), args[5])
    got, want = seen.ask(*args), seen.exercise.reference(*args)
    if got is not None and torch.allclose(got, want, atol=2e-4):
        return Finding("output-projection",
                       "All is right up to w_o: with the identity as w_o your result is right.",
                       f"Look at {LOOK['output']}.")
    return None


def one_head_is_right(seen):
    """Right for one head, wrong for several."""
    ones = [i for i in seen.valid if seen.probes[i].args[seen.exercise.parameters.index("n_heads")] == 1]
    if seen.wrong and ones and not set(ones) & set(seen.wrong):
        says = "With one head all is right, with several it is not: something goes wrong in splitting, scaling or merging."
        return Finding("wrong-with-several-heads", says, f"Look at {LOOK['cut']}, and at {LOOK['join']}.")
    return None


@functools.cache
def _batch_mask():
    """(B, T, T) with B = h, where a missing head axis goes unnoticed by the shapes."""
    return (tokens(3, 4, 6, 40), *matrices(6, 41), 3, random_mask(3, 4, 4, seed=6))


def mask_per_sequence(seen):
    """Remark: a (B, T, T) mask, one per sequence, needs a head axis."""
    answer = seen.ask(*_batch_mask())
    if answer is None:
        return "It does not take a (B, T, T) mask, one per sequence; the library inserts the head axis."
    if answer.shape == _batch_mask()[0].shape and torch.allclose(answer, reference(*_batch_mask()), atol=2e-4):
        return None
    return "A (B, T, T) mask, one per sequence, is lined up with the heads here; the library inserts a head axis."


_HAND = torch.tensor([[[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 2.0], [1.0, 1.0, 0.0, 0.0]]])
_TURN = torch.tensor([[0.0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]])
EXERCISE = Exercise(
    name="multi_head_attention",
    reference=reference,
    parameters=("x", "w_q", "w_k", "w_v", "w_o", "n_heads", "mask"),
    parts=("result",),
    probes=PROBES,
    examples=(
        Example("Three tokens, d_model = 4, two heads, w_q = w_k = w_v = identity, w_o moves the features on by one:",
                (_HAND, torch.eye(4), torch.eye(4), torch.eye(4), _TURN, 2)),
    ),
    hints=(
        "You have all the parts: project, split, attend, merge, project. Which of them has to happen for each head?",
        "q, k and v are x times a whole matrix each, and only then split into heads. After attention the heads are "
        "merged, and the last matrix mixes them.",
        "q = split_heads(x @ w_q, n_heads), the same for k and v; heads, _ = scaled_dot_product_attention(q, k, v, "
        "…); then merge_heads and w_o. A (B, T, T) mask needs mask[:, None].",
    ),
    variant=stages,
    slips=(*PROJECTIONS, *HEADS, *ATTENTION, *MASKS, *ANSWERS),
    measures=(does_not_use, looks_only_back, without_output_matrix, one_head_is_right),
    remarks=(mask_per_sequence,),
    look=LOOK,
    basic=NO_MASK,
    chance="Dropout, where it is wanted, is switched on by the module around this function, and only in training.",
)  # fmt: skip
