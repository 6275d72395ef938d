"""Dates in words in two languages of your choice: "Monday, September 3, 1973" and "lundi 3 septembre 1973".

Both come from Babel's locale data (CLDR, Unicode licence; Babel is under the BSD licence), so the truth is
known for every day of every year, in hundreds of languages: "en", "fr", "de", "hi", "ja", … A model must put
the parts in the order of the other language, and copy the year, digit by digit. Check a date by hand with
`in_words`.
"""

import datetime

import torch
from babel import UnknownLocaleError
from babel.dates import format_date

from course_lib.tasks.pairs import Pair, Translation
from course_lib.tasks.spelled import pieces, together

FIRST, LAST = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)


def in_words(day, language):
    """A datetime.date in words, as people who speak the language write it in full."""
    try:
        return format_date(day, format="full", locale=language)
    except (UnknownLocaleError, ValueError) as error:
        raise ValueError(f'Babel knows no language {language!r}; try "en", "fr", "de", "es", "hi" or "ja"') from error


def dates(n_train=5000, n_held_out=500, source="en", target="fr", seed=0):
    """Distinct days between 1900 and 2099, split without overlap: a Translation."""
    n_days = (LAST - FIRST).days + 1
    if not 0 < n_train + n_held_out <= n_days:
        raise ValueError(f"there are {n_days} days from 1900 to 2099; n_train + n_held_out is {n_train + n_held_out}")
    chosen = torch.randperm(n_days, generator=torch.Generator().manual_seed(seed))[: n_train + n_held_out]
    pairs = []
    for offset in chosen.tolist():
        day = FIRST + datetime.timedelta(days=offset)
        pairs.append(Pair(tuple(pieces(in_words(day, source))), tuple(pieces(in_words(day, target)))))
    return Translation(pairs[:n_train], pairs[n_train:], cut=pieces, join_source=together, join_target=together)
