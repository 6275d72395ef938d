"""Exercise: a test that catches any look into the future, judged on models that are right and models that leak."""

import functools

import torch

from course_lib import models
from course_lib.exercises import crashes
from course_lib.exercises.exercise import Exercise
from course_lib.exercises.judge import Verdict
from course_lib.exercises.stub import words_in
from course_lib.masks import causal_mask


def future_perturbation(model):
    """Raise AssertionError if a logit of `model` depends on a later token; return None if none does.

    model: tokens int64 (B, T) -> logits (B, T, V), with V = model.config.vocab_size. Tried in train and eval mode.
    """
    V = model.config.vocab_size
    tokens = torch.randint(V, (2, 12), generator=torch.Generator().manual_seed(0))
    for mode in (True, False):
        model.train(mode)
        logits = model(tokens)
        for t in range(1, 12):
            changed = tokens.clone()
            changed[:, t] = (changed[:, t] + 1) % V  # another token, whatever stood there
            moved = (model(changed) - logits)[:, :t].abs().max().item()  # only what comes before the change
            assert moved < 1e-4, f"token {t} changes a logit before it by {moved:.2g}, with training={mode}"


def ahead(n, distance):
    """The causal mask, and besides each query sees the one token that stands `distance` later: bool (n, n)."""
    there = torch.arange(n)[:, None] + distance == torch.arange(n)  # key = query + distance
    return causal_mask(n) | there


def column(n, j):
    """The causal mask, and besides every query sees key j (the last one, where there is no key j)."""
    mask = causal_mask(n)
    mask[:, min(j, n - 1)] = True
    return mask


def first_row(n):
    """The causal mask, and besides query 0 sees everything."""
    mask = causal_mask(n)
    mask[0] = True
    return mask


class Suspect(models.Decoder):
    """A small decoder with masks of its own. masks: functions n -> bool (n, n), one for each layer."""

    def __init__(self, masks, modes=(True, False), after_softmax=False, over_tokens=False):
        super().__init__(models.TransformerConfig(17, 16, 2, len(masks), 32, 64, positions="learned"))
        self.masks, self.modes, self.after_softmax, self.over_tokens = masks, modes, after_softmax, over_tokens
        self.head.weight.data *= 20  # logits of an ordinary size, so that no leak is too small to be seen

    def hidden(self, tokens):
        """tokens (B, T) -> hidden (B, T, d_model); outside its `modes` it is causal, as it should be."""
        x, _ = self.embed(tokens)
        for block, mask in zip(self.blocks, self.masks, strict=True):
            mask = mask(tokens.shape[1]) if self.training in self.modes else causal_mask(tokens.shape[1])
            late = functools.partial(torch.mul, mask)
            x = block(x, edit=late) if self.after_softmax else block(x, mask=mask)
        x = x - x.mean(dim=1, keepdim=True) if self.over_tokens else x
        return self.final_norm(x)

    def forward(self, tokens):
        """tokens (B, T) -> logits (B, T, V)."""
        return self.head(self.hidden(tokens))


def everything(n):
    return torch.ones(n, n, dtype=torch.bool)


@functools.cache
def right_models():
    """Three that no test may reject."""
    kinds = {"rotary": 1, "alibi": 2, "sinusoidal": 2}
    configs = [models.TransformerConfig(17, 16, 2, n, 32, 64, positions=kind) for kind, n in kinds.items()]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return tuple(models.Decoder(config) for config in configs)


LEAKS = (  # slug, what the model does, how to build it; a leak in one layer stays where it is, in two it spreads
    ("no-mask", "has no mask at all", lambda: Suspect([everything, everything])),
    ("off-by-one", "sees one token ahead", lambda: Suspect([lambda n: ahead(n, 1)])),
    ("inverted", "sees only the future", lambda: Suspect([lambda n: ~causal_mask(n)])),
    ("after-softmax", "masks after the softmax", lambda: Suspect([causal_mask, causal_mask], after_softmax=True)),
    ("eval-only", "leaks in eval mode only", lambda: Suspect([everything, everything], modes=(False,))),
    ("train-only", "leaks in train mode only", lambda: Suspect([everything, everything], modes=(True,))),
    ("last-token", "lets every position see the last token", lambda: Suspect([lambda n: column(n, -1)])),
    ("early-token", "lets every position see token 3", lambda: Suspect([lambda n: column(n, 3)])),
    ("first-position", "leaks at its first position only", lambda: Suspect([first_row])),
    ("two-ahead", "sees the token after the next, not the next", lambda: Suspect([lambda n: ahead(n, 2)])),
    ("five-ahead", "sees the token five places later", lambda: Suspect([lambda n: ahead(n, 5)])),
    ("second-layer", "has its mask in the first layer only", lambda: Suspect([causal_mask, everything])),
    ("over-tokens", "subtracts the mean over all tokens", lambda: Suspect([causal_mask], over_tokens=True)),
)


@functools.cache
def leaking_models():
    """((slug, what it does, model), …): each must be caught."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return tuple((slug, does, build()) for slug, does, build in LEAKS)


LOOK = {
    "eval-only": "A model can behave differently after model.eval(). Try both modes.",
    "train-only": "A model can behave differently after model.train(). Try both modes.",
    "last-token": "Which tokens do you change? The last one is somebody's future, too.",
    "early-token": "Which tokens do you change? Each one is the future of those before it, not the last one only.",
    "first-position": "Which positions do you compare? The first has a past of one token, and a future.",
    "two-ahead": "Do you compare all positions before the change, or only the one just before?",
    "five-ahead": "Is your sequence long enough, and do you compare all positions before the change?",
}


def judge(exercise, candidate, make_runner):
    """(Verdict, None): the test must return on right models and raise AssertionError on those that leak."""
    prepare(candidate)
    runner = make_runner(candidate)
    for model in right_models():
        outcome = runner.call((model,))
        if outcome.raised:
            return rejected(outcome.raised), None
    results = [(slug, does, runner.call((model,))) for slug, does, model in leaking_models()]
    broken = next((r.raised for _, _, r in results if r.raised and r.raised.kind != "AssertionError"), None)
    return (rejected(broken) if broken else counted(results)), None


def prepare(candidate):
    """What would make the first call slow, and look like an endless loop."""
    torch.set_num_threads(1)  # such small models are slower with two; check() restores the number
    if "assert_close" in words_in(candidate):
        torch.testing.assert_close(torch.zeros(1), torch.zeros(1))  # imports for seconds when first used


def counted(results):
    """A Verdict from what the test did on each leaking model: (slug, what the model does, Outcome)."""
    missed = [(slug, does) for slug, does, outcome in results if not outcome.raised]
    if not missed:
        says = f"Right: it lets {len(right_models())} right models pass and catches all {len(results)} that leak."
        return Verdict("passed", None, says)
    if len(missed) == len(results) and any(outcome.output is not None for _, _, outcome in results):
        says = "Your test returns its finding. A test says no by raising AssertionError: use `assert`."
        return Verdict("failed", "returns-instead-of-raising", says)
    slug, does = missed[0]
    says = f"It catches {len(results) - len(missed)} of {len(results)} models that leak. It misses one that {does}."
    look = LOOK.get(slug, "Does it compare anything before the token it changes?")
    return Verdict("failed", f"misses-{slug}", says, look)


def rejected(raised):
    """A Verdict on a test that a right model does not pass, or that stops with another error."""
    if raised.timed_out:
        return Verdict("timeout", "takes-too-long", "Stopped: a call of your test took too long.")
    if raised.kind != "AssertionError":
        slug, says = crashes.meaning(raised)
        return Verdict("error", slug, f"{says}\n{crashes.place(raised)}")
    says = f"A model that is right fails your test{f' ({raised.text})' if raised.text else ''}."
    look = "What stands at the changed place and after it may move. Compare only what comes before; allow 1e-5."
    return Verdict("failed", "rejects-a-right-model", says, look)


EXERCISE = Exercise(
    name="future_perturbation",
    reference=future_perturbation,
    parameters=("model",),
    parts=("nothing",),
    probes=(),
    examples=(),
    hints=(
        "Call the model twice: on tokens, and on a copy with one token changed. Which logits may differ, which not?",
        "If you change token t, the logits at positions 0 … t − 1 must stay. Do it for every t, the last one included, "
        "and in both modes: model.train(True) and model.train(False).",
        "Inside the two loops: changed = tokens.clone(); changed[:, t] = (changed[:, t] + 1) % V; then assert that "
        "(model(changed) - model(tokens))[:, :t] is nowhere larger than about 1e-4.",
    ),
    judge=judge,
)
