"""Cutting a text into pieces that can be put together again without loss: for dates and number words."""

import re

PIECE = re.compile(r"\d|[^\W\d_]+|\s|.", re.DOTALL)  # a digit, a run of letters, a blank, or any other sign


def pieces(text):
    """Words, single digits, blanks and signs, each a piece: "May 3, 19" -> ["May", " ", "3", ",", " ", "1",
    "9"].
    """
    return PIECE.findall(text)


def together(pieces):
    """The text again: together(pieces(text)) == text."""
    return "".join(pieces)
