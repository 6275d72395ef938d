"""When do two answers agree, and by how much do they differ. Whole numbers agree only when they are equal."""

import math

import torch

STRICT = 2e-4  # to be right: float32 rounding of any sensible order of operations stays below it
LOOSE = 2e-3  # to look like a known slip


def agrees(got, want, tolerance=STRICT):
    """True if both are the same to within `tolerance`, relative to the size of the numbers. NaN equals NaN here."""
    return distance(got, want) <= tolerance


def distance(got, want):
    """The largest difference between two answers, relative to max(1, size); infinite where they cannot be compared.

    Pairs are compared part by part, tensors of the same shape element by element, numbers by value.
    """
    if isinstance(want, tuple | list):
        if not isinstance(got, tuple | list) or len(got) != len(want):
            return math.inf
        return max((distance(g, w) for g, w in zip(got, want, strict=True)), default=0.0)
    if isinstance(want, torch.Tensor):
        return _tensor_distance(got, want)
    if isinstance(want, bool | str) or want is None:
        return 0.0 if type(got) is type(want) and got == want else math.inf
    number = as_number(got)
    if number is None:
        return math.inf
    gap = abs(number - want)
    return gap if isinstance(want, int) else gap / max(1.0, abs(want))


def as_number(value):
    """A Python or one-element number as int or float; None for anything else."""
    if isinstance(value, torch.Tensor) and value.ndim == 0:
        value = value.item()
    if isinstance(value, bool | complex | torch.Tensor) or not hasattr(value, "__float__") or getattr(value, "ndim", 0):
        return None
    return int(value) if float(value).is_integer() else float(value)


def _tensor_distance(got, want):
    if not isinstance(got, torch.Tensor) or got.shape != want.shape:
        return math.inf
    if _kind(got) != _kind(want) or got.layout != torch.strided:
        return math.inf
    if got.is_complex():
        return 0.0 if torch.equal(got, want) else math.inf
    size = want.detach().double().abs().clamp(min=1.0) if want.is_floating_point() else 1.0
    got, want = got.detach().double(), want.detach().double()
    same = (got == want) | (got.isnan() & want.isnan())
    gap = torch.where(same, 0.0, (got - want).abs() / size)
    return gap.nan_to_num(nan=math.inf, posinf=math.inf).max().item() if gap.numel() else 0.0


def _kind(tensor):
    """bool, whole, real or complex: numbers of two kinds never agree."""
    if tensor.dtype == torch.bool or tensor.is_complex():
        return str(tensor.dtype)
    return "real" if tensor.is_floating_point() else "whole"


def is_finite(value):
    """True if every number in a tensor or a pair of tensors is finite."""
    if isinstance(value, tuple | list):
        return all(is_finite(v) for v in value)
    return not isinstance(value, torch.Tensor) or bool(torch.isfinite(value).all())


def can_be_compared(value):
    """True for tensors, numbers, words, and lists and tuples of them; other things may differ from call to call."""
    if isinstance(value, list | tuple):
        return all(can_be_compared(v) for v in value)
    return isinstance(value, torch.Tensor | int | float | str)


def same_input(before, after):
    """True if a call left its argument untouched."""
    if isinstance(before, torch.Tensor):
        if not isinstance(after, torch.Tensor) or before.shape != after.shape or before.dtype != after.dtype:
            return False
        return torch.equal(before.detach().nan_to_num(), after.detach().nan_to_num())
    return True if hasattr(before, "unchanged_by") else before == after
