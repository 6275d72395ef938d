"""One end of the line between two processes: asks the other end to do things, and meanwhile answers its questions.

An object that is handed over stays where it is; the other end gets a stand-in. Calling the stand-in asks its owner. So
a model of ours can be tested by a learner's function, or a learner's model by ours, without either leaving its process.
"""

import builtins
import copy

import torch
from torch import nn

from course_lib.classroom import wire
from course_lib.classroom.standins import RemoteCallable, RemoteModule, described, leaves

LARGEST, LONGEST = 100_000, 512  # numbers in an argument, and its longest axis, where the other end is not trusted
TAPES, EXPORTS = 200, 400  # calls kept for a backward pass; objects handed over


class Peer:
    """One end. `operations`: {name: function(*args)} that the other end may ask for, besides using what was exported."""

    def __init__(self, sock, operations=None, careful=False):
        self.sock, self.careful = sock, careful
        self.operations = {"use": self._use, "backward": self._backward, "clone": self._clone, **(operations or {})}
        self.exports, self.tapes, self.calls, self.deadline = {}, {}, 0, None

    def ask(self, operation, *args):
        """What the other end answers. Raises what it raised there, or wire.WireError if it cannot answer."""
        wire.send(self.sock, {"ask": operation, "args": list(args)}, self.export)
        while True:
            message = self._message()
            if "answer" in message:
                return message["answer"]
            if "raised" in message:
                raise named_error(message["raised"], str(message.get("text", "")))
            self._serve(message)

    def serve(self):
        """Answer questions until the other end hangs up."""
        while True:
            try:
                message = self._message()
            except wire.WireError:
                return
            self._serve(message)

    def _message(self):
        limit = wire.BLOCK_LIMIT if self.careful else 1 << 30
        message = wire.receive(self.sock, self._resolve, self.deadline, limit)
        if not isinstance(message, dict):
            raise wire.WireError("what was sent is no message")
        return message

    def _serve(self, message):
        try:
            answer = {"answer": self.operations[message.get("ask")](*message["args"])}
        except wire.WireError:
            raise
        except BaseException as error:  # also SystemExit, and the time-out of a learner's call
            answer = {"raised": type(error).__name__, "text": _text(error)}
        try:
            wire.send(self.sock, answer, self.export)
        except ValueError as error:  # for instance a number of ten thousand digits
            wire.send(self.sock, {"raised": type(error).__name__, "text": str(error)[:200]})

    # ---- what is handed over ----

    def export(self, thing):
        """A module or another callable as a reference; None for anything else."""
        if not callable(thing) or isinstance(thing, type):
            return None
        if isinstance(thing, RemoteCallable | RemoteModule):
            return {"own": thing.reference}
        number = next((n for n, known in self.exports.items() if known is thing), len(self.exports))
        if number >= EXPORTS:
            raise ValueError("too many objects were handed over")
        self.exports[number] = thing
        block = bytearray()
        about = described(thing) if isinstance(thing, nn.Module) else None
        return {"ref": number, "about": wire.pack(about, block), "block": block.hex()}

    def _resolve(self, item):
        if "own" in item:
            return self.exports[item["own"]]
        about = wire.unpack(item["about"], bytes.fromhex(item["block"]))
        return RemoteCallable(self, item["ref"]) if about is None else RemoteModule.whole(self, item["ref"], about)

    # ---- what the other end may ask for ----

    def _use(self, number, path, method, args, kwargs, state, grad):
        """Call an exported object: (result, number of the tape for `backward`, state of the random numbers)."""
        target = self.exports[number]
        if self.careful:
            _small_enough(leaves([args, kwargs]))
        inputs = [t for t in leaves([args, kwargs]) if t.requires_grad]
        if isinstance(target, nn.Module):
            _set_state(target, **state)
            inputs += [p for p in target.parameters() if p.requires_grad]
            target = _method(target.get_submodule(path), method)
        with torch.set_grad_enabled(grad):
            result = target(*args, **kwargs)
        self.calls += 1
        if grad:
            self.tapes[self.calls] = (inputs, [t for t in leaves(result) if t.requires_grad])
            self.tapes.pop(self.calls - TAPES, None)
        return result, self.calls, torch.get_rng_state() if state else None

    def _backward(self, tape, grads):
        inputs, outputs = self.tapes[tape]
        found = torch.autograd.grad(outputs, inputs, grads, allow_unused=True, retain_graph=True)
        return list(found)

    def _clone(self, number):
        return copy.deepcopy(self.exports[number])


def _small_enough(tensors):
    """Refuse inputs that would make a model of ours fill the memory."""
    for tensor in tensors:
        if tensor.numel() > LARGEST or max(tensor.shape, default=0) > LONGEST:
            raise ValueError(f"an input of shape {tuple(tensor.shape)} is too large here")


def _method(module, name):
    """The module itself, or one of its public methods."""
    if name == "__call__":
        return module
    if name not in described(module)["parts"][""]["methods"]:
        raise AttributeError(f"there is no method {name}")
    return getattr(module, name)


def _set_state(module, training, changed, chance):
    """Modes, parameters and random numbers as they are at the other end."""
    torch.set_rng_state(chance)
    for path, flag in training.items():
        module.get_submodule(path).training = bool(flag)
    with torch.no_grad():
        for name, value in changed.items():
            module.get_parameter(name).copy_(value)


def _text(error):
    try:
        return str(error)[:2000]
    except Exception as broken:  # an exception class whose __str__ fails itself
        return f"(its text cannot be read: {type(broken).__name__})"


def named_error(name, text):
    """An exception of that name: Python's own where there is one, else one made for the purpose."""
    known = getattr(builtins, str(name), None)
    if isinstance(known, type) and issubclass(known, Exception) and known not in (UnicodeDecodeError, UnicodeEncodeError):
        try:
            return known(text)
        except TypeError:  # one that wants more than a text, such as a group of exceptions
            return RuntimeError(text)
    return type(str(name)[:60] or "Error", (Exception,), {})(text)
