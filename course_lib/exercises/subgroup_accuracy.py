"""Exercise: accuracy for each group by itself, and the number of cases behind it."""

import torch

from course_lib.exercises.exercise import Example, Exercise, Finding, Probe, Slip
from course_lib.tasks.subgroups import subgroup_accuracy as reference


def case(n, n_groups, seed, empty=()):
    """Random predictions, truths and groups; none of the cases is in a group of `empty`."""
    generator = torch.Generator().manual_seed(seed)
    predicted, truth = torch.randint(4, (2, n), generator=generator)
    allowed = torch.tensor([group for group in range(n_groups) if group not in empty])
    groups = allowed[torch.randint(len(allowed), (n,), generator=generator)]
    truth = torch.where(torch.rand(n, generator=generator) < 0.5, predicted, truth)
    return predicted, truth, groups, n_groups


EVERY, EMPTY = "every group has cases", "a group has no cases"
PROBES = (
    Probe(case(40, 2, seed=1), (EVERY, "there are two groups")),
    Probe(case(60, 5, seed=2), (EVERY, "there are five groups")),
    Probe(case(200, 3, seed=3), (EVERY, "there are 200 cases")),
    Probe(case(30, 4, seed=4, empty=(1,)), (EMPTY, "the group in the middle is empty")),
    Probe(case(30, 4, seed=5, empty=(3,)), (EMPTY, "the last group is empty")),
    Probe(case(25, 1, seed=6), (EVERY, "there is one group")),
)


def stages(predicted, truth, groups, n_groups, *, per="cases", empty="nan", what="right", by="groups",
           report="cases", which="all", pick="its cases"):  # fmt: skip
    """Right or wrong, gathered by group, divided by a number of cases."""
    hit = (predicted == truth).float()
    hit = {"right": hit, "wrong": 1 - hit}[what]
    keys = {"groups": groups, "truth": truth, "predicted": predicted}[by]
    members = [keys == group for group in (range(n_groups) if which == "all" else keys.unique())]
    cases = torch.stack([member.sum() for member in members])
    picked = members if pick == "its cases" else range(len(members))
    hits = torch.stack([hit[which_ones].sum() for which_ones in picked])
    below = {"cases": cases, "all": len(hit), "hits": hit.sum(), "nothing": 1}[per]
    accuracy = torch.full_like(hits, hit.mean()) if per == "overall" else hits / below if per != "nothing" else hits
    fill = {"nan": float("nan"), "zero": 0.0, "one": 1.0}[empty]
    accuracy = torch.where(cases == 0, fill, accuracy) if per == "cases" else accuracy
    return accuracy, {"cases": cases, "hits": hits.long(), "shares": cases / len(hit)}[report]


SLIPS = (
    Slip("divided-by-all-cases", "Each group's hits are divided by the number of *all* cases: a small group then looks "
         "bad whatever the model does.", {"per": "all"}),
    Slip("share-of-the-hits", "This is each group's share of all right answers, not its accuracy.", {"per": "hits"}),
    Slip("hits-not-shares", "These are counts of right answers. An accuracy is a share of the group's own cases.",
         {"per": "nothing"}),
    Slip("empty-group-is-zero", "A group without cases gets accuracy 0, as if the model had failed it. Nobody was asked: "
         "it is NaN.", {"empty": "zero"}),
    Slip("empty-group-is-one", "A group without cases gets accuracy 1, as if the model had served it well. Nobody was "
         "asked: it is NaN.", {"empty": "one"}),
    Slip("picks-one-case", "`right[group]` is the single case with that number. The cases *of* a group are picked by a "
         "comparison: groups == group.", {"pick": "case number group"}),
    Slip("error-rate", "This is the share of *wrong* predictions.", {"what": "wrong"}),
    Slip("grouped-by-truth", "The cases are gathered by their true answer, not by their group.", {"by": "truth"}),
    Slip("grouped-by-prediction", "The cases are gathered by what was predicted, not by their group.",
         {"by": "predicted"}),
    Slip("hits-reported-as-cases", "The second value holds the right answers of each group; it must hold all its cases.",
         {"report": "hits"}),
    Slip("shares-reported-as-cases", "The second value holds shares; it must hold the number of cases of each group.",
         {"report": "shares"}),
    Slip("empty-groups-left-out", "Groups without cases are missing from the result, and those after them have moved up: "
         "there must be n_groups entries.", {"which": "present"}),
)  # fmt: skip


def same_for_all(seen):
    """One number, repeated."""
    for _, got, _ in seen.pairs:
        accuracy = got[0] if isinstance(got, tuple | list) and got else None
        if not isinstance(accuracy, torch.Tensor) or accuracy.numel() < 2 or accuracy.unique().numel() > 1:
            return None
    says = "Every group gets the same accuracy: look at one group at a time."
    return Finding("same-for-all-groups", says) if seen.pairs else None


EXERCISE = Exercise(
    name="subgroup_accuracy",
    reference=reference,
    parameters=("predicted", "truth", "groups", "n_groups"),
    parts=("accuracy", "cases"),
    probes=PROBES,
    examples=(
        Example(
            "predicted 0 1 1 0, truth 0 1 0 0, groups 0 0 1 1:",
            (torch.tensor([0, 1, 1, 0]), torch.tensor([0, 1, 0, 0]), torch.tensor([0, 0, 1, 1]), 2),
        ),
    ),
    hints=(
        "Which cases belong to group 0? A comparison gives a tensor of True and False, and that can pick elements.",
        "For each group: sum up `right` among its cases, and count its cases. Then divide one by the other.",
        "right = (predicted == truth).float(); for each group, right[groups == group].sum() and (groups == group).sum(); "
        "0 / 0 is NaN by itself.",
    ),
    variant=stages,
    slips=SLIPS,
    measures=(same_for_all,),
    look={
        "per": "what you divide by",
        "empty": "what happens to a group without cases",
        "what": "what counts as right",
        "by": "what the cases are gathered by",
        "report": "the second value",
        "which": "over which groups you loop",
        "pick": "which cases are summed up for a group",
    },
)
