"""Has the learner begun? Read from the compiled function, so that it works wherever the function was defined."""

import dis
import functools
import inspect

from torch import nn

HARMLESS = {
    "RESUME", "NOP", "CACHE", "PUSH_NULL", "PRECALL", "KW_NAMES", "CALL", "POP_TOP", "COPY_FREE_VARS", "MAKE_CELL",
    "LOAD_GLOBAL", "LOAD_NAME", "LOAD_CONST", "LOAD_COMMON_CONSTANT", "RAISE_VARARGS", "RETURN_CONST", "RETURN_VALUE",
    "RETURN_GENERATOR", "NOT_TAKEN",
}  # fmt: skip


def code_of(candidate):
    """The code object behind a function, method, partial or callable object; None for builtins and classes."""
    while isinstance(candidate, functools.partial):
        candidate = candidate.func
    candidate = inspect.unwrap(candidate) if inspect.isfunction(candidate) else candidate
    if not inspect.isclass(candidate) and not hasattr(candidate, "__code__") and not inspect.ismethod(candidate):
        candidate = getattr(type(candidate), "forward", None) or getattr(type(candidate), "__call__", candidate)
    return getattr(getattr(candidate, "__func__", candidate), "__code__", None)


def not_started(candidate):
    """True if the body is only a docstring, `...`, pass or raise NotImplementedError, or still holds a `name = ...`.

    A class is not started while every function that it defines is not, `__init__` aside.
    """
    if inspect.isclass(candidate):
        own = [f for name, f in vars(candidate).items() if inspect.isfunction(f) and name != "__init__"]
        inherits = getattr(candidate, "forward", nn.Module.forward) is not nn.Module.forward
        return all(map(not_started, own)) if own else not inherits and candidate.__module__ != "builtins"
    code = code_of(candidate)
    if code is None:
        return False
    steps = list(dis.get_instructions(code))
    if any(_fills_a_gap(one, two) for one, two in zip(steps, steps[1:], strict=False)):
        return True
    if {s.opname for s in steps} - HARMLESS:
        return False
    if any(s.opname == "RAISE_VARARGS" for s in steps):
        return set(code.co_names) <= {"NotImplementedError"}
    return all(s.argval is None for s in steps if s.opname in ("LOAD_CONST", "RETURN_CONST"))


def _fills_a_gap(one, two):
    """`name = ...` or `return ...`: the place where the learner's line belongs."""
    return one.argval is ... and (one.opname == "RETURN_CONST" or two.opname.startswith(("STORE_FAST", "RETURN_VALUE")))


def words_in(candidate):
    """Names and constants that occur in the candidate's code, nested functions included: to word a message by."""
    codes, words = [code_of(candidate)], set()
    for code in codes:
        if code is not None:
            words |= set(code.co_names) | {c for c in code.co_consts if isinstance(c, str | int | float)}
            codes.extend(c for c in code.co_consts if inspect.iscode(c))
    return words
