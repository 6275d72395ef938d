"""Shared by the exercises that only move numbers: where did each one come from?

The input counts 0, 1, 2, …, so that every number in the answer says from which place it was taken.
"""

import math

import torch

from course_lib.exercises.exercise import Finding


def counting(*shape):
    """0, 1, 2, … in the given shape, as float32."""
    return torch.arange(math.prod(shape), dtype=torch.float32).reshape(shape)


def place(number, shape, names):
    """Where `number` stands in counting(*shape), in words: "token 1, feature 3"."""
    index = []
    for size in reversed(shape):
        index.append(number % size)
        number //= size
    return ", ".join(f"{name} {i}" for name, i in zip(names, reversed(index), strict=True))


def where_from(seen, inputs, outputs):
    """A Finding that names one number which stands in the wrong place. inputs, outputs: names of the axes."""
    for probe, got, want in seen.pairs:
        x = probe.args[0]
        if not isinstance(got, torch.Tensor) or got.shape != want.shape:
            continue
        answer = seen.ask(counting(*x.shape), *probe.args[1:])
        right = seen.exercise.reference(counting(*x.shape), *probe.args[1:])
        if not isinstance(answer, torch.Tensor) or answer.shape != right.shape:
            continue
        off = torch.nonzero(answer != right)
        if len(off) == 0:
            continue
        at = tuple(off[0].tolist())
        spot = ", ".join(f"{name} {i}" for name, i in zip(outputs, at, strict=True))
        return Finding(*_story(answer, right, at, spot, x.shape, inputs))
    return None


def _story(answer, right, at, spot, shape, inputs):
    got, want = answer[at].item(), right[at].item()
    if sorted(answer.flatten().tolist()) != sorted(right.flatten().tolist()):
        if got != int(got) or not 0 <= got < answer.numel():
            return "changes-numbers", f"Numbers are changed, but they should only be moved: {spot} is {got:g} where {want:g} belongs."
        return "loses-numbers", f"Some numbers occur twice and others not at all: {spot} holds {place(int(got), shape, inputs)}."
    says = f"The shape is right, but the numbers stand in other places: {spot} should hold {place(int(want), shape, inputs)}"
    return "scrambled", f"{says}; yours holds {place(int(got), shape, inputs)}."
