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
    """True if the body is only a docstring, `...`, pass or raise NotImplementedError, or still has an open gap.

    A class is not started while every function that it defines is not, `__init__` aside.
    """
    if inspect.isclass(candidate):
        own = [f for name, f in vars(candidate).items() if inspect.isfunction(f) and name != "__init__"]
        inherits = getattr(candidate, "forward", nn.Module.forward) is not nn.Module.forward
        return all(map(not_started, own)) if own else not inherits and candidate.__module__ != "builtins"
    code = code_of(candidate)
    if code is None:
        return False
    if gap_is_open(candidate):
        return True
    steps = list(dis.get_instructions(code))
    if {s.opname for s in steps} - HARMLESS:
        return False
    if any(s.opname == "RAISE_VARARGS" for s in steps):
        return set(code.co_names) <= {"NotImplementedError"}
    return all(s.argval is None for s in steps if s.opname in ("LOAD_CONST", "RETURN_CONST"))


def gap_is_open(candidate):
    """True if `...` still stands in the place of a value: `name = ...`, `x / ...`, `f(...)`. `x[..., 0]` is no gap."""
    code = None if inspect.isclass(candidate) else code_of(candidate)
    steps = [] if code is None else list(dis.get_instructions(code))
    following = steps[1:] + steps[-1:]  # the last, where nothing follows: in Python 3.12 and 3.13 `return ...` is one step
    return any(_is_a_gap(one, two) for one, two in zip(steps, following, strict=True))


def _is_a_gap(one, two):
    """The constant `...`, and then a step that takes it for a value: stored, returned, handed over, reckoned with."""
    if one.argval is not ...:
        return False
    subscript = two.opname == "BINARY_OP" and "[" in two.argrepr  # so from Python 3.14 on
    takes = ("STORE_FAST", "RETURN_VALUE", "UNPACK_SEQUENCE", "PRECALL", "KW_NAMES", "CALL", "COMPARE_OP", "BINARY_OP")
    return one.opname == "RETURN_CONST" or (two.opname.startswith(takes) and not subscript)


def words_in(candidate):
    """Names and constants that occur in the candidate's code, nested functions included: to word a message by."""
    codes, words = [code_of(candidate)], set()
    for code in codes:
        if code is not None:
            words |= set(code.co_names) | {c for c in code.co_consts if isinstance(c, str | int | float)}
            codes.extend(c for c in code.co_consts if inspect.iscode(c))
    return words
