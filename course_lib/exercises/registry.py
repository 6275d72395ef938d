"""All exercises by name."""

import difflib
import functools
import importlib

MODULES = (
    "scaled_dot_product_attention",
    "split_heads",
    "merge_heads",
    "multi_head_attention",
    "causal_mask",
    "future_perturbation",
    "layer_norm",
    "encoder_block",
    "decoder_block",
    "sinusoidal_pe",
    "rotary",
    "shift_right",
    "cross_attention",
    "greedy_decode",
    "encoder_block_param_count",
    "mask_tokens",
    "prefix_mask",
    "rms_norm",
    "subgroup_accuracy",
    "exposure",
    "online_attention",
    "largest_tile",
    "work_slope",
)


@functools.cache
def all_exercises():
    """{name: Exercise}, in the order in which the notebooks meet them."""
    modules = [importlib.import_module(f"course_lib.exercises.{name}") for name in MODULES]
    hunts = importlib.import_module("course_lib.exercises.bug_hunts").HUNTS
    exercises = [module.EXERCISE for module in modules]
    exercises += [exercise for hunt in hunts for exercise in hunt.exercises()]
    return {exercise.name: exercise for exercise in exercises}


def find(name):
    """The exercise of that name. Raises ValueError, listing the names, if there is none."""
    exercises = all_exercises()
    if not isinstance(name, str):
        raise ValueError('the name of the exercise comes first, in quotes, as in check("layer_norm", layer_norm)')
    if name not in exercises:
        near = difflib.get_close_matches(name, exercises, n=1)
        meant = f" (did you mean {near[0]!r}?)" if near else ""
        raise ValueError(f"there is no exercise {name!r}{meant}; there are: {', '.join(exercises)}")
    return exercises[name]
