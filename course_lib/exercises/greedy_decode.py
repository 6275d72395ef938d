"""Exercise: always take the most likely next token."""

import itertools

import numpy as np
import torch

from course_lib.exercises.exercise import Convention, Example, Exercise, Finding, Probe, Slip
from course_lib.exercises.greedy_stages import StepFn, stages
from course_lib.generation import greedy_decode as reference


def _probe(seed, bos, eos, max_len, planned, *facts, negative=False):
    return Probe((StepFn(seed, planned, negative=negative), bos, eos, max_len), facts)


ENDS, RUNS_OUT = "eos comes in time", "eos does not come in time"
PROBES = (
    _probe(1, 1, 2, 12, {5: 2}, ENDS, "ids are small"),
    _probe(2, 1, 2, 6, {}, RUNS_OUT, "ids are small"),
    _probe(3, 900, 950, 12, {4: 950}, ENDS, "ids are larger than 256"),
    _probe(4, 901, 951, 5, {}, RUNS_OUT, "ids are larger than 256"),
    _probe(5, 1, 1, 9, {4: 1}, ENDS, "bos_id equals eos_id"),
    _probe(6, 1, 2, 7, {1: 2}, ENDS, "eos comes at once"),
    _probe(7, 1, 2, 12, {3: 1, 6: 2}, ENDS, "bos_id is generated on the way"),
    _probe(8, 1, 2, 8, {3: 0, 5: 2}, ENDS, "the id 0 is generated on the way"),
    _probe(9, 1, 2, 8, {4: 2}, ENDS, "all logits are negative", negative=True),
    _probe(10, 1, 2, 2, {}, RUNS_OUT, "max_len is 2"),
    _probe(11, 1, 0, 9, {4: 0}, ENDS, "eos_id is 0"),
    _probe(12, 902, 952, 9, {3: 952}, ENDS, "ids are larger than 256"),
    _probe(13, 905, 905, 8, {5: 905}, ENDS, "bos_id equals eos_id"),
    _probe(14, 4, 2, 9, {2: 4, 5: 2}, ENDS, "bos_id is generated on the way"),
    _probe(15, 1, 2, 6, {2: 0}, RUNS_OUT, "the id 0 is generated on the way"),
    _probe(16, 1, 2, 6, {}, RUNS_OUT, "all logits are negative", negative=True),
)


def _conventions():
    """bos and eos kept or dropped, max_len counting bos or only new tokens: all of these pass."""
    for bos, eos, limit in itertools.product(("kept", "dropped"), ("kept", "dropped"), ("bos counted", "new tokens")):
        told = []
        if bos == "dropped":
            told.append("bos is not part of what you return; the library keeps it.")
        if eos == "dropped":
            told.append("eos is not part of what you return; the library keeps it.")
        if limit == "new tokens":
            told.append("max_len counts only new tokens here; the library counts bos too.")
        knobs = {"bos": bos, "limit": limit} | ({"eos": eos} if eos == "dropped" else {})
        if told:
            yield Convention(" ".join(told), knobs)
        if eos == "dropped":  # a loop that never keeps eos asks for one more token than one that removes it
            yield Convention(" ".join(told), {"bos": bos, "limit": limit, "stop": "before keeping"})


def as_list(output):
    """Ids from a list, a tuple, a tensor or an array as a list of numbers; anything else as it is."""
    if isinstance(output, torch.Tensor | np.ndarray) and output.ndim == 1:
        return output.tolist()
    if isinstance(output, list | tuple):
        return [o.item() if isinstance(o, torch.Tensor | np.generic) and o.ndim == 0 or _one(o) else o for o in output]
    return output


def _one(value):
    return isinstance(value, torch.Tensor) and value.numel() == 1


LOOK = {
    "feed": "what you hand to step_fn",
        "pick": "how the next id is taken from the logits", "stop": "the line that ends the loop",
    "limit": "what max_len is compared with",
        "bos": "what you start with and return", "eos": "what you return", "last": "what you return",
    "bos_stops": "the test for eos before anything is generated",
        "form": "what you return", "start": "what the list of ids starts with",
}  # fmt: skip
SLIPS = (
    Slip("only-the-last-token-fed", "Only the newest token is handed to step_fn. The model must see the whole prefix "
         "at each step (unless it keeps a cache).", {"feed": "last"}),
    Slip("only-the-first-token-fed", "The same first token is handed to step_fn at every step; it must see the whole "
         "prefix.", {"feed": "first"}),
    Slip("only-two-tokens-fed", "Only the last two tokens are handed to step_fn; it must see the whole prefix.",
         {"feed": "last two"}),
    Slip("only-two-tokens-fed", "Only the last three tokens are handed to step_fn; it must see the whole prefix.",
         {"feed": "last three"}),
    Slip("bos-not-fed", "step_fn does not see bos: it must get the whole prefix, bos included.",
         {"feed": "without bos"}),
    Slip("newest-token-not-fed", "step_fn does not see the newest token: it must get the whole prefix.",
         {"feed": "without the last"}),
    Slip("prefix-reversed", "step_fn gets the prefix in reversed order.", {"feed": "reversed"}),
    Slip("bos-fed-twice", "step_fn gets bos twice.", {"feed": "bos in front again"}),
    Slip("argmin", "The least likely token is taken (argmin); greedy takes the most likely.", {"pick": "argmin"}),
    Slip("second-best", "The second most likely token is taken; greedy takes the most likely.", {"pick": "second"}),
    Slip("largest-absolute", "The logit that is largest in absolute value is taken; greedy takes the largest.",
         {"pick": "largest absolute"}),
    Slip("value-instead-of-index", "The largest logit itself is used as an id; what is wanted is its index (argmax, "
         "not max).", {"pick": "value"}),
    Slip("index-off-by-one", "Every id is one too large.", {"pick": "one too many"}),
    Slip("first-id-never-taken", "The id 0 can never be taken.", {"pick": "not the first"}),
    Slip("first-logit-cut-off", "The first logit is cut off, so that every id is one too small.",
         {"pick": "not the first, not corrected"}),
    Slip("last-row-of-logits", "The logits of the next token are 1-D already: taking their last entry leaves one "
         "number, whose argmax is always 0.",
         {"pick": "last row"}),
    Slip("eos-ignored", "The loop does not stop at eos: it goes on until max_len.", {"stop": "never"}),
    Slip("identity-instead-of-equality", "eos is compared with `is`: that asks whether it is the same object, which "
         "happens to hold for small integers only. Compare with ==.", {"stop": "same object"}),
    Slip("stops-at-bos", "The loop stops at bos_id instead of eos_id.", {"stop": "bos"}),
    Slip("stops-one-late", "The loop stops one token after eos.", {"stop": "one later"}),
    Slip("stops-at-zero", "The loop stops at the id 0 instead of eos_id.", {"stop": "zero"}),
    Slip("stops-at-zero-too", "The loop stops at the id 0 as well as at eos_id.", {"stop": "eos or zero"}),
    Slip("stops-at-bos-too", "The loop stops when bos_id is generated as well; only eos_id ends it.",
         {"stop": "eos or bos"}),
    Slip("one-step-only", "Only one token is generated.", {"limit": "one step"}),
    Slip("one-step-only", "The loop ends after its first step: is the `return` or `break` indented too far?",
         {"stop": "at once"}),
    Slip("stops-unless-eos", "The loop stops at the first token that is *not* eos: the comparison is the wrong way "
         "round.", {"stop": "not eos"}),
    Slip("bos-stops-at-once", "When bos_id equals eos_id, nothing is generated: the test for eos also looks at bos.",
         {"bos_stops": True}),
    Slip("bos-stops-at-once", "When bos_id equals eos_id, it stops after one token: the test for eos also looks at "
         "bos.", {"stop": "anything in ids"}),
    Slip("no-length-limit", "max_len is not respected: if the model never emits eos, this loop never ends.",
         {"limit": "none"}),
    Slip("one-token-too-many", "max_len is exceeded by one token when eos does not come.", {"limit": "one more"}),
    Slip("two-tokens-too-many", "max_len is exceeded by two tokens when eos does not come.", {"limit": "two more"}),
    Slip("one-token-too-few", "One token too few is generated when eos does not come.", {"limit": "one less"}),
    Slip("two-tokens-too-few", "Two tokens too few are generated when eos does not come.", {"limit": "two less"}),
    *(Slip("fixed-length-limit",
      f"max_len is ignored: the loop ends after {n} tokens, whatever max_len is.", {"limit": f"fixed {n}"})
      for n in (10, 20, 50)),
    Slip("last-token-dropped", "The last token is always dropped: right when it is eos, but without eos a real token "
         "is lost.",
         {"last": "dropped"}),
    Slip("eos-appended-always", "eos is appended even when the model did not generate it.", {"eos": "appended"}),
    Slip("eos-appended-always", "eos is appended when max_len ends the loop, although the model did not generate it.",
         {"eos": "appended if missing"}),
    Slip("eos-appended-always", "eos is appended when max_len ends the loop, although the model did not generate it.",
         {"eos": "appended", "stop": "before keeping"}),
    Slip("last-token-only", "Only the last token is returned; return the whole sequence.", {"form": "last only"}),
    Slip("length-returned", "The length is returned; return the ids.", {"form": "count"}),
    Slip("reversed", "The ids come in reversed order.", {"form": "reversed"}),
    Slip("list-in-a-list", "The ids are wrapped in another list.", {"form": "nested"}),
    Slip("starts-without-bos", "The list starts empty: the first call must see bos.", {"start": "nothing"}),
    Slip("starts-with-eos", "The list starts with eos_id; it must start with bos_id.", {"start": "eos"}),
    Slip("starts-with-bos-twice", "The list starts with bos twice.", {"start": "twice"}),
    Slip("starts-with-0", "The list starts with 0, whatever bos_id is.", {"start": "0"}),
    Slip("starts-with-1", "The list starts with 1, whatever bos_id is.", {"start": "1"}),
)


# ---- measurements ------------------------------------------------------------


def ids_are_whole_numbers(seen):
    """Floats are no ids."""
    for outcome in seen.outcomes:
        got = outcome.output
        floats = isinstance(got, torch.Tensor) and got.is_floating_point() or isinstance(got, list | tuple) and any(type(i) is float for i in got)
        if floats:
            return Finding("ids-are-floats",
                           "The ids are floats; token ids are whole numbers.", f"Look at {LOOK['pick']}.")
    return None


def trace(seen):
    """What step_fn was asked, against what it should have been asked."""
    for i, probe in enumerate(seen.probes):
        asked = seen.outcomes[i].inputs_after[0].seen
        right = probe.args[0].fresh()
        reference(right, *probe.args[1:])
        for number, prefix in enumerate(asked[: len(right.seen)]):
            if prefix != right.seen[number]:
                says = f"In step {number + 1}, step_fn gets {prefix[:6]}; it should get {right.seen[number][:6]}."
                return Finding("fed-wrongly", says, f"Look at {LOOK['feed']}.")
    return None


def length(seen):
    """Too long, too short, or eos in the middle."""
    for probe, got, want in seen.pairs:
        if not isinstance(got, list) or not all(isinstance(x, int) for x in got):
            return Finding("no-list-of-ids", f"It returns {type(got).__name__}; a list of ids is wanted.")
        if len(got) > probe.args[3] + 1:
            return Finding("too-long",
                           f"With max_len = {probe.args[3]} it returns {len(got)} ids.", f"Look at {LOOK['limit']}.")
        if len(got) != len(want):
            says = f"When {probe.facts[0]}, {probe.facts[-1]}, it returns {len(got)} ids; {len(want)} are right."
            return Finding("wrong-length", says, f"Look at {LOOK['stop']}, and at {LOOK['limit']}.")
    return None


def is_a_list(seen):
    """Remark: a tensor or a tuple."""
    kind = type(seen.runner.call(seen.probes[0].args).output).__name__
    return None if kind == "list" else f"It returns a {kind}; the library returns a list."


EXERCISE = Exercise(
    name="greedy_decode",
    reference=reference,
    parameters=("step_fn", "bos_id", "eos_id", "max_len"),
    parts=("ids",),
    probes=PROBES,
    examples=(
        Example("A model that ends after four tokens; bos_id = 1, eos_id = 2, max_len = 8:",
                (StepFn(20, {4: 2}), 1, 2, 8)),
        Example("A model that never ends; bos_id = 1, eos_id = 2, max_len = 5:", (StepFn(21, {}), 1, 2, 5)),
        Example("bos_id = eos_id = 1, max_len = 6:", (StepFn(22, {3: 1}), 1, 1, 6)),
        Example("bos_id = 900, eos_id = 950, max_len = 6:", (StepFn(23, {3: 950}), 900, 950, 6)),
    ),
    hints=(
        "Write down the prefix that the model sees in step 1, 2 and 3, and the two reasons to stop.",
        "Start with [bos_id]. As long as the list is shorter than max_len: ask step_fn for the logits of the whole "
        "list, append the index of the largest, and stop if that was eos_id.",
        "while len(ids) < max_len: next_id = int(step_fn(ids).argmax()); append it; then compare next_id (not bos!) "
        "with eos_id by ==.",
    ),
    variant=stages,
    slips=SLIPS,
    conventions=tuple(_conventions()),
    contract=(ids_are_whole_numbers,),
    normal_form=as_list,
    measures=(trace, length),
    remarks=(is_a_list,),
    look=LOOK,
    chance="Greedy takes the most likely token (argmax); yours samples, so that two runs give different text.",
)  # fmt: skip
