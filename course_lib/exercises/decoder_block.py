"""Exercise: put the three sublayers of a decoder block together, with the norm before or after each."""

from dataclasses import dataclass

import torch

from course_lib.blocks import decoder_block as reference
from course_lib.exercises.encoder_block import DEFAULT, POST, PRE, Part, _weights
from course_lib.exercises.exercise import Example, Exercise, Finding, Probe, Slip


@dataclass(frozen=True)
class Attention:
    """Attention with fixed random weights, called as `MultiHeadAttention` is: key defaults to query, value to key."""

    d_model: int
    seed: int

    def __call__(self, query, key=None, value=None, causal=False):
        key = query if key is None else key
        value = key if value is None else value
        w_1, w_2 = (w.to(query.dtype) for w in _weights(self.d_model, self.seed))
        scores = query @ w_2 @ key.transpose(-2, -1) / self.d_model**0.5
        if causal:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
        return scores.softmax(-1) @ value @ w_1


def parts(d_model, seed):
    """self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3."""
    attentions = (Attention(d_model, 10 * seed), Attention(d_model, 10 * seed + 1))
    others = (Part(kind, d_model, 10 * seed + 2 + i) for i, kind in enumerate(("feed-forward", "norm", "norm", "norm")))
    return (*attentions, *others)


def _probe(B, T, S, d_model, seed, fact, *facts, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    x, memory = (torch.randn(B, n, d_model, generator=generator) * 1.5 + 0.5 for n in (T, S))
    flag = {PRE: (True,), POST: (False,), DEFAULT: ()}[fact]
    return Probe((x.to(dtype), memory.to(dtype), *parts(d_model, seed), *flag), (fact, *facts))


PROBES = (
    _probe(2, 5, 3, 6, 1, PRE),
    _probe(2, 5, 3, 6, 2, POST),
    _probe(3, 2, 6, 8, 3, PRE),
    _probe(3, 2, 6, 8, 4, POST),
    _probe(1, 3, 5, 4, 5, DEFAULT),
    _probe(2, 3, 4, 5, 6, PRE, "the input is float64", dtype=torch.float64),
    _probe(2, 3, 4, 5, 7, POST, "the input is float64", dtype=torch.float64),
    _probe(4, 4, 4, 4, 8, PRE, "B, T, S and d_model are equal"),
    _probe(4, 4, 4, 4, 9, POST, "B, T, S and d_model are equal"),
    _probe(1, 1, 4, 6, 10, PRE, "there is one target token"),
)
ORDERS = {
    "self, cross, feed": (0, 1, 2),
    "cross, self, feed": (1, 0, 2),
    "self, feed, cross": (0, 2, 1),
    "feed, self, cross": (2, 0, 1),
    "cross, feed, self": (1, 2, 0),
    "feed, cross, self": (2, 1, 0),
}
NORMS = {"own": (0, 1, 2), "first for all": (0, 0, 0), "last for all": (2, 2, 2), "exchanged": (2, 1, 0)}


def stages(x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, norm_first=True, *,
           flag="used", order="self, cross, feed", missing=None, source="memory", own="masked", norms="own",
           pre="x + part(norm(x))", post="norm(x + part(x))", residuals=(True, True, True), memory_normed=False,
           joined="one after the other", end=""):  # fmt: skip
    """Prepare the three sublayers, then add them to the stream: every decision has its knob."""
    norm_first = {"used": norm_first, "inverted": not norm_first, "always pre": True, "always post": False}[flag]
    memory = norm_2(memory) if memory_normed and norm_first else memory
    run = (
        lambda y: _own(self_attention, own, y, memory),
        lambda y: _cross(cross_attention, source, y, memory, x),
        feed_forward,
    )
    formula, stream = pre if norm_first else post, x
    for n in ORDERS[order]:
        if n != missing:
            read = x if joined == "side by side" else stream
            sum_ = _half(read, run[n], (norm_1, norm_2, norm_3)[NORMS[norms][n]], formula, residuals[n])
            stream = stream + sum_ - x if joined == "side by side" else sum_
    return {"": lambda: stream, "final norm": lambda: norm_3(stream), "x added": lambda: stream + x}[end]()


def _own(part, own, y, memory):
    """The first sublayer: who looks at whom, and may it look ahead?"""
    return part(y, memory) if own == "cross in its place" else part(y, causal=own == "masked")


def _cross(part, source, y, memory, x):
    """The second sublayer: the decoder asks, the memory answers, or some other way round."""
    return {
        "memory": lambda: part(y, memory),
        "decoder only": lambda: part(y, y),
        "decoder only, masked": lambda: part(y, causal=True),
        "keys from decoder": lambda: part(y, y, memory),
        "values from decoder": lambda: part(y, memory, y),
        "block input asks": lambda: part(x, memory),
        "masked": lambda: part(y, memory, causal=True),
        "roles exchanged": lambda: part(memory, y),
        "memory alone": lambda: part(memory, memory),
    }[source]()


def _half(x, part, norm, formula, residual):
    """One sublayer with its norm and its residual connection."""
    kept = x if residual else torch.zeros_like(x)
    return {
        "x + part(norm(x))": lambda: kept + part(norm(x)),
        "norm(x + part(x))": lambda: norm(kept + part(x)),
        "norm(x) + part(norm(x))": lambda: (norm(x) if residual else kept) + part(norm(x)),
        "x + norm(part(x))": lambda: kept + norm(part(x)),
        "norm(x + part(norm(x)))": lambda: norm(kept + part(norm(x))),
        "x + part(x)": lambda: kept + part(x),
    }[formula]()


ROLES = "In cross-attention the decoder asks (queries) and memory answers (keys and values)."
SUMS = "Each of the three sublayers has a residual connection: its result is added to what it started from."
TWO = "There are two schemes: pre-norm, x + part(norm(x)), and post-norm, norm(x + part(x))."
INORDER = "The order is: masked self-attention, cross-attention, feed-forward."
SLIPS = (
    Slip("source-unused", f"Cross-attention is given the decoder's own tokens twice; memory is never read. {ROLES}",
         {"source": "decoder only"}),
    Slip("source-unused", f"The second attention is self-attention again; memory is never read. {ROLES}",
         {"source": "decoder only, masked"}),
    Slip("not-causal", "Self-attention has no causal mask: each target token sees those that come after it.", {"own": "open"}),
    Slip("keys-from-the-decoder", f"The keys of cross-attention come from the decoder. {ROLES}", {"source": "keys from decoder"}),
    Slip("values-from-the-decoder", f"The values of cross-attention come from the decoder. {ROLES}", {"source": "values from decoder"}),
    Slip("roles-exchanged", f"In cross-attention memory asks and the decoder answers. {ROLES}", {"source": "roles exchanged"}),
    Slip("queries-from-memory", f"The queries of cross-attention come from memory. {ROLES}", {"source": "memory alone"}),
    Slip("block-input-asks", "Cross-attention's queries come from the block's input. They come from the stream, after self-attention "
         "has written to it.", {"source": "block input asks"}),
    Slip("cross-attention-masked", "Cross-attention has a causal mask. The source is there as a whole: nothing in it is the future.",
         {"source": "masked"}),
    Slip("self-attention-reads-memory", "Self-attention is given memory. It is the target's tokens that look at each other there.",
         {"own": "cross in its place"}),
    Slip("cross-attention-first", f"Cross-attention comes before self-attention. {INORDER}", {"order": "cross, self, feed"}),
    Slip("feed-forward-before-cross", f"The feed-forward part comes before cross-attention. {INORDER}", {"order": "self, feed, cross"}),
    Slip("feed-forward-first", f"The feed-forward part comes first. {INORDER}", {"order": "feed, self, cross"}),
    Slip("wrong-order", f"Self-attention comes last. {INORDER}", {"order": "cross, feed, self"}),
    Slip("wrong-order", f"The order is turned round. {INORDER}", {"order": "feed, cross, self"}),
    Slip("self-attention-missing", f"Self-attention is missing. {INORDER}", {"missing": 0}),
    Slip("cross-attention-missing", f"Cross-attention is missing: memory is never read. {INORDER}", {"missing": 1}),
    Slip("feed-forward-missing", f"The feed-forward part is missing. {INORDER}", {"missing": 2}),
    Slip("residuals-missing", f"No residual connection is there. {SUMS}", {"residuals": (False, False, False)}),
    Slip("first-residual-missing", f"The residual connection around self-attention is missing. {SUMS}", {"residuals": (False, True, True)}),
    Slip("second-residual-missing", f"The residual connection around cross-attention is missing. {SUMS}", {"residuals": (True, False, True)}),
    Slip("third-residual-missing", f"The residual connection around the feed-forward part is missing. {SUMS}",
         {"residuals": (True, True, False)}),
    Slip("side-by-side", "All three sublayers read the block's input, and their results are added. Each reads the stream that the one "
         "before has written to.", {"joined": "side by side"}),
    Slip("always-pre-norm", "With norm_first=False you still do pre-norm: the flag is ignored.", {"flag": "always pre"}),
    Slip("always-post-norm", "With norm_first=True you still do post-norm: the flag is ignored.", {"flag": "always post"}),
    Slip("pre-and-post-exchanged", f"Pre-norm and post-norm are exchanged. {TWO}", {"flag": "inverted"}),
    Slip("normed-residual", "In pre-norm you add to the normed copy. The stream itself is not normed.", {"pre": "norm(x) + part(norm(x))"}),
    Slip("norm-of-the-sum-too", f"In pre-norm the sum is normed as well. {TWO}", {"pre": "norm(x + part(norm(x)))"}),
    Slip("norm-of-the-parts-result", f"In pre-norm the norm stands after the part. {TWO}", {"pre": "x + norm(part(x))"}),
    Slip("norm-before-the-sum", f"In post-norm only the part's result is normed. {TWO}", {"post": "x + norm(part(x))"}),
    Slip("post-norm-reads-normed", f"In post-norm the part reads a normed copy too. {TWO}", {"post": "norm(x + part(norm(x)))"}),
    Slip("norms-missing", f"There is no norm in pre-norm. {TWO}", {"pre": "x + part(x)"}),
    Slip("norms-missing", f"There is no norm in post-norm. {TWO}", {"post": "x + part(x)"}),
    Slip("norms-missing", f"No norm is used. {TWO}", {"pre": "x + part(x)", "post": "x + part(x)"}),
    Slip("norm-1-for-all", "norm_1 is used three times. Each sublayer has its own norm.", {"norms": "first for all"}),
    Slip("norm-3-for-all", "norm_3 is used three times. Each sublayer has its own norm.", {"norms": "last for all"}),
    Slip("norms-exchanged", "norm_1 and norm_3 are exchanged.", {"norms": "exchanged"}),
    Slip("memory-normed", "In pre-norm you norm memory too. The encoder has normed it at its end; norm_2 is for the queries.",
         {"memory_normed": True}),
    Slip("norm-at-the-end", "There is one norm more at the end. It comes once, after the last block.", {"end": "final norm"}),
    Slip("input-added-at-the-end", "The block's input is added once more at the end: it is in the stream already.", {"end": "x added"}),
)  # fmt: skip


def source_and_future(seen):
    """Change memory: the result must change. Change the last target token: the earlier ones must not."""
    for probe, got, _ in seen.pairs:
        x, memory, *rest = probe.args
        other = seen.ask(x, memory.flip(0) * 0.5 + 1.0, *rest)
        if _same(got, other):
            return Finding("source-unused", f"Change memory, and the result stays the same: the source is not read. {ROLES}")
        changed = x.clone()
        changed[:, -1] += 1.0
        other = seen.ask(changed, memory, *rest)
        if isinstance(got, torch.Tensor) and got.shape == x.shape and x.shape[1] > 1 and other is not None:
            if not torch.allclose(got[:, :-1], other[:, :-1], atol=1e-5):
                return Finding("not-causal", "The last target token changes the results of earlier ones: the future leaks.",
                               "The future can come in through either attention, where the target's tokens are keys.")
    return None


def _same(got, other):
    tensors = isinstance(got, torch.Tensor) and isinstance(other, torch.Tensor)
    return tensors and got.shape == other.shape and torch.allclose(got, other, atol=1e-6)


def one_scheme_is_right(seen):
    """All of pre-norm is right, or all of post-norm."""
    wrong = {seen.probes[i].facts[0] for i in seen.wrong}
    if wrong == {POST}:
        return Finding("post-norm-wrong", "Pre-norm is right, post-norm is not.", "Post-norm: norm(x + part(x)), three times.")
    if wrong and POST not in wrong:
        return Finding("pre-norm-wrong", "Post-norm is right, pre-norm is not.", "Pre-norm: x + part(norm(x)), three times.")
    return None


_X, _MEMORY = torch.tensor([[[1.0, 3.0], [4.0, 0.0]]]), torch.tensor([[[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
EXERCISE = Exercise(
    name="decoder_block",
    reference=reference,
    parameters=("x", "memory", "self_attention", "cross_attention", "feed_forward", "norm_1", "norm_2", "norm_3", "norm_first"),
    parts=("result",),
    probes=PROBES,
    examples=(
        Example("Two target tokens, three source tokens, parts with random weights, norm_first = True:", (_X, _MEMORY, *parts(2, 3), True)),
        Example("Two target tokens, three source tokens, parts with random weights, norm_first = False:", (_X, _MEMORY, *parts(2, 3), False)),
    ),
    hints=(
        "Three sublayers of the same form. For each: what does it read, and what is its result added to?",
        f"{INORDER} {TWO} Only self-attention is masked, and only cross-attention sees memory.",
        "if norm_first: x = x + self_attention(norm_1(x), causal=True), then cross_attention(norm_2(x), memory) and feed_forward(norm_3(x)) "
        "likewise; else x = norm_1(x + …), and so on.",
    ),
    variant=stages,
    slips=SLIPS,
    measures=(source_and_future, one_scheme_is_right),
    chance="Dropout, where it is wanted, sits inside the parts.",
    look={"flag": "what norm_first decides", "order": "the order of the sublayers", "missing": "whether all three are there",
          "source": "the call of cross_attention", "own": "the call of self_attention", "norms": "which norm belongs to which sublayer",
          "pre": "the lines for norm_first=True", "post": "the lines for norm_first=False", "residuals": "the sums",
          "joined": "what each sublayer reads", "memory_normed": "what is normed before cross-attention", "end": "the last line"},
)  # fmt: skip
