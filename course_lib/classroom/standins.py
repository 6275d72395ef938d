"""Stand-ins for objects that live in another process. Gradients flow through them as if they were here."""

import dataclasses
from types import SimpleNamespace

import torch
from torch import nn

PLAIN = bool | int | float | str | None


def leaves(value):
    """Every tensor in nested lists, tuples and dicts, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for part in value for t in leaves(part)] if isinstance(value, list | tuple) else []


def rebuilt(value, tensors):
    """The same nesting with other tensors: those of the iterator `tensors` where it has one that is not None."""
    if isinstance(value, torch.Tensor):
        other = next(tensors)
        return value if other is None else other
    if isinstance(value, list | tuple):
        return type(value)(rebuilt(v, tensors) for v in value)
    return {k: rebuilt(v, tensors) for k, v in value.items()} if isinstance(value, dict) else value


def described(module):
    """What a stand-in must know of a module: for each submodule its parameters, buffers, plain attributes, methods."""
    parts = {}
    for path, part in module.named_modules():
        plain = {k: v for k, v in vars(part).items() if not k.startswith("_") and isinstance(v, PLAIN) and k != "training"}
        records = {k: {f.name: getattr(v, f.name) for f in dataclasses.fields(v) if isinstance(getattr(v, f.name), PLAIN)}
                   for k, v in vars(part).items() if dataclasses.is_dataclass(v) and not isinstance(v, type)}  # fmt: skip
        own = [c for c in type(part).__mro__ if not issubclass(nn.Module, c)]
        methods = sorted({n for c in own for n, f in vars(c).items() if callable(f) and not n.startswith("_")})
        parts[path] = {
            "parameters": {k: p for k, p in part._parameters.items() if p is not None},
            "buffers": {k: b for k, b in part._buffers.items() if b is not None},
            "plain": plain, "records": records, "methods": methods, "training": part.training,
        }  # fmt: skip
    return {"parts": parts}


class RemoteCallable:
    """A function that lives at the other end."""

    def __init__(self, peer, reference):
        self.peer, self.reference = peer, reference

    def __call__(self, *args, **kwargs):
        return across(self.peer, self.reference, "", "__call__", args, kwargs)

    def __deepcopy__(self, memo):
        return self


class RemoteModule(nn.Module):
    """A module that lives at the other end, or a part of one. It has the same parameters and the same modes."""

    def __init__(self, peer, reference, path, about):
        super().__init__()
        for name, value in (("peer", peer), ("reference", reference), ("path", path), ("root", self), ("sent", {})):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "methods", frozenset(about["methods"]))
        for name, value in about["parameters"].items():
            self.register_parameter(name, nn.Parameter(value.detach().clone(), requires_grad=value.requires_grad))
        for name, value in about["buffers"].items():
            self.register_buffer(name, value)
        for name, value in about["plain"].items():
            if name.isidentifier() and not hasattr(nn.Module, name) and not hasattr(self, name):
                setattr(self, name, value)
        for name, fields in about["records"].items():
            setattr(self, name, SimpleNamespace(**fields))
        self.training = bool(about["training"])

    @classmethod
    def whole(cls, peer, reference, about):
        """The stand-in for a whole module, from what `described` says of it."""
        root = cls(peer, reference, "", about["parts"][""])
        nodes = {"": root}
        for path in sorted((p for p in about["parts"] if p), key=lambda p: p.count(".")):
            above, _, name = path.rpartition(".")
            nodes[path] = RemoteModule(peer, reference, path, about["parts"][path])
            object.__setattr__(nodes[path], "root", root)
            nodes[above].add_module(name, nodes[path])
        root.sent.update({name: p.detach().clone() for name, p in root.named_parameters()})
        return root

    def forward(self, *args, **kwargs):
        return self._ask("__call__", args, kwargs)

    def __getattr__(self, name):
        if name in object.__getattribute__(self, "methods"):
            return lambda *args, **kwargs: self._ask(name, args, kwargs)
        return super().__getattr__(name)

    def __deepcopy__(self, memo):
        return self.peer.ask("clone", self.root.reference)

    def _ask(self, method, args, kwargs):
        root = self.root
        training = {path: part.training for path, part in root.named_modules()}
        parameters = dict(root.named_parameters())
        changed = {n: p.detach() for n, p in parameters.items() if not torch.equal(p, root.sent[n])}
        root.sent.update({name: value.clone() for name, value in changed.items()})
        state = {"training": training, "changed": changed, "chance": torch.get_rng_state()}
        wanted = [p for p in parameters.values() if p.requires_grad]
        return across(self.peer, root.reference, self.path, method, args, kwargs, state, wanted)


def across(peer, reference, path, method, args, kwargs, state=None, parameters=()):
    """Ask the other end for a call; with gradients where they are wanted. state: of a module, see `RemoteModule._ask`."""
    inputs = [*(t for t in leaves([args, kwargs]) if t.requires_grad), *parameters]
    grad = torch.is_grad_enabled() and bool(inputs)
    request = (reference, path, method, list(args), kwargs, state, grad)
    if not grad:
        return _asked(peer, request)[0]
    box = []
    outputs = iter(Across.apply(peer, request, box, *inputs))
    result = box[0]
    return rebuilt(result, iter([next(outputs) if t.requires_grad else None for t in leaves(result)]))


def _asked(peer, request):
    """(result, tape); the random numbers go on here where they stopped there."""
    result, tape, chance = peer.ask("use", *request)
    if chance is not None:
        torch.set_rng_state(chance)
    return result, tape


class Across(torch.autograd.Function):
    """A call at the other end, whose backward pass is asked for there too."""

    @staticmethod
    def forward(ctx, peer, request, box, *inputs):
        result, tape = _asked(peer, request)
        box.append(result)
        ctx.peer, ctx.tape = peer, tape
        return tuple(t.detach() for t in leaves(result) if t.requires_grad)

    @staticmethod
    def backward(ctx, *grads):
        return None, None, None, *ctx.peer.ask("backward", ctx.tape, list(grads))
