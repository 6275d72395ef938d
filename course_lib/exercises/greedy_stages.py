"""Greedy decoding in open stages, with a knob for every decision, and the stand-in for a model that it is tried on."""

import numpy as np
import torch

VOCAB = 1000


class TooManySteps(RuntimeError):
    """Raised by a StepFn that is asked far more often than max_len allows."""


class WrongInput(TypeError):
    """Raised by a StepFn that is handed something else than a list of ids."""


class StepFn:
    """A stand-in for a model: the next token depends on the whole prefix, and eos comes at a planned length.

    `planned` maps a length of the prefix to the id that is most likely then. `seen` keeps every prefix it was asked.
    """

    unchanged_by = "a call"  # what it remembers is no damage: see compare.same_input

    def __init__(self, seed, planned, limit=60, negative=False):
        self.seed, self.planned, self.limit, self.negative = seed, planned, limit, negative
        self.seen = []

    def fresh(self):
        return StepFn(self.seed, self.planned, self.limit, self.negative)

    def __deepcopy__(self, memo):
        return self.fresh()

    def __call__(self, ids):
        """list of ids (or a 1-D tensor) -> logits (VOCAB,)."""
        if isinstance(ids, torch.Tensor) and ids.ndim != 1 or not isinstance(ids, list | tuple | torch.Tensor | np.ndarray):
            shape = f" of shape {tuple(ids.shape)}" if isinstance(ids, torch.Tensor) else ""
            raise WrongInput(f"step_fn takes the list of ids so far; it got: {type(ids).__name__}{shape}")
        prefix = [int(i) for i in ids]
        self.seen.append(prefix)
        if len(self.seen) > self.limit:
            raise TooManySteps("step_fn was asked far more often than max_len allows")
        generator = torch.Generator().manual_seed(hash((self.seed, *prefix)) % 2**31)
        logits = torch.randn(VOCAB, generator=generator) * 0.3
        favourite = self.planned.get(len(prefix), 3 + int(torch.randint(0, 890, (1,), generator=generator)))
        logits[favourite] = 2.0
        logits[(favourite + 7) % 890 + 3] = 1.8  # a close second
        return logits - 6.0 if self.negative else logits


def stages(step_fn, bos_id, eos_id, max_len, *, feed="all",
           pick="argmax", stop="eos", limit="bos counted", bos="kept", eos="kept", last="kept",
           bos_stops=False, form="list", start="bos"):  # fmt: skip
    """The loop, with a knob for what is fed, what is picked, when it stops and what is returned."""
    begin = {"bos": [bos_id], "nothing": [], "eos": [eos_id], "twice": [bos_id, bos_id], "0": [0], "1": [1]}[start]
    ids, rule = list(begin), _limit(limit, max_len)
    if bos_stops and bos_id == eos_id:
        return ids
    while not rule(ids, len(ids) - len(begin)):
        next_id = _pick(step_fn(_fed(ids, feed, bos_id)), pick)
        if stop == "before keeping" and next_id == eos_id:
            return _returned(ids, eos_id, bos, "kept", last, form, begin)
        ids.append(next_id)
        if _stops(stop, ids, next_id, eos_id, bos_id):
            break
    return _returned(ids, eos_id, bos, eos, last, form, begin)


def _limit(limit, n):
    """(ids, generated) -> is it enough?"""
    return {
        "bos counted": lambda ids, made: len(ids) >= n,
        "new tokens": lambda ids, made: made >= n,
        "one more": lambda ids, made: made >= n + 1,
        "two more": lambda ids, made: made >= n + 2,
        "one less": lambda ids, made: len(ids) >= n - 1,
        "two less": lambda ids, made: len(ids) >= n - 2,
        "none": lambda ids, made: False,
        "one step": lambda ids, made: made >= 1,
        "fixed 10": lambda ids, made: made >= 10,
        "fixed 20": lambda ids, made: made >= 20,
        "fixed 50": lambda ids, made: made >= 50,
    }[limit]


def _fed(ids, feed, bos_id):
    return {"all": list(ids), "last": ids[-1:], "first": ids[:1],
                        "last two": ids[-2:], "without bos": ids[1:], "without the last": ids[:-1] or list(ids),
            "reversed": ids[::-1], "bos in front "
                "again": [bos_id, *ids], "sorted": sorted(ids), "last three": ids[-3:]}[feed]  # fmt: skip


def _pick(logits, pick):
    if pick == "second":
        return int(logits.topk(2).indices[1])
    if pick == "largest absolute":
        return int(logits.abs().argmax())
    if pick == "not the first":
        return int(logits[1:].argmax()) + 1
    if pick == "not the first, not corrected":
        return int(logits[1:].argmax())
    if pick == "value":
        return int(logits.max())
    if pick == "one too many":
        return int(logits.argmax()) + 1
    if pick == "float":
        return float(logits.argmax())
    if pick == "last row":
        return int(logits[-1].argmax())
    if pick == "from the end":
        return int(logits.argmax()) - len(logits)
    if pick == "least likely but one":
        return int(logits.topk(2, largest=False).indices[1])
    return int(getattr(logits, pick)())


def _stops(stop, ids, next_id, eos_id, bos_id):
    return {
        "eos": next_id == eos_id,
        "before keeping": False,
        "never": False,
        "same object": next_id == eos_id and next_id <= 256,
        "bos": next_id == bos_id,
        "one later": len(ids) > 2 and ids[-2] == eos_id and len(ids) > 2,
        "zero": next_id == 0,
        "eos or zero": next_id in (0, eos_id),
        "anything in ids": eos_id in ids,
        "repeats": next_id in ids[:-1] or next_id == eos_id,
        "at once": True,
        "not eos": next_id != eos_id,
        "eos or bos": next_id in (bos_id, eos_id),
        "small": next_id <= eos_id,
        "second": ids.count(eos_id) >= 2,
    }[stop]


def _returned(ids, eos_id, bos, eos, last, form, begin):
    if last == "dropped":
        ids = ids[:-1]
    if eos == "dropped" and len(ids) > len(begin) and ids[-1] == eos_id:
        ids = ids[:-1]
    if eos == "appended":
        ids = [*ids, eos_id]
    if eos == "appended if missing" and ids[-1] != eos_id:
        ids = [*ids, eos_id]
    if eos == "all removed":
        ids = [i for i in ids if i != eos_id]
    if bos == "dropped":
        ids = ids[len(begin):]
    if form == "last only":
        return ids[-1]
    return {"list": ids, "count": len(ids), "reversed": ids[::-1], "nested": [ids]}[form]
