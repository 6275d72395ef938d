"""What two processes say to each other: plain values and tensors, in a form that cannot carry code.

A message is a JSON text and a block of bytes. Tensors lie in the block; the text says dtype, shape and place. Nothing
is ever unpickled, so whatever a learner's process sends, reading it can only give numbers, words, lists, or a WireError.
"""

import json
import struct
import time

import numpy as np
import torch

DTYPES = {str(d).removeprefix("torch."): d for d in (
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool, torch.complex64, torch.complex128)}  # fmt: skip
HEAD = struct.Struct("!QQ")  # bytes of text, bytes of the block
TEXT_LIMIT, BLOCK_LIMIT = 4 << 20, 64 << 20
WORDS_LIMIT = 20_000  # characters of one string
SENDING = 30.0  # seconds for the other side to take a message


class WireError(Exception):
    """The other side sent what is no message, or is gone, or too slow."""


class Odd:
    """Stands for a value that cannot be sent; its type bears the name that the value's type had."""


def odd(name):
    """An object whose type has this name: so that a message can say "it returned a dict_keys"."""
    return type(str(name)[:60] or "object", (Odd,), {})()


def pack(value, block, export=None):
    """A value as something JSON can hold; tensors are appended to `block`, a bytearray. export(object) -> dict or None."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and not isinstance(value, np.generic):
        return value if isinstance(value, float) or abs(value) < 2**200 else {"odd": "int"}
    if isinstance(value, str):
        return value[:WORDS_LIMIT]
    if isinstance(value, list):
        return [pack(v, block, export) for v in value]
    if isinstance(value, tuple):
        return {"tuple": [pack(v, block, export) for v in value]}
    if type(value) is dict and all(isinstance(k, str) for k in value):
        return {"dict": [[k, pack(v, block, export)] for k, v in value.items()]}
    if isinstance(value, torch.Tensor):
        return _pack_tensor(value, block)
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biuf":
        return _pack_tensor(torch.from_numpy(np.array(value, order="C")), block) | {"numpy": True}
    exported = export(value) if export else None
    return exported or {"odd": type(value).__name__}


def _pack_tensor(tensor, block):
    name = str(tensor.dtype).removeprefix("torch.")
    if tensor.layout != torch.strided or name not in DTYPES or tensor.device.type == "meta":
        return {"odd": type(tensor).__name__}
    order = sorted(range(tensor.ndim), key=lambda axis: -tensor.stride(axis))  # a transposed view stays one
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().permute(order).contiguous()
    raw = plain.flatten().view(torch.uint8).numpy().tobytes() if plain.numel() else b""
    at = len(block)
    block += raw
    return {"tensor": name, "shape": list(plain.shape), "order": order, "at": at, "grad": bool(tensor.requires_grad)}


def unpack(item, block, resolve=None):
    """The value again. resolve(dict) -> object for what `export` packed. Raises WireError for anything else."""
    if item is None or isinstance(item, bool | int | float | str):
        return item
    if isinstance(item, list):
        return [unpack(i, block, resolve) for i in item]
    if "tuple" in item:
        return tuple(unpack(i, block, resolve) for i in item["tuple"])
    if "dict" in item:
        return {str(k): unpack(v, block, resolve) for k, v in item["dict"]}
    if "tensor" in item:
        return _unpack_tensor(item, block)
    if "odd" in item:
        return odd(item["odd"])
    if resolve is None:
        raise WireError("an object was sent where only values are allowed")
    return resolve(item)


def _unpack_tensor(item, block):
    dtype, shape, at = DTYPES[item["tensor"]], item["shape"], item["at"]
    order = item.get("order") or list(range(len(shape)))
    if len(shape) > 16 or sorted(order) != list(range(len(shape))) or not all(type(n) is int and 0 <= n <= BLOCK_LIMIT for n in shape) or type(at) is not int:
        raise WireError("a tensor of an impossible shape was sent")
    count = 1
    for n in shape:
        count *= n
    if at < 0 or at + count * dtype.itemsize > len(block):
        raise WireError("a tensor was sent without all of its numbers")
    raw = torch.frombuffer(bytearray(block[at : at + count * dtype.itemsize]), dtype=torch.uint8) if count else None
    if raw is None:
        tensor = torch.empty(shape, dtype=dtype)
    else:
        tensor = (raw != 0 if dtype == torch.bool else raw.view(dtype)).reshape(shape)
    tensor = tensor.permute([order.index(axis) for axis in range(len(order))])
    if item.get("numpy"):
        return tensor.numpy() if shape else tensor.numpy()[()]
    wants = item.get("grad") is True and (dtype.is_floating_point or dtype.is_complex)
    return tensor.requires_grad_() if wants else tensor


def send(sock, value, export=None):
    """Write one message to a socket."""
    block = bytearray()
    text = json.dumps(pack(value, block, export)).encode()
    if len(text) > TEXT_LIMIT:
        raise WireError("the answer is too long to be sent")
    sock.settimeout(SENDING)
    try:
        sock.sendall(HEAD.pack(len(text), len(block)) + text + bytes(block))
    except OSError as error:  # a time-out is one, too
        raise WireError("gone") from error


def receive(sock, resolve=None, deadline=None, limit=BLOCK_LIMIT):
    """Read one message. Raises WireError if it does not come before `deadline` (time.monotonic) or is none."""
    text_size, block_size = HEAD.unpack(_exactly(sock, HEAD.size, deadline))
    if text_size > TEXT_LIMIT or block_size > limit:
        raise WireError("a message of impossible size was sent")
    text, block = _exactly(sock, text_size, deadline), _exactly(sock, block_size, deadline)
    try:
        return unpack(json.loads(text), block, resolve)
    except (ValueError, KeyError, TypeError, RecursionError, RuntimeError, AttributeError) as error:
        raise WireError(f"what was sent is no message ({type(error).__name__})") from error


def _exactly(sock, count, deadline):
    """count bytes; deadline is checked between the pieces, so that a drip of bytes gains nothing."""
    parts = []
    while count:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise WireError("time")
        sock.settimeout(left)
        try:
            part = sock.recv(min(count, 1 << 20))
        except TimeoutError as error:
            raise WireError("time") from error
        except OSError as error:
            raise WireError("gone") from error
        if not part:
            raise WireError("gone")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
