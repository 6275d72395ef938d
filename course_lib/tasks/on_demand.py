"""A model that can be put away to make room for another, and comes back by itself when it is next used."""

import ctypes
import functools
import sys


class OnDemand:
    """For a class with a field `load`, a function that gives a model: `.model` calls it at its first use and keeps it."""

    @functools.cached_property
    def model(self):
        return self.load()

    def put_away(self):
        """Free the model's memory. Whoever asks for `.model` again waits for `load()` again."""
        self.__dict__.pop("model", None)
        give_back()


def give_back():
    """Hand freed memory back to the system, which glibc does only when asked; elsewhere there is nothing to ask."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
