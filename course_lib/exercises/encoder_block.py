"""Exercise: put the four parts of an encoder block into the right order, with the norm before or after."""

import functools
from dataclasses import dataclass

import torch

from course_lib.blocks import encoder_block as reference
from course_lib.exercises.exercise import Example, Exercise, Finding, Probe, Slip

PRE, POST, DEFAULT = "norm_first=True", "norm_first=False", "norm_first is left out"


@dataclass(frozen=True)
class Part:
    """A part with fixed random weights. It keeps the dtype, and no two parts do the same to x (B, T, d_model)."""

    kind: str  # "attention", "feed-forward", "norm"
    d_model: int
    seed: int

    def __call__(self, x):
        w_1, w_2 = (w.to(x.dtype) for w in _weights(self.d_model, self.seed))
        if self.kind == "attention":
            return (x @ x.transpose(-2, -1) / self.d_model**0.5).softmax(-1) @ x @ w_1
        if self.kind == "feed-forward":
            return 2 * torch.relu(x @ w_1 + 0.5) @ w_2
        normed = torch.nn.functional.layer_norm(x, (self.d_model,))
        return normed * (1.2 + 0.4 * w_1[0]) + 0.3 * w_2[0]


@functools.cache
def _weights(d_model, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(2, d_model, d_model, generator=generator) / d_model**0.5


def parts(d_model, seed):
    """attention, feed_forward, norm_1, norm_2."""
    kinds = ("attention", "feed-forward", "norm", "norm")
    return tuple(Part(kind, d_model, 10 * seed + i) for i, kind in enumerate(kinds))


def _probe(B, T, d_model, seed, fact, *facts, dtype=torch.float32):
    x = torch.randn(B, T, d_model, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 1.5 + 0.5
    flag = {PRE: (True,), POST: (False,), DEFAULT: ()}[fact]
    return Probe((x.to(dtype), *parts(d_model, seed), *flag), (fact, *facts))


PROBES = (
    _probe(2, 5, 6, 1, PRE),
    _probe(2, 5, 6, 2, POST),
    _probe(3, 4, 8, 3, PRE),
    _probe(3, 4, 8, 4, POST),
    _probe(1, 3, 4, 5, DEFAULT),
    _probe(2, 3, 5, 6, PRE, "the input is float64", dtype=torch.float64),
    _probe(2, 3, 5, 7, POST, "the input is float64", dtype=torch.float64),
    _probe(4, 4, 4, 8, PRE, "B, T and d_model are equal"),
    _probe(4, 4, 4, 9, POST, "B, T and d_model are equal"),
    _probe(1, 1, 6, 10, PRE, "there is one token"),
)


def stages(
    x,
    attention,
    feed_forward,
    norm_1,
    norm_2,
    norm_first=True,
    *,
    flag="used",
    order="attention first",
    which="own",
    pre="x + part(norm(x))",
    post="norm(x + part(x))",
    residual_1=True,
    residual_2=True,
    joined="one after the other",
    norm_only="",
    end="",
    first_part="",
    second_part="",
):
    """Choose the parts, then do each half of the block: every decision has its knob."""
    norm_first = {"used": norm_first, "inverted": not norm_first, "always pre": True, "always post": False}[flag]
    if which != "own":
        norm_1, norm_2 = {
            "first twice": (norm_1, norm_1),
            "second twice": (norm_2, norm_2),
            "exchanged": (norm_2, norm_1),
        }[which]
    formula = pre if norm_first else post
    one, two = (attention, norm_1, residual_1), (feed_forward, norm_2, residual_2)
    if order == "feed-forward first":
        one, two = two, one
    elif order == "feed-forward first, norms in their places":
        one, two = (feed_forward, norm_1, residual_1), (attention, norm_2, residual_2)
    if first_part == "missing":
        one = None
    if second_part == "missing":
        two = None
    elif second_part == "attention again":
        two = (attention, norm_2, residual_2)
    return _end(end, _join(joined, x, one, two, formula, norm_first, norm_only), x, norm_1, norm_2)


def _join(joined, x, one, two, formula, norm_first, norm_only):
    """Both halves, one after the other or in some mistaken way."""
    if joined == "side by side":
        return _half(x, one, formula) + _half(x, two, formula) - x
    if joined == "one residual around both":
        (attention, norm_1, _), (feed_forward, norm_2, _) = one, two
        if norm_first:
            return x + feed_forward(norm_2(attention(norm_1(x))))
        return norm_2(x + feed_forward(norm_1(attention(x))))
    if joined == "first residual for the second sum":
        y = _half(x, one, formula)
        feed_forward, norm_2, _ = two
        return x + feed_forward(norm_2(y)) if norm_first else norm_2(x + feed_forward(y))
    if joined == "second half reads x":
        feed_forward, norm_2, _ = two
        y = _half(x, one, formula)
        return y + feed_forward(norm_2(x)) if norm_first else norm_2(y + feed_forward(x))
    y = x if one is None else _half(x, one, "x + part(x)" if norm_only == "second" else formula)
    return y if two is None else _half(y, two, "x + part(x)" if norm_only == "first" else formula)


def _half(x, half, formula):
    """One sublayer with its norm and its residual connection."""
    part, norm, residual = half
    kept = x if residual else torch.zeros_like(x)
    normed = norm(x)
    return {
        "x + part(norm(x))": lambda: kept + part(normed),
        "norm(x + part(x))": lambda: norm(kept + part(x)),
        "norm(x) + part(norm(x))": lambda: (normed if residual else kept) + part(normed),
        "x + norm(part(x))": lambda: kept + norm(part(x)),
        "norm(x) + part(x)": lambda: (normed if residual else kept) + part(x),
        "norm(x + part(norm(x)))": lambda: norm(kept + part(normed)),
        "x + part(x)": lambda: kept + part(x),
        "x · part(norm(x))": lambda: x * part(normed),
        "x − part(norm(x))": lambda: x - part(normed),
    }[formula]()


def _end(end, y, x, norm_1, norm_2):
    return {"": lambda: y, "final norm": lambda: norm_2(y), "first norm": lambda: norm_1(y), "x added": lambda: y + x}[
        end
    ]()


STREAM = "The residual stream itself is never normed in pre-norm: only the copy that a part reads."
SUMS = "Each of the two parts has a residual connection of its own: its result is added to what it started from."
TWO = "There are two schemes: pre-norm, x + part(norm(x)), and post-norm, norm(x + part(x))."
SLIPS = (
    Slip(
        "always-pre-norm", "With norm_first=False you still do pre-norm: the flag is ignored.", {"flag": "always pre"}
    ),
    Slip(
        "always-post-norm", "With norm_first=True you still do post-norm: the flag is ignored.", {"flag": "always post"}
    ),
    Slip(
        "pre-and-post-exchanged",
        "Pre-norm and post-norm are exchanged: norm_first=True puts the norm before each part.",
        {"flag": "inverted"},
    ),
    Slip(
        "residuals-missing",
        f"Both residual connections are missing. {SUMS}",
        {"residual_1": False, "residual_2": False},
    ),
    Slip(
        "first-residual-missing", f"The residual connection around attention is missing. {SUMS}", {"residual_1": False}
    ),
    Slip(
        "second-residual-missing",
        f"The residual connection around the feed-forward part is missing. {SUMS}",
        {"residual_2": False},
    ),
    Slip(
        "one-residual-around-both",
        f"There is one residual connection around both parts. {SUMS}",
        {"joined": "one residual around both"},
    ),
    Slip(
        "first-residual-for-the-second-sum",
        f"The second sum starts from the block's input: what attention added is lost from the stream. {SUMS}",
        {"joined": "first residual for the second sum"},
    ),
    Slip(
        "normed-residual",
        f"In pre-norm you add the part's result to the normed copy. {STREAM}",
        {"pre": "norm(x) + part(norm(x))"},
    ),
    Slip("norm-of-the-sum-too", f"In pre-norm the sum is normed as well. {STREAM}", {"pre": "norm(x + part(norm(x)))"}),
    Slip(
        "norm-of-the-parts-result",
        "In pre-norm the norm stands after the part, on its result. It belongs before it, on what the part reads.",
        {"pre": "x + norm(part(x))"},
    ),
    Slip(
        "norm-on-the-residual-only",
        "In pre-norm the residual is normed, and the part reads x as it is: the norm is on the wrong side.",
        {"pre": "norm(x) + part(x)"},
    ),
    Slip(
        "norm-before-the-sum",
        "In post-norm only the part's result is normed. Post-norm norms the sum, x + part(x).",
        {"post": "x + norm(part(x))"},
    ),
    Slip(
        "norm-before-the-sum",
        "The norm is on the part's result alone, in both schemes. Pre-norm norms what a part reads, post-norm the sum.",
        {"pre": "x + norm(part(x))", "post": "x + norm(part(x))"},
    ),
    Slip(
        "post-norm-reads-normed",
        "In post-norm the part reads a normed copy too. In post-norm it reads x as it is.",
        {"post": "norm(x + part(norm(x)))"},
    ),
    Slip(
        "norm-on-both-sides",
        f"The norm stands before each part and after each sum. {TWO}",
        {"pre": "norm(x + part(norm(x)))", "post": "norm(x + part(norm(x)))"},
    ),
    Slip("norms-missing", "There is no norm in pre-norm.", {"pre": "x + part(x)"}),
    Slip("norms-missing", "There is no norm in post-norm.", {"post": "x + part(x)"}),
    Slip("norms-missing", f"Neither norm is used. {TWO}", {"pre": "x + part(x)", "post": "x + part(x)"}),
    Slip(
        "second-norm-missing",
        "norm_2 is not used: the feed-forward part needs a norm of its own.",
        {"norm_only": "first"},
    ),
    Slip("first-norm-missing", "norm_1 is not used: attention needs a norm of its own.", {"norm_only": "second"}),
    Slip(
        "norm-1-twice",
        "norm_1 is used twice. The second half has its own, norm_2, with its own gamma and beta.",
        {"which": "first twice"},
    ),
    Slip(
        "norm-2-twice",
        "norm_2 is used twice. The first half has its own, norm_1, with its own gamma and beta.",
        {"which": "second twice"},
    ),
    Slip("norms-exchanged", "norm_1 and norm_2 are exchanged.", {"which": "exchanged"}),
    Slip("feed-forward-first", "The feed-forward part comes before attention.", {"order": "feed-forward first"}),
    Slip(
        "feed-forward-first",
        "The feed-forward part comes before attention.",
        {"order": "feed-forward first, norms in their places"},
    ),
    Slip(
        "side-by-side",
        "Both parts read the block's input, and both results are added. The feed-forward part reads the stream after "
        "attention has written to it.",
        {"joined": "side by side"},
    ),
    Slip(
        "second-half-reads-the-input",
        "The feed-forward part reads the block's input, not the stream after attention.",
        {"joined": "second half reads x"},
    ),
    Slip("attention-missing", "The attention half is missing.", {"first_part": "missing"}),
    Slip("feed-forward-missing", "The feed-forward half is missing.", {"second_part": "missing"}),
    Slip(
        "attention-twice",
        "Attention is used twice, and the feed-forward part not at all.",
        {"second_part": "attention again"},
    ),
    Slip(
        "norm-at-the-end",
        "There is one norm more at the end. In a pre-norm model it comes once, after the last block, not in the block.",
        {"end": "final norm"},
    ),
    Slip("norm-at-the-end", "There is one norm more at the end, norm_1.", {"end": "first norm"}),
    Slip(
        "input-added-at-the-end",
        "The block's input is added once more at the end: it is in the stream already.",
        {"end": "x added"},
    ),
    Slip(
        "multiplied-instead-of-added",
        "In pre-norm the part's result is multiplied with the stream. It is added.",
        {"pre": "x · part(norm(x))"},
    ),
    Slip(
        "subtracted",
        "In pre-norm the part's result is subtracted from the stream. It is added.",
        {"pre": "x − part(norm(x))"},
    ),
)


def part_without_influence(seen):
    """Which part can be exchanged for another without a change?"""
    for probe, got, _ in seen.pairs:
        for n, name in enumerate(seen.exercise.parameters[1:5], start=1):
            other = seen.ask(
                *probe.args[:n], Part(probe.args[n].kind, probe.args[n].d_model, 999), *probe.args[n + 1 :]
            )
            if (
                isinstance(got, torch.Tensor)
                and isinstance(other, torch.Tensor)
                and got.shape == other.shape
                and torch.equal(got, other)
            ):
                return Finding(
                    f"ignores-{name.replace('_', '-')}",
                    f"`{name}` has no influence on the result ({probe.facts[0]}).",
                    TWO,
                )
    return None


def silent_parts(seen):
    """With parts that say nothing, pre-norm hands x through untouched: the residual stream."""
    x = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(1))
    norms = parts(4, 1)[2:]
    got = seen.ask(x, torch.zeros_like, torch.zeros_like, *norms, True)
    if isinstance(got, torch.Tensor) and got.shape == x.shape and not torch.allclose(got, x, atol=1e-5):
        says = "Where attention and feed-forward give zeros, a pre-norm block must hand x through; yours changes it."
        return Finding("stream-not-handed-through", says, STREAM)
    return None


def one_scheme_is_right(seen):
    """All of pre-norm is right, or all of post-norm."""
    wrong = {seen.probes[i].facts[0] for i in seen.wrong}
    if wrong and PRE not in wrong and DEFAULT not in wrong:
        return Finding(
            "post-norm-wrong", "Pre-norm is right, post-norm is not.", "Post-norm: norm(x + part(x)), twice."
        )
    if wrong and POST not in wrong:
        return Finding("pre-norm-wrong", "Post-norm is right, pre-norm is not.", "Pre-norm: x + part(norm(x)), twice.")
    return None


def _half_of(x):
    return 0.5 * x


def _centred(x):
    return x - x.mean(-1, keepdim=True)


_HAND = torch.tensor([[[1.0, 3.0], [4.0, 0.0]]])
EXERCISE = Exercise(
    name="encoder_block",
    reference=reference,
    parameters=("x", "attention", "feed_forward", "norm_1", "norm_2", "norm_first"),
    parts=("result",),
    probes=PROBES,
    examples=(
        Example(
            "Two tokens; attention gives ones, feed_forward halves, both norms subtract the mean; norm_first = True:",
            (_HAND, torch.ones_like, _half_of, _centred, _centred, True),
        ),
        Example(
            "Two tokens; attention gives ones, feed_forward halves, both norms subtract the mean; norm_first = False:",
            (_HAND, torch.ones_like, _half_of, _centred, _centred, False),
        ),
        Example("Two tokens, parts with random weights, norm_first = True:", (_HAND, *parts(2, 3), True)),
        Example("Two tokens, parts with random weights, norm_first = False:", (_HAND, *parts(2, 3), False)),
    ),
    hints=(
        "Two halves of the same form. What does each part read, and what is its result added to?",
        f"{TWO} First attention with norm_1, then feed_forward with norm_2, which starts from the new x.",
        "if norm_first: x = x + attention(norm_1(x)), and the same with feed_forward and norm_2; "
        "else x = norm_1(x + …) and x = norm_2(x + …).",
    ),
    variant=stages,
    slips=SLIPS,
    measures=(part_without_influence, silent_parts, one_scheme_is_right),
    chance="Dropout, where it is wanted, sits inside the parts.",
    look={
        "flag": "what norm_first decides",
        "order": "the order of the parts",
        "which": "which norm belongs to which part",
        "pre": "the lines for norm_first=True",
        "post": "the lines for norm_first=False",
        "residual_1": "the sum after attention",
        "residual_2": "the sum after the feed-forward part",
        "joined": "what the second half starts from",
        "norm_only": "the norms",
        "end": "the last line",
        "first_part": "the first half",
        "second_part": "the second half",
    },
)
