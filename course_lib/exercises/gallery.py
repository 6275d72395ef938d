"""A known slip as a function: put it into a real model with `yours(..., anyway=True)` and read what it then says.

    with yours(scaled_dot_product_attention=slip("scaled_dot_product_attention", "scale-missing"), anyway=True):
        generate(decoder, prompt, 20)
"""

import torch

from course_lib.exercises.registry import find


def slips_of(name):
    """{slug: what is wrong} for every known slip of an exercise."""
    return {slip.slug: slip.says for slip in find(name).slips}


def slip(name, slug):
    """The function of exercise `name` with one known mistake in it. Raises ValueError, listing the slugs, if there is none.

    Where the mistake leaves a query nothing to attend to, NaN becomes 0, so that a model still says something.
    """
    exercise = find(name)
    found = next((s for s in exercise.slips if s.slug == slug), None)
    if found is None:
        raise ValueError(f"{name} has no slip {slug!r}; there are: {', '.join(slips_of(name))}")

    def mistaken(*args):
        result = exercise.variant(*args, **found.knobs)
        return tuple(_spoken(r) for r in result) if isinstance(result, tuple) else _spoken(result)

    mistaken.__doc__ = found.says
    return mistaken


def _spoken(value):
    return value.nan_to_num(0.0) if isinstance(value, torch.Tensor) and value.is_floating_point() else value
