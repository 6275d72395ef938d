"""Attempts at greedy decoding."""

import torch

from tests.mistakes import Collector

collected = Collector()
wrong, right, ANSWERS = collected.wrong, collected.right, collected.answers


@wrong("only-the-last-token-fed")
def newest_only(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len - 1):
        next_id = step_fn([ids[-1]]).argmax().item()
        ids.append(next_id)
        if next_id == eos_id:
            break
    return ids


@wrong("left-to-chance")
def samples(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        next_id = torch.multinomial(torch.softmax(step_fn(ids), 0), 1).item()
        ids.append(next_id)
        if next_id == eos_id:
            break
    return ids


@wrong("no-length-limit")
def unlimited(step_fn, bos_id, eos_id, max_len):
    ids, next_id = [bos_id], None
    while next_id != eos_id:
        next_id = int(step_fn(ids).argmax())
        ids.append(next_id)
    return ids


@wrong("one-token-too-many")
def one_more(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) <= max_len + 1:
        ids.append(int(step_fn(ids).argmax()))
        if ids[-1] == eos_id:
            break
    return ids


@wrong("one-token-too-few")
def one_less(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len - 1:
        ids.append(int(step_fn(ids).argmax()))
        if ids[-1] == eos_id:
            break
    return ids


@wrong("last-token-dropped")
def always_cut(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(step_fn(ids).argmax()))
        if ids[-1] == eos_id:
            break
    return ids[:-1]


@wrong("last-token-dropped")
def always_cut_both_ends(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(step_fn(ids).argmax()))
        if ids[-1] == eos_id:
            break
    return ids[1:-1]


@wrong("identity-instead-of-equality")
def identity(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        next_id = int(step_fn(ids).argmax())
        ids.append(next_id)
        if next_id is eos_id:
            break
    return ids


@wrong("eos-ignored")
def never_stops(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len - 1):
        ids.append(int(step_fn(ids).argmax()))
    return ids


@wrong("eos-ignored")
def compares_a_list(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len and ids[-1:] != eos_id:
        ids.append(int(step_fn(ids).argmax()))
    return ids


@wrong("argmin")
def least_likely(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(step_fn(ids).argmin()))
        if ids[-1] == eos_id:
            break
    return ids


@wrong("value-instead-of-index")
def value(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(step_fn(ids).max()))
        if ids[-1] == eos_id:
            break
    return ids


@wrong("ids-are-floats")
def float_values(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(step_fn(ids).max().item())
        if ids[-1] == eos_id:
            break
    return ids


@wrong("bos-stops-at-once")
def bos_counts(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len and ids[-1] != eos_id:
        ids.append(int(step_fn(ids).argmax()))
    return ids


@wrong("bos-stops-at-once")
def eos_anywhere(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(step_fn(ids).argmax()))
        if eos_id in ids:
            break
    return ids


@wrong("returns-none")
def returns_inside_the_loop(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(step_fn(ids).argmax()))
        if ids[-1] == eos_id:
            break
        return ids


@wrong("one-step-only")
def single_step(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    ids.append(int(step_fn(ids).argmax()))
    return ids


@wrong("last-row-of-logits")
def last_row(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(step_fn(ids)[-1].argmax()))
        if ids[-1] == eos_id:
            break
    return ids


@wrong("axis-does-not-exist")
def last_position(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(step_fn(ids)[0, -1].argmax()))
        if ids[-1] == eos_id:
            break
    return ids


@wrong("step-fn-input")
def batch_for_step_fn(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(step_fn(torch.tensor([ids])).argmax()))
        if ids[-1] == eos_id:
            break
    return ids


@wrong("step-fn-input")
def number_for_step_fn(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(step_fn(ids[-1]).argmax()))
        if ids[-1] == eos_id:
            break
    return ids


@wrong("eos-appended-always")
def eos_always(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        next_id = int(step_fn(ids).argmax())
        if next_id == eos_id:
            break
        ids.append(next_id)
    return [*ids, eos_id]


@wrong("bos-not-fed")
def new_tokens_only(step_fn, bos_id, eos_id, max_len):
    ids = []
    while len(ids) < max_len - 1:
        next_id = int(step_fn(ids).argmax())
        ids.append(next_id)
        if next_id == eos_id:
            break
    return [bos_id, *ids]


@wrong("starts-without-bos", "bos-not-fed", "fed-wrongly")
def starts_empty(step_fn, bos_id, eos_id, max_len):
    ids = []
    while len(ids) < max_len:
        next_id = int(step_fn(ids).argmax())
        ids.append(next_id)
        if next_id == eos_id:
            break
    return ids


@wrong("stops-at-bos")
def wrong_name(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(step_fn(ids).argmax()))
        if ids[-1] == bos_id:
            break
    return ids


@wrong("fixed-length-limit")
def ten(step_fn, bos_id, eos_id, max_len=10):
    ids = [bos_id]
    for _ in range(10):
        ids.append(int(step_fn(ids).argmax()))
        if ids[-1] == eos_id:
            break
    return ids


@wrong("last-token-only")
def only_last(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(step_fn(ids).argmax()))
        if ids[-1] == eos_id:
            break
    return ids[-1]


@wrong("returns-none")
def appends_only(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(int(step_fn(ids).argmax()))
        if ids[-1] == eos_id:
            return ids


@wrong("takes-too-long")
def endless(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while ids[-1] != eos_id:
        pass
    return ids


@wrong("none-used")
def append_returns_none(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids = ids.append(int(step_fn(ids).argmax()))
        if ids[-1] == eos_id:
            break
    return ids


@right()
def textbook(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        next_id = int(step_fn(ids).argmax())
        ids.append(next_id)
        if next_id == eos_id:
            break
    return ids


@right("Tensor")
def tensors(step_fn, bos_id, eos_id, max_len):
    ids = torch.full((1,), bos_id)
    while len(ids) < max_len:
        next_id = step_fn(ids.tolist()).argmax()
        ids = torch.cat([ids, next_id[None]])
        if next_id == eos_id:
            return ids
    return ids


@right()
def zero_dimensional_tensors(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len - 1):
        ids.append(torch.argmax(step_fn(ids)))
        if ids[-1] == eos_id:
            break
    return ids


@right("bos is not part")
def without_bos(step_fn, bos_id, eos_id, max_len):
    out = []
    while len(out) + 1 < max_len:
        out.append(int(step_fn([bos_id, *out]).argmax()))
        if out[-1] == eos_id:
            break
    return out


@right("eos is not part")
def without_eos(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        next_id = int(step_fn(ids).argmax())
        if next_id == eos_id:
            return ids
        ids.append(next_id)
    return ids


@right("only new tokens")
def new_tokens_counted(step_fn, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        ids.append(max(range(1000), key=step_fn(ids).tolist().__getitem__))
        if ids[-1] == eos_id:
            break
    return ids


@right("bos is not part of what you return; the library keeps it. eos is not")
def neither(step_fn, bos_id, eos_id, max_len):
    out = []
    for _ in range(max_len):
        next_id = int(step_fn([bos_id] + out).log_softmax(-1).argmax(-1))
        if next_id == eos_id:
            break
        out.append(next_id)
    return out


@right()
def recursive(step_fn, bos_id, eos_id, max_len):
    def go(ids):
        if len(ids) == max_len:
            return ids
        ids = [*ids, step_fn(ids).sort(descending=True).indices[0].item()]
        return ids if ids[-1] == eos_id else go(ids)

    return go([bos_id])
