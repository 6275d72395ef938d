"""The smallest example on which an answer differs from the right one, as a table of at most 3 × 3 numbers."""

import torch

from course_lib.exercises.compare import agrees
from course_lib.exercises.evidence import fresh
from course_lib.exercises.result import Table

SIDE = 3


def table_for(seen):
    """A Table for the exercise's own example, else for the first wrong probe; None if nothing can be shown."""
    for example in seen.exercise.examples:
        outcome = seen.call(example.args)
        want = seen.exercise.reference(*fresh(example.args))
        if not outcome.raised and not agrees(outcome.output, want) and not _accepted(seen, example, outcome.output):
            table = _table(seen.exercise, example.caption, outcome.output, want)
            if table:
                return table
    for probe, got, want in seen.pairs:
        if not agrees(got, want):
            return _table(seen.exercise, _caption(seen.exercise, probe), got, want)
    return None


def _accepted(seen, example, output):
    """An accepted convention explains the difference: another example shows the mistake better."""
    return any(agrees(output, seen.exercise.variant(*fresh(example.args), **c.knobs)) for c in seen.exercise.conventions)


def _caption(exercise, probe):
    sizes = [f"{n} {tuple(a.shape)}" if isinstance(a, torch.Tensor) else f"{n} = {_short(a)}"
             for n, a in zip(exercise.parameters, probe.args, strict=False) if a is not None]  # fmt: skip
    return "For " + ", ".join(sizes) + ":"


def _short(value):
    return f"a {type(value).__name__}" if callable(value) else repr(value)


def _table(exercise, caption, got, want):
    part = ""
    if isinstance(want, tuple) and len(exercise.parts) > 1:
        if not isinstance(got, tuple | list) or len(got) != len(want):
            return None
        number = next((i for i, (g, w) in enumerate(zip(got, want, strict=True)) if not agrees(g, w)), 0)
        got, want, part = got[number], want[number], f" {exercise.parts[number]}"
    if isinstance(want, torch.Tensor) and not isinstance(got, torch.Tensor):
        return None
    got_cells, want_cells = _corner(got, want)
    ends = ":"
    if got_cells == want_cells and "yours" in _sizes(got, want):  # equal corners would say that nothing is wrong
        got_cells, want_cells, ends = (), (), "."
    return Table(f"{caption.removesuffix(':')}{',' if part else ''}{part}{_sizes(got, want)}{ends}", got_cells, want_cells)


def _sizes(got, want):
    if not isinstance(want, torch.Tensor) or got.shape == want.shape == torch.Size(want.shape[-2:]) and max(want.shape) <= SIDE:
        return ""
    if got.shape == want.shape:
        lead, cut = _where(got, want)
        index = [*map(str, lead), *(f"{c.start}:{c.stop}" for c in cut)]
        return f", the part [{', '.join(index)}] of {tuple(want.shape)}"
    return f", yours {tuple(got.shape)}, right {tuple(want.shape)}"


def _corner(got, want):
    """3 × 3 texts of both, around the first difference where the shapes agree."""
    if not isinstance(want, torch.Tensor):
        return _row(got), _row(want)
    if got.shape != want.shape or got.is_complex() or got.layout != torch.strided:
        return _grid(_last_two(got)[:SIDE, :SIDE]), _grid(_last_two(want)[:SIDE, :SIDE])
    lead, cut = _where(got, want)
    return _grid(_two_axes(got[lead][cut])), _grid(_two_axes(want[lead][cut]))


def _where(got, want):
    """(numbers, slices): the leading axes and the last two of at most 3 × 3 numbers around the first difference."""
    off = ((got.double() - want.double()).abs() > 2e-4 * want.double().abs().clamp(min=1)) | ~torch.isfinite(got.double())
    first = torch.nonzero(off)[0].tolist() if off.any() else [0] * want.ndim
    lead, rest = tuple(first[:-2]), first[-2:]
    sizes = want.shape[-len(rest) :]
    starts = [max(0, min(i, n - SIDE)) for i, n in zip(rest, sizes, strict=True)]
    return lead, tuple(slice(s, min(s + SIDE, n)) for s, n in zip(starts, sizes, strict=True))


def _last_two(tensor):
    if tensor.numel() == 0 or tensor.is_complex() or tensor.layout != torch.strided:
        return torch.zeros(0, 0)
    while tensor.ndim > 2:
        tensor = tensor[0]
    return _two_axes(tensor)


def _two_axes(tensor):
    return tensor.reshape(-1, tensor.shape[-1]) if tensor.ndim else tensor.reshape(1, 1)


def _grid(tensor):
    return tuple(tuple(_number(x) for x in row) for row in tensor.tolist())


def _row(value):
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    values = value[:12] if isinstance(value, list | tuple) else [value]
    return (tuple(_number(x) for x in values),)


def _number(x):
    if isinstance(x, bool) or not isinstance(x, int | float):
        return str(x)[:12]
    if isinstance(x, int) or (isinstance(x, float) and x.is_integer() and abs(x) < 1e6):
        return str(int(x))
    return f"{x:.3g}" if abs(x) >= 100 else f"{x:.2f}"
