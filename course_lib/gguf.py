"""A small reader of GGUF, the one-file format of quantised language models: a header, metadata, then the
tensors.

Reads the types that SmolLM2's file uses, and one tensor at a time, so that a model can be loaded in little
memory.
"""

import math
import struct

import torch

# GGUF's types of numbers -> the codes of Python's struct
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9  # the other two types of metadata
PIECE = 32_768  # quantised blocks turned into floats at a time


class GGUF:
    """An open GGUF file: `metadata`, a dict, and `tensors`, name -> (shape, type, offset).

    path: the file. Raises ValueError if it is not GGUF of version 2 or 3.
    """

    def __init__(self, path):
        self.path, self.metadata, self.tensors = path, {}, {}
        with open(path, "rb") as file:
            magic, version, n_tensors, n_entries = struct.unpack("<4sIQQ", file.read(24))
            if magic != b"GGUF" or version not in (2, 3):
                raise ValueError(f"{path} must be GGUF of version 2 or 3; got {magic!r}, version {version}")
            for _ in range(n_entries):
                key = read_string(file)
                self.metadata[key] = read_value(file, read_number(file, "I"))
            for _ in range(n_tensors):
                name = read_string(file)
                shape = [read_number(file, "Q") for _ in range(read_number(file, "I"))]
                self.tensors[name] = tuple(reversed(shape)), read_number(file, "I"), read_number(file, "Q")
            alignment = self.metadata.get("general.alignment", 32)
            self.data_start = math.ceil(file.tell() / alignment) * alignment

    def copy_into(self, name, parameter):
        """Fill parameter, of any float dtype, with the tensor of that name, piece by piece."""
        shape, kind, offset = self.tensors[name]
        if tuple(parameter.shape) != shape:
            raise ValueError(f"{name} has the shape {shape}, the parameter {tuple(parameter.shape)}")
        if kind not in DECODERS:
            raise ValueError(f"{name} is stored as type {kind}; this reader knows {sorted(DECODERS)}")
        decode, values_a_block, bytes_a_block = DECODERS[kind]
        flat, step = parameter.detach().view(-1), PIECE * values_a_block
        with open(self.path, "rb") as file:
            file.seek(self.data_start + offset)
            for piece in flat.split(step):
                raw = bytearray(file.read(len(piece) // values_a_block * bytes_a_block))
                blocks = torch.frombuffer(raw, dtype=torch.uint8).view(-1, bytes_a_block)
                piece.copy_(decode(blocks).view(-1))


def read_number(file, code):
    return struct.unpack("<" + code, file.read(struct.calcsize(code)))[0]


def read_string(file):
    return file.read(read_number(file, "Q")).decode("utf-8")


def read_value(file, kind):
    """One value of metadata: a number, a string or a list of either."""
    if kind == STRING:
        return read_string(file)
    if kind == ARRAY:
        kind, n = read_number(file, "I"), read_number(file, "Q")
        return [read_value(file, kind) for _ in range(n)]
    return read_number(file, NUMBERS[kind])


def half(two_bytes):
    """uint8 (n, 2) -> float32 (n, 1): the scale or the minimum at the head of a block."""
    return two_bytes.contiguous().view(torch.float16).float()


def decode_f32(blocks):
    return blocks.view(torch.float32)


def decode_f16(blocks):
    return blocks.view(torch.float16)


def decode_q8_0(blocks):
    """32 values a block: a scale, then 32 signed bytes; value = scale · byte."""
    return half(blocks[:, :2]) * blocks[:, 2:].view(torch.int8)


def decode_q4_1(blocks):
    """32 values a block: a scale, a minimum, 16 bytes; value = scale · nibble + minimum, the low nibbles
    first.
    """
    nibbles = torch.cat([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], dim=1)
    return half(blocks[:, :2]) * nibbles + half(blocks[:, 2:4])


DECODERS = {  # GGUF's number of a type -> (decoder, values a block, bytes a block)
    0: (decode_f32, 1, 4),
    1: (decode_f16, 1, 2),
    3: (decode_q4_1, 32, 20),
    8: (decode_q8_0, 32, 34),
}
