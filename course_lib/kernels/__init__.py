"""Attention kernels: PyTorch's, ours in Triton, which of them ran, and the race between them.

The Triton sources are softmax.py, rotary.py and flash.py, written to be read; `source` shows them where Triton is not
installed. Triton is imported only when one of ours is called: everything else works without.

Where                what runs, and its limits
CPU                  PyTorch's flash kernel, also with a bool mask. With dropout or a mask that needs gradients: its explicit
                     way, "math". Half precision is seldom faster. Ours runs in Triton's interpreter: for small sizes only.
NVIDIA (CUDA)        PyTorch picks flash, efficient or cuDNN by dtype and mask (flash takes no bool mask and no float32).
                     Ours: compiled, d_k up to 128.
Apple (MPS)          one fused kernel of PyTorch's, or its explicit way where gradients are wanted. No Triton, no float64;
                     results differ from a CPU's in the last digits of float32, and there is no meter for peak memory. (As
                     PyTorch documents it; not measured.)
In causal attention with padding, or with more keys than queries, PyTorch is given a (T, S) mask of one byte an entry;
ours needs none.
"""

import ast
from pathlib import Path

from course_lib.kernels.flash_attention import flash_attention, flash_attention_with_lse, ours
from course_lib.kernels.fused import fused_attention
from course_lib.kernels.race import race
from course_lib.kernels.tiled import online_attention
from course_lib.kernels.triton_here import load, missing
from course_lib.kernels.which import peak_bytes, which_kernel

__all__ = [
    "flash_attention",
    "flash_attention_with_lse",
    "fused_attention",
    "missing",
    "online_attention",
    "ours",
    "peak_bytes",
    "race",
    "source",
    "triton_rotary",
    "triton_softmax",
    "which_kernel",
]


def triton_softmax(x):
    """Softmax over the last axis by our Triton kernel. Raises RuntimeError where Triton cannot run."""
    return load("softmax").softmax(x)


def triton_rotary(x, cos, sin):
    """`positions.turn_pairs` (interleaved) by our Triton kernel. Raises RuntimeError where Triton cannot run."""
    return load("rotary").turn(x, cos, sin)


def source(name, function=None):
    """The text of a Triton file, "softmax", "rotary" or "flash", or of one function in it; needs no Triton."""
    text = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    if function is None:
        return text
    nodes = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    node = nodes[function]
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno])
