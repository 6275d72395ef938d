"""Attempts at the decoder's input."""

import torch
import torch.nn.functional as F

from tests.mistakes import Collector

collected = Collector()
wrong, right, ANSWERS = collected.wrong, collected.right, collected.answers


@wrong("not-shifted")
def as_it_is(targets, bos_id):
    return targets


@wrong("bos-overwrites-the-first")
def overwritten(targets, bos_id):
    out = targets.clone()
    out[:, 0] = bos_id
    return out


@wrong("shifted-left")
def left(targets, bos_id):
    return torch.cat([targets[:, 1:], torch.full_like(targets[:, :1], bos_id)], dim=1)


@wrong("shifted-left-and-wrapped")
def rolled_left(targets, bos_id):
    return torch.roll(targets, -1, dims=1)


@wrong("shifted-left-bos-first")
def rolled_left_then_bos(targets, bos_id):
    out = torch.roll(targets, -1, dims=1)
    out[:, 0] = bos_id
    return out


@wrong("last-token-wraps")
def rolled(targets, bos_id):
    return torch.roll(targets, 1, dims=-1)


@wrong("rolled-along-the-batch")
def batch_rolled(targets, bos_id):
    out = targets.roll(1, 0)
    out[:, 0] = bos_id
    return out


@wrong("bos-row")
def row(targets, bos_id):
    out = torch.full_like(targets, bos_id)
    out[1:] = targets[:-1]
    return out


@wrong("changes-its-input")
def in_place(targets, bos_id):
    targets[:, 1:] = targets[:, :-1].clone()
    targets[:, 0] = bos_id
    return targets


@wrong("changes-its-input")
def in_place_bos(targets, bos_id):
    targets[:, 0] = bos_id
    return targets


@wrong("ids-are-floats")
def float_bos(targets, bos_id):
    return torch.cat([torch.full((targets.size(0), 1), float(bos_id)), targets[:, :-1]], 1)


@wrong("ids-are-floats")
def zeros_are_floats(targets, bos_id):
    out = torch.zeros(targets.shape)
    out[:, 0] = bos_id
    out[:, 1:] = targets[:, :-1]
    return out


@wrong("bos-is-0")
def padded(targets, bos_id):
    return F.pad(targets, (1, 0))[:, :-1]


@wrong("bos-is-1")
def one(targets, bos_id):
    return torch.cat([torch.ones_like(targets[:, :1]), targets[:, :-1]], 1)


@wrong("one-token-too-long")
def too_long(targets, bos_id):
    return torch.cat([torch.full_like(targets[:, :1], bos_id), targets], dim=1)


@wrong("one-token-too-short")
def too_short(targets, bos_id):
    return torch.cat([torch.full_like(targets[:, :1], bos_id), targets[:, :-2]], dim=1)


@wrong("bos-missing")
def only_cut(targets, bos_id):
    return targets[:, :-1]


@wrong("first-token-dropped")
def targets_only(targets, bos_id):
    return targets[:, 1:]


@wrong("bos-appended")
def appended(targets, bos_id):
    return torch.cat([targets, torch.full_like(targets[:, :1], bos_id)], 1)


@wrong("shifted-through-the-rows")
def flat(targets, bos_id):
    return F.pad(targets.flatten()[:-1], (1, 0), value=bos_id).view_as(targets)


@wrong("shifted-by-two")
def by_two(targets, bos_id):
    out = torch.full_like(targets, bos_id)
    out[:, 2:] = targets[:, :-2]
    return out


@wrong("bos-in-the-first-entry-only")
def first_entry(targets, bos_id):
    out = targets.roll(1, 1)
    out[0, 0] = bos_id
    return out


@wrong("first-token-repeated")
def repeated(targets, bos_id):
    return torch.cat([targets[:, :1], targets[:, :-1]], dim=1)


@wrong("axis-does-not-exist")
def one_dimensional_bos(targets, bos_id):
    return torch.cat([torch.tensor([bos_id]), targets[:, :-1]], dim=1)


@wrong("bos-at-the-end-not-shifted", "shifted-left", "bos-in-the-last-column")
def last_overwritten(targets, bos_id):
    out = targets.clone()
    out[:, -1] = bos_id
    return out


@wrong("returns-a-list")
def nested(targets, bos_id):
    return [[bos_id, *row[:-1]] for row in targets.tolist()]


@right()
def cat(targets, bos_id):
    return torch.cat([torch.full((targets.size(0), 1), bos_id), targets[:, :-1]], dim=1)


@right()
def new_full(targets, bos_id):
    return torch.hstack([targets.new_full((len(targets), 1), bos_id), targets[:, :-1]])


@right()
def pad_with_value(targets, bos_id):
    return F.pad(targets, (1, -1), value=bos_id)


@right()
def roll_then_fill(targets, bos_id):
    out = targets.roll(shifts=1, dims=1)
    out[:, 0] = bos_id
    return out


@right("int32")
def int32(targets, bos_id):
    return F.pad(targets, (1, -1), value=bos_id).int()


@right()
def lists(targets, bos_id):
    return torch.tensor([[bos_id, *row[:-1]] for row in targets.tolist()])


@right()
def by_where(targets, bos_id):
    return torch.where(torch.arange(targets.size(1)) == 0, bos_id, targets.roll(1, 1))
