"""Fresh inputs for the exercises: who has only learned the published probes by heart does not get through."""

import dataclasses

import torch

from course_lib.exercises.compare import agrees
from course_lib.exercises.evidence import gather
from course_lib.exercises.exercise import Probe
from course_lib.exercises.greedy_stages import StepFn
from course_lib.exercises.slips import Crash, answer

HOW_MANY = 4


def _heads(r):
    n_heads = r.choice((1, 2, 3, 5))
    return n_heads * r.randint(1, 9), n_heads


def _capacity(r):
    return r.randint(60_000, 3_000_000), r.choice((16, 24, 64, 128)), r.choice((1, 2, 4))


def _prefix(r):
    n = r.randint(3, 15)
    return r.randint(0, n), n


DRAWN = {  # exercises whose arguments are numbers only: they are drawn whole
    "causal_mask": lambda r: (r.randint(4, 40),),
    "sinusoidal_pe": lambda r: (r.randint(5, 60), 2 * r.randint(2, 20)),
    "encoder_block_param_count": lambda r: (*_heads(r), r.randint(5, 90), r.random() < 0.5),
    "prefix_mask": _prefix,
    "largest_tile": _capacity,
    "work_slope": lambda r: (r.randint(2, 5000), r.randint(4, 2000)),
}


def fresh_probes(exercise, r):
    """A few probes like the exercise's own, with other values. r: random.Random."""
    usable = [p for p in exercise.probes if p.rule == "values" and p.tells_slips]
    base = getattr(exercise.variant, "base", exercise.name)  # a variant takes the arguments of its base
    if base in DRAWN:
        return tuple(Probe(DRAWN[base](r)) for _ in range(HOW_MANY))
    chosen = r.sample(usable, min(HOW_MANY, len(usable)))
    return tuple(Probe(_together(p.args, r), p.facts) for p in chosen)


def _together(args, r):
    return tuple(redrawn(a, r) for a in args)


def redrawn(value, r):
    """Another value of the same kind and shape: numbers are moved, masks and ids are turned round."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        generator = torch.Generator().manual_seed(r.randrange(2**31))
        return (value * (0.6 + 0.8 * torch.rand(value.shape, generator=generator, dtype=torch.float64)).to(value.dtype)).roll(
            r.randrange(5), 0)  # fmt: skip
    if isinstance(value, torch.Tensor) and value.ndim:
        return value.roll(r.randrange(max(1, value.shape[-1])), -1)
    if isinstance(value, StepFn):
        return StepFn(r.randrange(10**6), value.planned, value.limit, value.negative)
    if dataclasses.is_dataclass(value) and hasattr(value, "seed"):
        return dataclasses.replace(value, seed=r.randrange(10**6))
    return value


def holds_on_fresh_inputs(exercise, runner, r):
    """"" if the candidate is right on fresh probes as well, in the library's convention or one that passes too; else a fact."""
    probes = fresh_probes(exercise, r)
    seen = gather(dataclasses.replace(exercise, probes=probes), runner)
    if len(seen.again) == len(seen.probes) and not seen.wrong:
        return ""
    for convention in exercise.conventions:
        if all(_same(exercise, convention, probe, outcome) for probe, outcome in zip(seen.probes, seen.outcomes, strict=False)):
            return ""
    if len(seen.again) < len(seen.probes):
        return "one of them takes too long"
    raised = seen.outcomes[seen.wrong[0]].raised
    return f"one of them stops with {raised.kind}" if raised else f"{len(seen.wrong)} of {len(seen.probes)} come out wrong"


def _same(exercise, convention, probe, outcome):
    right = answer(exercise, convention.knobs, probe.args)
    return not outcome.raised and not isinstance(right, Crash) and agrees(outcome.output, right)
