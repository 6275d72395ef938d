"""Exercise: the masked-token objective. What the model reads, and what it is asked."""

import torch

from course_lib.exercises.exercise import Example, Exercise, Finding, Probe, Slip
from course_lib.training import mask_tokens as reference


def _probe(B, T, mask_id, seed, *facts, special_share=0.3):
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(3, 90, (B, T), generator=generator)
    chosen = torch.rand(B, T, generator=generator) < 0.5
    special = torch.rand(B, T, generator=generator) < special_share
    if T > 2:  # each of the four cases occurs
        chosen[:, :3] = torch.tensor([True, True, False])
        special[:, :3] = torch.tensor([False, special_share > 0, False])
    return Probe((tokens, chosen, mask_id, special), facts)


PROBES = (
    _probe(3, 6, 99, 1, "some chosen tokens are special"),
    _probe(2, 9, 1, 2, "some chosen tokens are special", "mask_id is 1"),
    _probe(4, 4, 95, 3, "some chosen tokens are special", "B and T are equal"),
    _probe(1, 5, 0, 4, "some chosen tokens are special", "mask_id is 0"),
    _probe(3, 7, 97, 5, "no token is special", special_share=0),
    _probe(2, 6, 91, 6, "some chosen tokens are special"),
)
EXAMPLE = (
    torch.tensor([[2, 41, 42, 43, 0, 0]]),
    torch.tensor([[True, False, True, False, True, False]]),
    9,
    torch.tensor([[True, False, False, False, True, True]]),
)


def stages(tokens, chosen, mask_id, special, *, hide="chosen, not special", fill="mask_id", ask="the hidden",
           label="the token", ignore="-100", order="both", shift=0):  # fmt: skip
    """Choose places, hide them in the inputs, and ask for them in the targets. Each word is a knob."""
    places = {
        "chosen, not special": chosen & ~special, "chosen": chosen, "not chosen": ~chosen & ~special,
        "chosen and special": chosen & special, "chosen or special": chosen | special, "all but special": ~special,
        "nothing": torch.zeros_like(chosen), "special": special,
    }  # fmt: skip
    right = places["chosen, not special"]
    inputs = tokens.masked_fill(places[hide], {"mask_id": mask_id, "0": 0, "-100": -100, "1": 1}[fill])
    asked = {
        "the hidden": right if hide in ("nothing", "special") else places[hide], "right": right, "everything": ~torch.zeros_like(chosen),
        "everything real": ~special, "the visible": ~places[hide], "the visible and real": ~places[hide] & ~special,
        "chosen": chosen,
    }[ask]  # fmt: skip
    labels = {"the token": tokens, "mask_id": torch.full_like(tokens, mask_id), "a flag": torch.ones_like(tokens)}[label]
    targets = labels.masked_fill(~asked, {"-100": -100, "0": 0, "-1": -1, "mask_id": mask_id}[ignore])
    targets = targets.roll(-shift, dims=1) if shift else targets
    return {"both": (inputs, targets), "exchanged": (targets, inputs), "inputs": inputs, "targets": targets,
            "three": (inputs, targets, asked), "flat": (inputs, targets.flatten())}[order]  # fmt: skip


ASK = "Only what was hidden is asked; everywhere else the target is -100."
SLIPS = (
    Slip("masks-special-tokens", "Special tokens are hidden too where they are chosen: the model would be asked for "
         "padding.", {"hide": "chosen"}),
    Slip("hides-special-tokens", "Special tokens are hidden in the inputs where they are chosen (the targets are right).",
         {"hide": "chosen", "ask": "right"}),
    Slip("asks-for-special-tokens", "Special tokens are asked for where they are chosen (the inputs are right).",
         {"ask": "chosen"}),
    Slip("asks-for-everything", f"Every token is asked for, also those that stand there to be copied. {ASK}",
         {"ask": "everything"}),
    Slip("asks-for-everything-real", f"Every token that is not special is asked for, also those that stand there to be "
         f"copied. {ASK}", {"ask": "everything real"}),
    Slip("asks-for-the-visible", f"The targets are the wrong way round: what is visible is asked for, what is hidden is "
         f"not. {ASK}", {"ask": "the visible"}),
    Slip("asks-for-the-visible", f"The targets are the wrong way round: what is visible is asked for, what is hidden is "
         f"not. {ASK}", {"ask": "the visible and real"}),
    Slip("labels-are-mask", "At the hidden places the target is mask_id: the tokens were overwritten before the targets "
         "were made. The target there is the token that is no longer to be seen.", {"label": "mask_id"}),
    Slip("labels-are-flags", "The targets say that a place is hidden; they must say which token was there.",
         {"label": "a flag"}),
    Slip("ignored-is-0", "Where nothing is asked the target is 0, which is a token. The loss passes over -100 only.",
         {"ignore": "0"}),
    Slip("ignored-is-minus-1", "Where nothing is asked the target is -1. The loss passes over -100 only.", {"ignore": "-1"}),
    Slip("ignored-is-mask", "Where nothing is asked the target is mask_id. The loss passes over -100 only.",
         {"ignore": "mask_id"}),
    Slip("nothing-hidden", "Nothing is hidden in the inputs: the model can copy what it is asked for.", {"hide": "nothing"}),
    Slip("hides-what-was-not-chosen", "The tokens that were *not* chosen are hidden.", {"hide": "not chosen"}),
    Slip("hides-everything", "All tokens that are not special are hidden, whether chosen or not.",
         {"hide": "all but special"}),
    Slip("special-the-wrong-way", "Only special tokens are hidden. True in `special` means: never hide this one.",
         {"hide": "chosen and special"}),
    Slip("all-special-hidden", "All special tokens are hidden, chosen or not.", {"hide": "chosen or special"}),
    Slip("fills-with-0", "The hidden places hold 0, whatever mask_id is.", {"fill": "0"}),
    Slip("fills-with-minus-100", "The hidden places hold -100, which is no token. They must hold mask_id.", {"fill": "-100"}),
    Slip("exchanged", "Inputs and targets are exchanged.", {"order": "exchanged"}),
    Slip("inputs-alone", "Only the inputs are returned; the targets are needed too.", {"order": "inputs"}),
    Slip("targets-alone", "Only the targets are returned; the inputs are needed too.", {"order": "targets"}),
    Slip("three-values", "Three values are returned; two are wanted, inputs and targets.", {"order": "three"}),
    Slip("targets-flattened", "The targets are flat; keep (B, T).", {"order": "flat"}),
    Slip("targets-shifted", "The targets are shifted by one place, as for a decoder. A masked model is asked for the token "
         "of the place itself.", {"shift": 1}),
)


def first_difference(seen):
    """The first place at which inputs or targets are off."""
    for probe, got, want in seen.pairs:
        if not isinstance(got, tuple | list) or len(got) != 2:
            continue
        tokens, chosen, mask_id, special = probe.args
        for name, mine, right in zip(("inputs", "targets"), got, want, strict=True):
            if not isinstance(mine, torch.Tensor) or mine.shape != right.shape or torch.equal(mine, right):
                continue
            b, t = (mine != right).nonzero()[0].tolist()
            what = f"{'chosen' if chosen[b, t] else 'not chosen'}, {'special' if special[b, t] else 'not special'}"
            says = f"The {name} hold {mine[b, t].item()} where {right[b, t].item()} belongs: token {tokens[b, t].item()}, {what}"
            return Finding(f"{name}-wrong", f"{says} (mask_id = {mask_id}).")
    return None


EXERCISE = Exercise(
    name="mask_tokens",
    reference=reference,
    parameters=("tokens", "chosen", "mask_id", "special"),
    parts=("inputs", "targets"),
    probes=PROBES,
    examples=(Example("token 2 is special, and so are the 0s; mask_id = 9:", EXAMPLE),),
    hints=(
        "First say which places are hidden: chosen, and not special. Both results follow from that one mask.",
        "The inputs hold mask_id at the hidden places. The targets hold -100 at all *other* places. Neither may change "
        "`tokens` itself.",
        "hidden = chosen & ~special; then tokens.masked_fill(hidden, …) and tokens.masked_fill(~hidden, …).",
    ),
    variant=stages,
    slips=SLIPS,
    measures=(first_difference,),
    look={
        "hide": "which places are hidden", "fill": "what is written over a hidden token", "ask": "which places are asked",
        "label": "the target at a hidden place", "ignore": "the target where nothing is asked", "order": "what is returned",
        "shift": "the place that a target belongs to",
    },
)  # fmt: skip
