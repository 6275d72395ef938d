"""Exercise: queries from the decoder, keys and values from the encoder."""

import torch

from course_lib.attention import cross_attention as reference
from course_lib.exercises.exercise import Example, Exercise, Finding, Probe, Slip
from course_lib.exercises.multi_head_attention import matrices, one_head_is_right, tokens, without_output_matrix
from course_lib.exercises.multi_head_slips import ANSWERS, ATTENTION, HEADS, LOOK, MASKS, PROJECTIONS
from course_lib.exercises.multi_head_stages import multi_head_stages
from course_lib.masks import padding_mask

NO_PADDING, PADDING = "no padding is given", "padding is given"
DIFFER, EQUAL = "T and S differ", "T and S are equal"


def _probe(B, T, S, d_model, n_heads, seed, *facts, lengths=None, size=1.0, dtype=torch.float32, rule="values"):
    args = (tokens(B, T, d_model, seed, size, dtype), tokens(B, S, d_model, seed + 1, size, dtype), *matrices(d_model, seed + 2, dtype=dtype), n_heads)
    facts = (DIFFER if T != S else EQUAL, *facts)
    if lengths is None:
        return Probe(args, (NO_PADDING, *facts), rule)
    return Probe((*args, padding_mask(torch.tensor(lengths), S)), (PADDING, *facts), rule)


PROBES = (
    _probe(2, 4, 6, 12, 3, 1, "there are several heads"),
    _probe(3, 5, 5, 8, 2, 5, "there are several heads"),
    _probe(2, 6, 3, 8, 1, 9, "there is one head"),
    _probe(1, 4, 4, 4, 2, 13, "there are several heads", "n_heads and d_k are equal"),
    _probe(2, 5, 7, 10, 5, 17, "there are several heads", "the input is float64", dtype=torch.float64),
    _probe(2, 1, 5, 12, 4, 21, "there are several heads", "there is one query"),
    _probe(2, 5, 6, 12, 3, 25, "there are several heads", "scores are large", size=2.5),
    _probe(2, 5, 6, 12, 3, 29, "there are several heads", "scores reach ±200", size=10.0, rule="finite"),
    _probe(2, 4, 6, 12, 3, 33, "there are several heads", lengths=[4, 3]),
    _probe(3, 5, 5, 8, 2, 37, "there are several heads", lengths=[2, 4, 3]),
    _probe(3, 4, 3, 12, 3, 41, "there are several heads", "B, S and n_heads are equal", lengths=[1, 2, 2]),
)


def stages(decoder_x, encoder_out, w_q, w_k, w_v, w_o, n_heads, padding=None, *, roles="decoder asks",
           lengths="", padding_as="keys", **knobs):
    """Who asks, who answers; then `multi_head_stages`."""
    dec, enc = decoder_x, encoder_out
    if lengths == "decoder's":
        enc = enc.reshape(*dec.shape[:2], n_heads, -1).flatten(2)
    q, k, v = {
        "decoder asks": lambda: (dec, enc, enc),
        "keys from decoder": lambda: (dec, dec, enc),
        "values from decoder": lambda: (dec, enc, dec),
        "decoder only": lambda: (dec, dec, dec),
        "encoder only": lambda: (enc, enc, enc),
        "encoder asks": lambda: (enc, dec, dec),
        "encoder asks itself about the decoder": lambda: (enc, enc, dec),
        "queries and keys exchanged": lambda: (enc, dec, enc),
        "both joined": lambda: (dec, torch.cat([enc, dec], 1), torch.cat([enc, dec], 1)),
        "both joined, decoder first": lambda: (dec, torch.cat([dec, enc], 1), torch.cat([dec, enc], 1)),
        "sum": lambda: (dec, enc + dec, enc + dec),
        "sum as query": lambda: (dec + enc, enc, enc),
        "mean of encoder": lambda: (dec, enc.mean(1, keepdim=True), enc.mean(1, keepdim=True)),
        "last of encoder": lambda: (dec, enc[:, -1:], enc[:, -1:]),
        "first of encoder": lambda: (dec, enc[:, :1], enc[:, :1]),
        "encoder cut to T": lambda: (dec, enc[:, : dec.shape[1]], enc[:, : dec.shape[1]]),
        "other sequence": lambda: (dec, enc.roll(1, 0), enc.roll(1, 0)),
        "encoder reversed": lambda: (dec, enc, enc.flip(1)),
    }[roles]()
    mask = None if padding is None else _padding(padding, padding_as)
    return multi_head_stages(q, k, w_q, w_k, w_v, w_o, n_heads, mask, x_v=v, **knobs)


def _padding(padding, how):
    """(B, S) lined up with the scores (B, h, T, S), rightly or not."""
    return {"keys": padding[:, None, None, :],
        "queries": padding[:, None, :, None], "as it is": padding, "heads": padding[:, :, None, None],
            "one axis": padding[None, :, None, :], "one sequence": padding[:1, None, None, :],
                "both": padding[:, None, None, :] & padding[:, None, :, None]}[how]  # fmt: skip


ROLES = "The decoder asks (queries), the encoder answers (keys and values)."
SLIPS = (
    Slip("keys-from-the-decoder", f"The keys come from the decoder; keys and values belong together, and both come "
         f"from the encoder. {ROLES}",
         {"roles": "keys from decoder"}),
    Slip("values-from-the-decoder", f"The values come from the decoder; they must come from the encoder, like the "
         f"keys. {ROLES}",
         {"roles": "values from decoder"}),
    Slip("encoder-unused", f"encoder_out is never used: this is self-attention of the decoder. {ROLES}",
         {"roles": "decoder only"}),
    Slip("decoder-unused", f"decoder_x is never used: this is self-attention of the encoder. {ROLES}",
         {"roles": "encoder only"}),
    Slip("roles-exchanged", f"The roles are exchanged: the queries come from the encoder, so that the result has the "
         f"source's length. {ROLES}",
         {"roles": "encoder asks"}),
    Slip("queries-from-the-encoder", f"Queries and keys come from the encoder, values from the decoder. {ROLES}",
         {"roles": "encoder asks itself about the decoder"}),
    Slip("queries-and-keys-from-the-wrong-side", f"Queries come from the encoder and keys from the decoder. {ROLES}",
         {"roles": "queries and keys exchanged"}),
    Slip("decoder-among-the-keys", "The decoder's tokens are mixed into keys and values (joined to the encoder's): a "
         "target token must look at the source only.", {"roles": "both joined"}),
    Slip("decoder-among-the-keys", "The decoder's tokens are mixed into keys and values (joined in front of the "
         "encoder's): a target token must look at the source only.", {"roles": "both joined, decoder first"}),
    Slip("encoder-plus-decoder", f"Encoder and decoder are added before the projections. {ROLES}", {"roles": "sum"}),
    Slip("encoder-plus-decoder", f"The encoder is added to the queries. {ROLES}", {"roles": "sum as query"}),
    Slip("encoder-averaged", "The source is averaged to one vector first; every source token should be a key of its "
         "own.",
         {"roles": "mean of encoder"}),
    Slip("last-source-token-only", "Only the last source token is used as key and value.",
         {"roles": "last of encoder"}),
    Slip("first-source-token-only", "Only the first source token is used as key and value.",
         {"roles": "first of encoder"}),
    Slip("encoder-cut-to-T", "The source is cut to the decoder's length T.", {"roles": "encoder cut to T"}),
    Slip("another-sequence-of-the-batch", "Each target looks at the source of another sequence of the batch.",
         {"roles": "other sequence"}),
    Slip("decoder-length-for-the-encoder", "The decoder's length is used for the encoder too: right only where T = "
         "S. Take the length of each tensor from that tensor.", {"lengths": "decoder's"}),
    Slip("causal-mask", "A causal mask is applied: early target tokens see only the first source tokens. Every "
         "target token may look at the whole source; the causal mask belongs to the decoder's self-attention.",
         {"causal": "look back"}),
    Slip("padding-on-queries", "The padding is lined up with the queries; it says which *source* tokens are real, "
         "that is, which keys.",
         {"padding_as": "queries"}),
    Slip("padding-on-queries", "The padding is lined up with the queries; it says which *source* tokens are real, "
         "that is, which keys.",
         {"padding_as": "queries", "mask_how": "to -1e9"}),
    Slip("padding-not-lined-up", "padding, (B, S), is not lined up with the scores (B, h, T, S): it needs axes for "
         "heads and queries in between.",
         {"padding_as": "as it is"}),
    Slip("padding-without-head-axis", "padding gets one axis only, (B, 1, S), so that the batch is lined up with the "
         "heads.",
         {"padding_as": "one axis"}),
    Slip("padding-of-the-first-sequence", "The padding of the first sequence is used for all.",
         {"padding_as": "one sequence"}),
)
_RENAMED = {"mask-ignored": "padding-ignored",
    "mask-inverted": "padding-inverted", "mask-after-softmax": "padding-after-softmax",
            "mask-after-softmax-inverted": "padding-after-softmax-inverted"}  # fmt: skip
PADDINGS = tuple(Slip(_RENAMED.get(s.slug, s.slug), s.says.replace("The mask",
                 "The padding").replace("*may attend*", "*real token*"), s.knobs)
                 for s in MASKS if s.knobs.get("mask_how") not in (None, "transposed", "first row only"))  # fmt: skip


def depends_on_the_source(seen):
    """Change the source: the result must change; change one target token: the others must not."""
    for probe, got, want in seen.pairs:
        dec, enc, *rest = probe.args
        other = seen.ask(dec, enc.flip(1) * 1.3 + 0.2, *rest)
        if isinstance(got, torch.Tensor) and other is not None and got.shape == other.shape and torch.allclose(got, other, atol=1e-6):
            return Finding("encoder-unused",
                           f"Change encoder_out, and the result stays the same: it is not used. {ROLES}")
        changed = dec.clone()
        changed[:, 0] += 1.0
        other = seen.ask(changed, enc, *rest)
        if got.shape == want.shape and dec.shape[1] > 1 and other is not None and not torch.allclose(got[:, 1:], other[:, 1:], atol=1e-5):
            return Finding("targets-see-each-other",
                           f"One target token changes the result of another: somewhere the decoder's tokens are "
                           f"mixed. {ROLES}")
    return None


def takes_no_padding(seen):
    """Remark: no eighth argument."""
    return None if len(seen.probes) == len(PROBES) else "It takes no `padding`; the library's does, to hide source tokens that are not real."


_ENC = torch.tensor([[[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]])
EXERCISE = Exercise(
    name="cross_attention",
    reference=reference,
    parameters=("decoder_x", "encoder_out", "w_q", "w_k", "w_v", "w_o", "n_heads", "padding"),
    parts=("result",),
    probes=PROBES,
    examples=(
        Example("One target token [2, 0] and the source [[1, 0], [0, 2], [1, 1]]; one head, all four matrices the "
                "identity:",
                (torch.tensor([[[2.0, 0.0]]]), _ENC, *[torch.eye(2)] * 4, 1)),
        Example("Two target tokens [[2, 0], [0, 1]] and the source [[1, 0], [0, 2], [1, 1]], its last token padding:",
                (torch.tensor([[[2.0, 0.0], [0.0, 1.0]]]), _ENC, *[torch.eye(2)] * 4, 1, torch.tensor([[True, True, False]]))),
    ),
    hints=(
        "Who asks, and who answers? Which of the two lengths does the result have?",
        "Only the queries are made from decoder_x; keys and values from encoder_out. The scores are (B, h, T, S), "
        "and each tensor has a length of its own. There is no causal mask here.",
        "q = split_heads(decoder_x @ w_q, n_heads), k and v likewise from encoder_out; padding becomes a mask as "
        "padding[:, None, None, :].",
    ),
    variant=stages,
    slips=(*SLIPS, *PROJECTIONS, *HEADS, *(s for s in ATTENTION if s.slug != "always-causal"), *PADDINGS, *ANSWERS),
    measures=(depends_on_the_source, without_output_matrix, one_head_is_right),
    remarks=(takes_no_padding,),
    last_is_optional=True,
    look=LOOK | {"roles": "which sequence each projection is made from",
        "lengths": "the lengths used to cut heads", "causal": "the mask you build",
                 "padding_as": "the axes that padding gets", "mask_how": "the line that uses the padding"},
    basic=NO_PADDING,
    chance="Dropout, where it is wanted, is switched on by the module around this function, and only in training.",
)  # fmt: skip
