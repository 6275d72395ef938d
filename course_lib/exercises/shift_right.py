"""Exercise: the decoder's input, bos first and then every target but the last."""

import torch

from course_lib.exercises.exercise import Example, Exercise, Finding, Probe, Slip
from course_lib.training import shift_right as reference


def _probe(B, T, bos_id, seed, *facts):
    targets = torch.randint(3, 900, (B, T), generator=torch.Generator().manual_seed(seed))
    return Probe((targets, bos_id), (
                 f"bos_id is {'0' if bos_id == 0 else '1' if bos_id == 1 else '2' if bos_id == 2 else 'large'}",
                 *facts))


PROBES = (
    _probe(3, 5, 2, 1, "there are several sequences"),
    _probe(2, 4, 901, 2, "there are several sequences"),
    _probe(4, 4, 1, 3, "there are several sequences", "B and T are equal"),
    _probe(1, 6, 907, 4, "there is one sequence"),
    _probe(3, 1, 905, 5, "there are several sequences", "each has one token"),
    _probe(2, 7, 0, 6, "there are several sequences"),
    _probe(5, 2, 903, 7, "there are several sequences", "each has two tokens"),
)


def stages(targets, bos_id, *, axis="time",
           by=1, bos="first column", fill="bos_id", length="T", dtype="as it is", tail="", lead=""):
    """Move the tokens along an axis and put bos where a place became free. Each word is a knob."""
    fill = {"bos_id": bos_id,
        "0": 0, "1": 1, "-1": -1, "2": 2, "first token": None, "last token": None}[fill] if fill != "-100" else -100
    B, T = targets.shape
    if axis == "flat":
        moved = targets.flatten().roll(by).reshape(B, T)
    elif axis == "flat, with bos in front":
        return torch.cat([targets.new_tensor([bos_id]), targets.flatten()[:-1]]).reshape(B, T)
    elif axis == "features first":
        moved = targets.T.roll(by, 1).T
    else:
        moved = targets.roll(by, {"time": 1, "batch": 0}[axis]) if by else targets.clone()
    moved = _with_bos(moved, targets, fill, bos, by)
    moved = _cut(moved, targets, bos_id, length)
    if tail == "reversed":
        moved = moved.flip(1)
    if tail == "transposed":
        moved = moved.T
    if tail == "first sequence":
        moved = moved[0]
    if tail == "flat":
        moved = moved.flatten()
    return moved if dtype == "as it is" else moved.to({
        "float": torch.float32, "double": torch.float64, "bool": torch.bool}[dtype])


def _cut(moved, targets, bos_id, length):
    """Another length than T."""
    return {
        "T": lambda: moved,
        "T + 1": lambda: torch.cat([torch.full_like(targets[:, :1], bos_id), targets], 1),
        "T + 1, bos last": lambda: torch.cat([targets, torch.full_like(targets[:, :1], bos_id)], 1),
        "T - 1": lambda: torch.cat([moved[:, :1], moved[:, 1:-1]], 1),
        "T - 1, targets": lambda: targets[:, 1:],
        "without bos": lambda: targets[:, :-1],
    }[length]()


def _with_bos(moved, targets, fill, bos, by):
    """Put bos (or whatever fill is) somewhere."""
    moved = moved.clone()
    columns = {"first column": (slice(None), 0),
        "last column": (slice(None), -1), "first row": (0, slice(None)), "first entry": (0, 0),
               "first two columns": (slice(None), slice(0, 2)),
                   "second column": (slice(None), slice(1, 2)), "everywhere": (slice(None),) * 2}  # fmt: skip
    if bos == "nowhere":
        return moved
    if fill is None:
        moved[:, 0] = targets[:, 0]
        return moved
    moved[columns[bos]] = fill
    return moved


RULE = "At position t the decoder reads target t − 1 (bos at the start) and predicts target t."
SLIPS = (
    Slip("not-shifted", "Nothing is shifted: the decoder's input is the very token it has to predict, so that it can "
         "copy. " + RULE,
         {"by": 0, "bos": "nowhere"}),
    Slip("bos-overwrites-the-first", "The first token is overwritten by bos, but nothing is shifted: from position 1 "
         "on the input is the token to predict.", {"by": 0}),
    Slip("shifted-left", "The tokens are shifted the other way, to the left: the decoder would read token t + 1.",
         {"by": -1, "bos": "last column"}),
    Slip("shifted-left-bos-first", "The tokens are shifted the other way, to the left (and the first is overwritten "
         "by bos).", {"by": -1}),
    Slip("shifted-left-and-wrapped", "The tokens are shifted to the left, and the first one comes in at the end.",
         {"by": -1, "bos": "nowhere"}),
    Slip("shifted-left-filled", "The tokens are shifted to the left, with 0 at the end.",
         {"by": -1, "bos": "last column", "fill": "0"}),
    Slip("shifted-by-two", f"The tokens are shifted by two places. {RULE}", {"by": 2, "bos": "first two columns"}),
    Slip("shifted-by-two-bos-once", f"The tokens are shifted by two places, with bos in the first only. {RULE}",
         {"by": 2}),
    Slip("last-token-wraps", "The last token comes back in at the front: column 0 should be bos_id.",
         {"bos": "nowhere"}),
    Slip("bos-in-the-last-column", "bos is written into the last column; it belongs into the first.",
         {"bos": "last column"}),
    Slip("bos-at-the-end-not-shifted", "bos is written over the last token, and nothing is shifted.",
         {"bos": "last column", "by": 0}),
    Slip("bos-in-the-first-entry-only", "Only the first sequence gets bos: every row needs it in column 0.",
         {"bos": "first entry"}),
    Slip("bos-row", "bos fills the first *row*: sequences are shifted along the batch axis. Tokens run along axis 1.",
         {"axis": "batch", "bos": "first row"}),
    Slip("rolled-along-the-batch", "The rows are moved: row r holds the tokens of row r − 1 (with bos in front). "
         "Shift along the tokens, axis 1.",
         {"axis": "batch"}),
    Slip("rolled-along-the-batch-without-bos", "The rows are moved: row r holds the tokens of row r − 1. Shift along "
         "the tokens, axis 1; and bos is missing.", {"axis": "batch", "bos": "nowhere"}),
    Slip("shifted-through-the-rows", "The whole batch is shifted as one long sequence: the last token of a row comes "
         "first in the next.",
         {"axis": "flat, with bos in front"}),
    Slip("shifted-through-the-rows-and-wrapped", "The whole batch is shifted as one long sequence: the last token of "
         "a row comes first in the next, and bos is missing.", {"axis": "flat", "bos": "nowhere"}),
    Slip("bos-is-0", "Column 0 is 0, whatever bos_id is.", {"fill": "0"}),
    Slip("bos-is-1", "Column 0 is 1, whatever bos_id is.", {"fill": "1"}),
    Slip("bos-is-2", "Column 0 is 2, whatever bos_id is.", {"fill": "2"}),
    Slip("bos-is-minus-1", "Column 0 is −1, whatever bos_id is.", {"fill": "-1"}),
    Slip("bos-is-minus-100", "Column 0 is −100, whatever bos_id is.", {"fill": "-100"}),
    Slip("first-token-repeated", "Column 0 is the first token, so that it comes twice; it should be bos_id.",
         {"fill": "first token"}),
    Slip("one-token-too-long", "bos is put in front, but the last token is kept: the result has T + 1 tokens; it "
         "must have T, like the targets.",
         {"length": "T + 1"}),
    Slip("bos-appended", "bos is put at the end, and nothing is shifted: (B, T + 1).", {"length": "T + 1, bos last"}),
    Slip("one-token-too-short", "The result has T − 1 tokens: the last column is missing.", {"length": "T - 1"}),
    Slip("first-token-dropped", "The first token is dropped, (B, T − 1): these are the targets of the next step, not "
         "the decoder's input.",
         {"length": "T - 1, targets"}),
    Slip("bos-missing", "The last token is dropped, but bos is not put in front: (B, T − 1).",
         {"length": "without bos"}),
    Slip("only-bos", "Everything is bos.", {"bos": "everywhere"}),
    Slip("second-column", "bos is written into column 1; it belongs into column 0.", {"bos": "second column"}),
    Slip("reversed", "The tokens come in reversed order.", {"tail": "reversed"}),
    Slip("transposed", "The result is transposed: (T, B) instead of (B, T).", {"tail": "transposed"}),
    Slip("first-sequence-only", "Only the first sequence is returned.", {"tail": "first sequence"}),
    Slip("flattened", "The result is flat; keep (B, T).", {"tail": "flat"}),
)


def ids_are_floats(seen):
    """Token ids must be whole numbers: an embedding takes nothing else. Looked at first, since the values may be right."""
    kinds = {o.output.dtype for o in seen.outcomes if isinstance(o.output, torch.Tensor)}
    odd = [k for k in kinds if k.is_floating_point or k in (torch.bool, torch.complex64)]
    if odd:
        says = f"Token ids became {odd[0]}; an embedding takes only whole numbers. Something that is joined in has another dtype than the targets."
        return Finding("ids-are-floats", says, "Look at the dtype of what bos is made of.")
    return None


def shape_is_off(seen):
    """Too many or too few rows or columns."""
    for _, got, want in seen.pairs:
        if isinstance(got, torch.Tensor) and got.ndim == 2 and got.shape != want.shape:
            rows, columns = got.shape[0] - want.shape[0], got.shape[1] - want.shape[1]
            if rows:
                says = f"The result has {got.shape[0]} rows instead of {want.shape[0]}: something is joined or cut along the "
                return Finding("wrong-number-of-rows",
                    says + "batch, axis 0. Tokens run along axis 1.", "Look at the axis.")
            says = f"The result has {got.shape[1]} columns instead of {want.shape[1]}: {abs(columns)} too {'many' if columns > 0 else 'few'}. "
            return Finding("wrong-number-of-columns", says + RULE, f"Look at {EXERCISE.look['length']}.")
    return None


def tokens_are_off(seen):
    """What stands in the first column, and which row comes out wrong."""
    for probe, got, want in seen.pairs:
        if isinstance(got, torch.Tensor) and got.shape == want.shape:
            row = int((got != want).any(1).nonzero()[0])
            if torch.equal(got[:, 1:], want[:, 1:]):
                says = f"Column 0 holds {got[row, 0].item()} where bos_id = {probe.args[1]} belongs; the rest is right."
                return Finding("column-0-wrong", says, f"Look at {EXERCISE.look['fill']}.")
            says = f"targets {probe.args[0][row].tolist()} become {got[row].tolist()}; they should become {want[row].tolist()}."
            return Finding("tokens-wrong",
                           says, f"Look at {EXERCISE.look['axis']}, and at what is overwritten before it is read.")
    return None


def other_integers(seen):
    """Remark: int32 and the like."""
    kinds = {o.output.dtype for o in seen.outcomes if isinstance(o.output, torch.Tensor)} - {torch.int64}
    return f"It returns {kinds.pop()}; the library keeps int64." if kinds else None


EXERCISE = Exercise(
    name="shift_right",
    reference=reference,
    parameters=("targets", "bos_id"),
    parts=("result",),
    probes=PROBES,
    examples=(Example("targets = [[5, 6, 7], [8, 9, 4]], bos_id = 1:", (torch.tensor([[5, 6, 7], [8, 9, 4]]), 1)),),
    hints=(
        "Write down two rows: what the decoder has to predict, and below it what it may have read by then.",
        "Every token moves one place to the right along the tokens (axis 1); the last one falls out, and column 0 "
        "becomes bos_id. Do not write into the targets.",
        "Make an empty tensor like the targets (full_like), then fill column 0 and columns 1: from targets[:, :-1].",
    ),
    variant=stages,
    slips=SLIPS,
    measures=(shape_is_off, tokens_are_off),
    contract=(ids_are_floats,),
    remarks=(other_integers,),
    look={
        "axis": "the axis along which you shift",
            "by": "by how much, and in which direction", "bos": "where bos goes", "fill": "what is written there",
        "length": "the length of what you join", "tail": "what is returned",
    },
)  # fmt: skip
