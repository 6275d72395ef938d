"""What to look at when no known slip fits: general measurements, which make sense for any function of tensors.

Each takes an `evidence.Evidence` and returns a Finding or None. The first that finds something counts.
"""

import itertools

import torch

from course_lib.exercises.compare import agrees, distance, is_finite
from course_lib.exercises.evidence import fresh, in_float64
from course_lib.exercises.exercise import Finding
from course_lib.exercises.stub import words_in


def first(seen, measures):
    """The first Finding of these measures, or None."""
    return next((f for f in (measure(seen) for measure in measures) if f is not None), None)


def parts_of(seen):
    """(probe, name of the part, value, right value) for every wrong part of every wrong answer."""
    found = []
    for probe, got, want in seen.pairs:
        if isinstance(want, tuple):
            named = zip(seen.exercise.parts, got, want, strict=True)
            found += [(probe, n, g, w) for n, g, w in named if not agrees(g, w)]
        else:
            found.append((probe, seen.exercise.parts[0], got, want))
    return found


# ---- types and shapes ------------------------------------------------------------


def wrong_kind(seen):
    """Not a tensor, not a pair, or a pair too many."""
    for _, got, want in seen.pairs:
        if isinstance(want, tuple):
            names = " and ".join(seen.exercise.parts)
            if not isinstance(got, tuple | list):
                return Finding("returns-one-value", f"The function returns one value; it must return two: {names}.")
            if len(got) != len(want):
                return Finding("returns-wrong-number",
                    f"The function returns {len(got)} values; it must return {len(want)}: {names}.")
            if all(agrees(g, w) for g, w in zip(reversed(got), want, strict=True)):
                return Finding("returns-in-other-order",
                    f"The two values are right, but in the other order: return {names}.")
            odd = [g for g, w in zip(got, want, strict=True) if isinstance(w, torch.Tensor) and not isinstance(g, torch.Tensor)]
            got, want = (odd or got)[0], want[0]
        elif isinstance(got, tuple | list) and isinstance(want, torch.Tensor):
            return _sequence_for_tensor(got, want)
        if isinstance(want, torch.Tensor) and not isinstance(got, torch.Tensor):
            return Finding("returns-no-tensor",
                           f"The function returns a {type(got).__name__}; it must return a torch tensor.")
    return None


def _sequence_for_tensor(got, want):
    right = any(agrees(part, want) for part in got)
    if right:
        return Finding("returns-too-much",
                       f"The function returns {len(got)} values; only one is asked for, and it is right.")
    says = f"The function returns a {type(got).__name__} of {len(got)} things; it must return one tensor of shape {tuple(want.shape)}."
    return Finding("returns-a-list", says)


def wrong_dtype(seen):
    """bool where numbers are wanted, or the other way round; complex numbers."""
    for _, name, got, want in parts_of(seen):
        if not isinstance(want, torch.Tensor) or not isinstance(got, torch.Tensor):
            continue
        if (want.dtype == torch.bool) != (got.dtype == torch.bool) or got.is_complex():
            same = not got.is_complex() and got.shape == want.shape and agrees(got.double(), want.double())
            where = "; the pattern itself is right" if same else ""
            return Finding("wrong-dtype", f"The dtype of the {name} is {got.dtype}; it must be {want.dtype}{where}.")
    return None


def wrong_shape(seen):
    """Another shape than asked for; says so if only axes are exchanged, added or missing."""
    for _, name, got, want in parts_of(seen):
        if isinstance(want, torch.Tensor) and isinstance(got, torch.Tensor) and got.shape != want.shape:
            slug, why = _shape_story(got, want)
            return Finding(slug, f"The shape of the {name} is {tuple(got.shape)}; it must be {tuple(want.shape)}.{why}")
    return None


def _shape_story(got, want):
    if got.ndim == want.ndim and sorted(got.shape) == sorted(want.shape):
        for order in itertools.permutations(range(got.ndim)):
            if agrees(got.permute(order), want):
                return "axes-exchanged", " The values are right, but the axes stand in another order."
    if got.numel() == want.numel() and agrees(got.reshape(want.shape), want):
        if got.squeeze().shape == want.squeeze().shape:
            return "axis-too-many" if got.ndim > want.ndim else "axis-missing", " Only an axis of length 1 is wrong; the values are right."
        return "axes-joined", " The values are right and in the right order, only cut into other axes."
    return "wrong-shape", ""


def not_finite(seen):
    """NaN or inf."""
    for i in seen.wrong:
        outcome, probe = seen.outcomes[i], seen.probes[i]
        if outcome.raised or probe.rule == "raises" or is_finite(outcome.output) or not is_finite(seen.wants[i]):
            continue
        when = f" when {probe.facts[0]}" if probe.facts else ""
        return Finding("not-finite",
                       f"The answer holds NaN or inf{when}.",
                       "Look for ∞ − ∞, 0 · ∞, 0 / 0, or an exp of something large.")
    return None


# ---- which input moves which output ------------------------------------------------------------


def ignores_an_argument(seen):
    """An argument that changes nothing, where it should."""
    for probe, got, want in seen.pairs:
        for n, arg in enumerate(probe.args):
            other = _another(arg)
            if other is None:
                continue
            args = (*probe.args[:n], other, *probe.args[n + 1 :])
            answer = seen.ask(*args)
            if answer is not None and agrees(answer, got, 1e-6) and not agrees(seen.exercise.reference(*args), want, 1e-3):
                name = seen.exercise.parameters[n]
                return Finding(f"ignores-{name}",
                    f"`{name}` has no influence on what is returned: change it, and nothing changes.")
    return None


def _another(arg):
    """An argument of the same kind with other values; None if there is no obvious one."""
    if isinstance(arg, torch.Tensor) and arg.is_floating_point():
        return arg.roll(1, -1) * 1.5 + 0.25 if arg.numel() > 1 else arg + 1
    if isinstance(arg, torch.Tensor) and arg.dtype == torch.bool:
        return ~arg
    return arg + 0.5 if type(arg) is float else None


def mixes_the_batch(seen):
    """Sequence 0 changes when only sequence 1 does."""
    for probe, got, _ in seen.pairs:
        tensors = [a for a in probe.args if isinstance(a, torch.Tensor)]
        if not tensors or tensors[0].ndim < 3 or tensors[0].shape[0] < 2 or not tensors[0].is_floating_point():
            continue
        args = tuple(_with_other_rows(a) if a is tensors[0] else a for a in probe.args)
        answer = seen.ask(*args)
        mine, theirs = _first_part(got), _first_part(answer)
        if _same_batch(mine, theirs, tensors[0]) and not agrees(theirs[:1], mine[:1], 1e-4):
            says = "One sequence of the batch changes the result of another: their numbers are mixed somewhere."
            return Finding("mixes-the-batch", says, "Every operation must keep axis 0, the batch, apart.")
    return None


def _first_part(value):
    return value[0] if isinstance(value, tuple | list) and value else value


def _same_batch(one, two, x):
    tensors = isinstance(one, torch.Tensor) and isinstance(two, torch.Tensor)
    return tensors and one.ndim > 0 and one.shape == two.shape and one.shape[0] == x.shape[0]


def _with_other_rows(tensor):
    changed = tensor.clone()
    changed[1:] = changed[1:] * 1.7 + 0.3
    return changed


# ---- simple relations to the right answer ------------------------------------------------------------


def simply_related(seen):
    """Equal to the right answer times or plus a constant, plus an argument, or transposed: on every wrong probe."""
    tensors = [p for p in parts_of(seen) if isinstance(p[2], torch.Tensor) and isinstance(p[3], torch.Tensor)]
    parts = [p for p in tensors if p[2].shape == p[3].shape and p[3].numel() > 1 and p[2].dtype != torch.bool]
    if not parts or len(parts) < len(seen.pairs):
        return None
    for relation in (_same_factor, _plus_constant, _plus_argument, _transposed):
        found = [relation(seen, *part) for part in parts]
        if all(found) and (len(set(found)) == 1 or relation is _same_factor):
            slug, says = found[0]
            return Finding(slug, f"The {parts[0][1]} is the right one {says}.")
    return None


def _same_factor(seen, probe, name, got, want):
    got, want = got.double().flatten(), want.double().flatten()
    factor = (got @ want / (want @ want).clamp(min=1e-12)).item()
    if abs(factor) > 1e-6 and distance(got, factor * want) < 1e-4 and abs(factor - 1) > 1e-3:
        return "wrong-factor", f"times {factor:.3g}" if factor != -1 else "with the opposite sign"
    return None


def _plus_constant(seen, probe, name, got, want):
    gap = (got - want).double()
    if abs(gap.mean()) > 1e-3 and (gap - gap.mean()).abs().max() < 1e-4:
        return "plus-constant", f"plus {gap.mean().item():.3g} everywhere"
    return None


def _plus_argument(seen, probe, name, got, want):
    for n, arg in enumerate(probe.args):
        if isinstance(arg, torch.Tensor) and arg.shape == want.shape and arg.is_floating_point():
            if agrees(got - want, arg):
                return f"adds-{seen.exercise.parameters[n]}", f"plus the input {seen.exercise.parameters[n]}"
    return None


def _transposed(seen, probe, name, got, want):
    if want.ndim >= 2 and want.shape[-1] == want.shape[-2] and agrees(got.transpose(-2, -1), want):
        return "transposed", "with its last two axes exchanged"
    return None


def low_precision(seen):
    """Nearly right everywhere; with half precision somewhere in the code, a little less nearly."""
    gaps = [distance(got, want) for _, got, want in seen.pairs]
    half = {"half", "float16", "bfloat16"} & words_in(seen.runner.candidate)
    if not gaps or max(gaps) > (0.1 if half else 5e-3) or len(gaps) < len(seen.wrong):
        return None
    cause = f"`{half.pop()}` keeps about three digits" if half else "is something rounded, or done in float16 or bfloat16?"
    return Finding("low-precision", f"The values are nearly right, off by {max(gaps):.1g}: {cause}.".replace("?.", "?"))


GENERAL = (
    wrong_dtype, wrong_shape, not_finite, simply_related, ignores_an_argument, mixes_the_batch,
)  # fmt: skip


# ---- remarks on an answer that passed ------------------------------------------------------------


def keeps_dtype(seen):
    """A float64 input must not come back as float32."""
    for i in seen.valid:
        got, want = _first_part(seen.outcomes[i].output), _first_part(seen.wants[i])
        if isinstance(got, torch.Tensor) and isinstance(want, torch.Tensor) and got.dtype != want.dtype:
            return f"It returns {got.dtype} where the library returns {want.dtype}."
    return None


def loses_digits(seen):
    """Some probe was right in float64 only."""
    if seen.wrong:  # it passed by another convention
        return None
    gaps = [distance(seen.outcomes[i].output, seen.wants[i]) for i in seen.valid if seen.probes[i].rule == "values"]
    return "It loses several digits in float32: is a small difference taken between large numbers?" if max(gaps) > 2e-4 else None


def lets_gradients_through(seen):
    """Gradients must flow to every floating-point argument to which the reference lets them flow."""
    probe = next((p for p in seen.probes if in_float64(p.args) and p.rule == "values"), None)
    if probe is None:
        return None
    outcome = seen.runner.call(fresh(probe.args), grad=True)
    right = type(seen.runner)(seen.exercise.reference).call(fresh(probe.args), grad=True)
    blocked = [n for n, g, r in zip(seen.exercise.parameters, outcome.gradients or (None,) * 9, right.gradients, strict=False)
               if g is None and r is not None]  # fmt: skip
    return f"No gradient reaches {', '.join(blocked)}: a model could not learn through it." if blocked else None


def speed(seen):
    """Much slower than the library's on the same probes."""
    right = type(seen.runner)(seen.exercise.reference)
    slowest = max((i for i in seen.valid), key=lambda i: seen.again[i].cpu)
    seconds = min(seen.again[slowest].cpu, seen.runner.call(seen.probes[slowest].args).cpu)
    if seconds < 0.005:
        return None
    usual = right.call(seen.probes[slowest].args).cpu
    return "It is slow: a Python loop where one tensor operation would do?" if seconds > 30 * usual else None


REMARKS = (keeps_dtype, loses_digits, lets_gradients_through, speed)
