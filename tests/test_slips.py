"""The slips and the stages they are made from: each is caught, and each is told apart from all others."""

import itertools

import pytest
import torch

from course_lib.exercises import check
from course_lib.exercises.compare import agrees
from course_lib.exercises.evidence import Evidence, fresh
from course_lib.exercises.judge import examine
from course_lib.exercises.registry import all_exercises
from course_lib.exercises.runner import InProcess
from course_lib.exercises.slips import Crash, known_answer

EXERCISES = [exercise for exercise in all_exercises().values() if exercise.variant is not None]
ids = [exercise.name for exercise in EXERCISES]


def caught_by(exercise, slip):
    """Numbers of the probes that reject the slip."""
    wrong = []
    for i, probe in enumerate(exercise.probes):
        runner = InProcess(lambda *args: exercise.variant(*args, **slip.knobs))
        want = None if probe.rule == "raises" else exercise.reference(*fresh(probe.args))
        if not Evidence(exercise, runner, (probe,), [runner.call(probe.args)], [], [want]).is_right(0):
            wrong.append(i)
    return wrong


@pytest.mark.parametrize("exercise", EXERCISES, ids=ids)
def test_without_a_knob_the_stages_equal_the_library(exercise):
    for probe in exercise.probes:
        if probe.rule != "raises":
            assert agrees(exercise.variant(*fresh(probe.args)), exercise.reference(*fresh(probe.args)), 1e-5)


@pytest.mark.parametrize("exercise", EXERCISES, ids=ids)
def test_every_slip_is_told_its_own_name(exercise):
    """Handed in as an answer, each slip is rejected and gets its own slug: no two are mixed up."""
    problems = []
    for slip in exercise.slips:
        result = examine(exercise.name, lambda *args, slip=slip: exercise.variant(*args, **slip.knobs))
        named = result.mistake == slip.slug or result.status == "error"  # an answer that always crashes gets the error's name
        if result.status not in ("failed", "error") or not named or "stumbled" in result.message:
            problems.append(f"{slip.slug} {slip.knobs} is taken for {result.mistake}: {result.message}")
    assert not problems, "\n".join(problems)


ONE_PROBE = {  # slips that a single probe gives away, and why there is no second
    ("multi_head_attention", "softmax-overflows"): "only scores of 200 overflow",
    ("cross_attention", "softmax-overflows"): "only scores of 200 overflow",
}


@pytest.mark.parametrize("exercise", EXERCISES, ids=ids)
def test_every_slip_is_rejected_by_two_probes(exercise):
    few = {}
    for slip in exercise.slips:
        wrong = caught_by(exercise, slip)
        if len(wrong) < 2:
            few[exercise.name, slip.slug] = [exercise.probes[i].facts for i in wrong]
    unlisted = {key: facts for key, facts in few.items() if key not in ONE_PROBE}
    said = [f"{slug} is rejected by {len(facts)} of {len(exercise.probes)} probes: {facts}" for (_, slug), facts in unlisted.items()]
    assert not unlisted, "\n".join([*said, "Give it inputs on which it is wrong; if there can be only one, say why in ONE_PROBE."])


@pytest.mark.parametrize("exercise", EXERCISES, ids=ids)
def test_no_variant_crashes_by_accident(exercise):
    """A slip that raises on every probe must mean to: its error has a name."""
    for slip in exercise.slips:
        replies = [known_answer(exercise, slip.knobs, i) for i, p in enumerate(exercise.probes) if p.rule != "raises"]
        if all(isinstance(r, Crash) for r in replies):
            assert not any(r.slug.startswith("raises-") for r in replies), (slip.slug, replies[0])


# ---- right answers written in other ways ------------------------------------------------------------


def attention_rewrites():
    """Every combination of a way to score, to mask, to normalise and to average."""
    score = {
        "matmul": lambda q, k: q @ k.mT / q.shape[-1] ** 0.5,
        "einsum": lambda q, k: torch.einsum("...td,...sd->...ts", q, k) * q.shape[-1] ** -0.5,
        "sum": lambda q, k: (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1) / torch.tensor(q.shape[-1]).sqrt(),
        "double": lambda q, k: (q.double() @ k.double().mT / q.shape[-1] ** 0.5).to(q.dtype),
        "split scale": lambda q, k: (q / q.shape[-1] ** 0.25) @ (k / k.shape[-1] ** 0.25).mT,
    }
    hide = {
        "-inf": lambda s, m: s.masked_fill(~m, -torch.inf),
        "finfo": lambda s, m: s.masked_fill(m.logical_not(), torch.finfo(s.dtype).min),
        "-1e9": lambda s, m: torch.where(m, s, -1e9),
        "additive": lambda s, m: s + torch.zeros_like(s).masked_fill(~m, -torch.inf),
    }
    norm = {
        "softmax": lambda s: s.softmax(-1),
        "stable": lambda s: (e := (s - s.amax(-1, keepdim=True)).exp()) / e.sum(-1, keepdim=True),
        "logsumexp": lambda s: (s - s.logsumexp(-1, keepdim=True)).exp(),
    }
    average = {
        "matmul": lambda w, v: w @ v,
        "einsum": lambda w, v: torch.einsum("...ts,...sd->...td", w, v),
        "copy": lambda w, v: (w.clone() @ v.contiguous()).clone(),
    }
    for parts in itertools.product(score.items(), hide.items(), norm.items(), average.items()):
        yield " ".join(name for name, _ in parts), [f for _, f in parts]


@pytest.mark.parametrize("parts", [pytest.param(f, id=name) for name, f in list(attention_rewrites())])
def test_attention_written_in_any_way_passes(parts):
    score, hide, norm, average = parts

    def candidate(q, k, v, mask=None):
        scores = score(q, k) if mask is None else hide(score(q, k), mask)
        weights = norm(scores)
        return average(weights, v), weights

    assert check("scaled_dot_product_attention", candidate)


SPLITS = (
    lambda t, h: t.reshape(*t.shape[:2], h, -1).transpose(1, 2),
    lambda t, h: torch.stack(t.chunk(h, -1), 1),
    lambda t, h: t.unflatten(-1, (h, -1)).permute(0, 2, 1, 3).contiguous(),
    lambda t, h: torch.einsum("bthd->bhtd", t.view(*t.shape[:2], h, t.shape[2] // h)),
)
MERGES = (
    lambda t: t.transpose(1, 2).flatten(2),
    lambda t: torch.cat(t.unbind(1), -1),
    lambda t: t.permute(0, 2, 1, 3).reshape(t.shape[0], t.shape[2], -1),
)


@pytest.mark.parametrize("split, merge", list(itertools.product(SPLITS, MERGES)))
def test_heads_split_and_merged_in_any_way_pass(split, merge):
    def candidate(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
        q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
        mask = mask[:, None] if mask is not None and mask.ndim == 3 else mask
        return merge(torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)) @ w_o

    assert check("multi_head_attention", candidate)
    assert check("merge_heads", merge)
