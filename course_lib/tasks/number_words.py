"""Numbers in words in two languages of your choice: "ninety-seven" and "quatre-vingt-dix-sept".

Both come from num2words (LGPL), so the truth is known for every number. French counts in twenties from 80 on
and says "soixante et onze" for 71, so word by word does not work. Numbers that no rule can yield (up to 20,
and those with one digit other than 0, such as 30 or 400) are always among those to train on; all others may
be held out.
"""

import torch
from num2words import num2words

from course_lib.tasks.pairs import Pair, Translation
from course_lib.tasks.spelled import pieces, together


def in_words(number, language):
    """A whole number in words."""
    try:
        return num2words(number, lang=language)
    except NotImplementedError as error:
        raise ValueError(f'num2words knows no language {language!r}; try "en", "fr", "de", "es" or "ja"') from error


def number_words(last=99, n_train=None, n_held_out=20, source="en", target="fr", characters=False, seed=0):
    """Pairs for different numbers from 0 to last, split without overlap: a Translation.

    n_train: how many to train on; None takes all that are not held out. characters: cut into characters
    instead of words, for languages such as German or Italian that write a number as one word.
    """
    numbers = torch.randperm(last + 1, generator=torch.Generator().manual_seed(seed)).tolist()
    basic = [number for number in numbers if is_basic(number)]
    composed = [number for number in numbers if not is_basic(number)]
    n_train = len(numbers) - n_held_out if n_train is None else n_train
    if not 0 < n_held_out <= len(composed) or not len(basic) < n_train <= len(numbers) - n_held_out:
        raise ValueError(
            f"of the numbers 0 to {last}, {len(composed)} may be held out, more than {len(basic)} must be "
            f"trained on; got n_train = {n_train}, n_held_out = {n_held_out}"
        )
    chosen = basic + composed[n_held_out:][: n_train - len(basic)]
    cut = list if characters else pieces

    def pairs(numbers):
        return [Pair(tuple(cut(in_words(n, source))), tuple(cut(in_words(n, target)))) for n in numbers]

    return Translation(pairs(chosen), pairs(composed[:n_held_out]), cut=cut, join_source=together, join_target=together)


def is_basic(number):
    """True if no rule yields the number's name: up to 20, or one digit other than 0 and then zeros."""
    return number <= 20 or not str(number)[1:].strip("0")
