"""Runs a learner's function on given arguments and reports all that happened. Nothing else touches a candidate.

`InProcess(candidate).call(args)` is the notebook's runner. It stops endless loops, but shares the process: memory,
forks, `os._exit`, a long C call and a bare `except:` around an endless loop are contained only when marking, where a
runner with the same interface uses a child process.
"""

import contextlib
import copy
import ctypes
import io
import linecache
import random
import signal
import sys
import threading
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

LIBRARY = str(Path(__file__).parents[1])  # a line of the library's own is not the learner's
LIMIT = 3.0  # seconds for one call; our probes take a few milliseconds at most
AGAIN = 0.1  # seconds until the next shot, should the learner's code swallow the first


class TimeUp(BaseException):
    """Raised inside a call that takes too long. No Exception, so that `except Exception` does not swallow it."""


class Stopped(KeyboardInterrupt):
    """Raised inside a call when the learner interrupts the kernel; a KeyboardInterrupt may be the candidate's own."""


@dataclass(frozen=True)
class Raised:
    """An exception of the learner's, in words: it can be compared, kept and sent between processes."""

    kind: str  # name of its type
    text: str
    line_number: int | None
    line: str  # the learner's line, where it can be read

    @property
    def timed_out(self):
        return self.kind == "TimeUp"


@dataclass(frozen=True)
class Outcome:
    """What one call did."""

    output: object
    inputs_after: tuple  # the arguments as the call left them
    gradients: tuple | None  # of the summed output with respect to each argument; None where there is none
    raised: Raised | None
    seconds: float  # by the clock
    cpu: float = 0.0  # CPU seconds: what a busy machine does not add to


class InProcess:
    """Runner of the notebook: in this process, with a watchdog."""

    def __init__(self, candidate, limit=None):
        self.candidate, self.limit = candidate, LIMIT if limit is None else limit

    def call(self, args, grad=False):
        """Call the candidate on copies of args. The Outcome tells; nothing is raised but Stopped, by the learner."""
        args = tuple(_copy(a, grad) for a in args)
        output = gradients = raised = None
        started, worked = time.perf_counter(), time.process_time()
        try:
            with torch.set_grad_enabled(grad), _silence(), _stop_button():
                output = limited(lambda: self.candidate(*args), self.limit)
                gradients = _gradients(output, args) if grad else None
        except Stopped:
            raise
        except BaseException as error:  # TimeUp included, and SystemExit from the learner's code
            raised = _describe(error)
        return Outcome(output, args, gradients, raised, time.perf_counter() - started, time.process_time() - worked)


def limited(function, limit):
    """function(), or TimeUp after `limit` seconds: by a signal in the main thread, by an asynchronous exception else."""
    in_main = threading.current_thread() is threading.main_thread()
    watch = _by_signal if in_main and hasattr(signal, "setitimer") else _by_thread
    return watch(function, limit)


def _by_signal(function, limit):
    state = SimpleNamespace(over=False, done=False)  # plain flags: a shot that lands inside a lock would leave it locked

    def shoot(signum, frame):
        if not state.over:
            raise TimeUp(f"stopped after {limit:g} s")

    def stop():
        if not state.done:
            state.over = True  # from here on there is no further shot
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler_before)
            if timer_before[0]:  # somebody else's alarm, pytest's for instance: let it go on
                left = max(timer_before[0] - (time.monotonic() - started), 0.001)
                signal.setitimer(signal.ITIMER_REAL, left, timer_before[1])
            state.done = True  # an interrupt before this line comes back, and does it all again

    def run():
        signal.setitimer(signal.ITIMER_REAL, limit, AGAIN)  # not before: a shot outside _stopping would end without stop
        return function()

    started = time.monotonic()
    timer_before = signal.setitimer(signal.ITIMER_REAL, 0)
    handler_before = signal.signal(signal.SIGALRM, shoot)
    return _stopping(run, stop)


def _by_thread(function, limit):
    target, state = threading.get_ident(), SimpleNamespace(begun=False, over=False, gone=False)

    def watch():
        next_shot = time.monotonic() + limit
        while not state.over:
            if state.begun and time.monotonic() >= next_shot:
                _raise_in(target, TimeUp)
                next_shot = time.monotonic() + AGAIN
            time.sleep(0.001)
        state.gone = True

    def run():
        state.begun = True
        return function()

    def stop():
        state.over = True
        while not state.gone:  # once the watcher is gone there is no further shot,
            time.sleep(0.0002)
        _raise_in(target, None)  # and one that has not arrived yet is taken back

    threading.Thread(target=watch, daemon=True).start()
    return _stopping(run, stop)


def _stopping(function, stop):
    """function(), then stop() to its end, wherever a late shot arrives; the next one is AGAIN seconds away."""
    try:
        try:
            return function()
        finally:
            _until_done(stop)
    finally:
        _until_done(stop)


def _until_done(action):
    """Run `action` to its end, even if a late shot arrives in the middle of it."""
    while True:
        try:
            action()
            return
        except TimeUp:
            continue


def _raise_in(thread_id, exception):
    """Make a thread raise `exception` at its next step; None takes back one that has not been raised yet."""
    pointer = None if exception is None else ctypes.py_object(exception)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), pointer)


@contextlib.contextmanager
def _stop_button():
    """Inside, an interrupt of the kernel raises Stopped: it is no verdict on the candidate, and ends the check."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return

    def stop(signum, frame):
        raise Stopped("you stopped the check")

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def surroundings_kept():
    """Leave random numbers, threads, grad mode, default dtype and recursion limit as they were."""
    torch_state, python_state, numpy_state = torch.get_rng_state(), random.getstate(), np.random.get_state()
    threads, dtype, grad = torch.get_num_threads(), torch.get_default_dtype(), torch.is_grad_enabled()
    depth = sys.getrecursionlimit()
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        torch.set_rng_state(torch_state)
        random.setstate(python_state)
        np.random.set_state(numpy_state)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(grad)
        sys.setrecursionlimit(depth)


@contextlib.contextmanager
def _silence():
    """What the candidate prints or warns about would stand between the learner and the answer."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def _copy(value, grad=False):
    """A copy the candidate may spoil; a floating-point tensor asks for gradients where they are wanted."""
    if isinstance(value, torch.Tensor):
        value = value.detach().clone()
        return value.requires_grad_() if grad and value.is_floating_point() else value
    return copy.deepcopy(value)


def _gradients(output, args):
    """Gradient of the summed output with respect to each argument, None where the output does not hang on it."""
    outputs = [t for t in (output if isinstance(output, tuple | list) else (output,)) if _has_gradient(t)]
    wanted = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
    if not outputs or not wanted:
        return tuple(None for _ in args)
    found = iter(torch.autograd.grad(sum(t.sum() for t in outputs), wanted, allow_unused=True))
    return tuple(next(found) if any(a is w for w in wanted) else None for a in args)


def _has_gradient(value):
    return isinstance(value, torch.Tensor) and value.requires_grad


def _describe(error):
    """An exception in words, with the last of the learner's own lines it passed through."""
    lines = []
    trace = error.__traceback__
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        ours = any(folder in filename for folder in ("site-packages", "exercises", "classroom"))
        if not ours and not filename.startswith((LIBRARY, contextlib.__file__)):
            lines.append((trace.tb_lineno, linecache.getline(filename, trace.tb_lineno).strip()))
        trace = trace.tb_next
    number, line = lines[-1] if lines else (None, "")
    try:
        text = str(error)
    except Exception as broken:  # an exception class of the learner's whose __str__ fails itself
        text = f"(its text cannot be read: {type(broken).__name__})"
    return Raised(type(error).__name__, text, number, line)
