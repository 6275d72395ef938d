"""Compile our Triton kernels for a Hopper GPU (sm_90), without one, and print what the compiler made, as JSON.

A program of its own, since Triton must not be in its interpreter: test_kernels.py starts it.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from course_lib.kernels import flash, rotary, softmax

TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
SMALL = [("fp16", 64), ("bf16", 128), ("fp32", 64), ("fp32", 128)]
ALL = [(name, d_k) for name in TYPES for d_k in (16, 32, 64, 128)]


def compiled(kernel, types, constants, **options):
    """The kernel for sm_90; types: {argument: Triton's name of its type}."""
    signature = {name: "constexpr" if name in constants else types[name] for name in kernel.arg_names}
    pointers = [name for name, kind in signature.items() if kind.startswith("*")]
    aligned = {(kernel.arg_names.index(name),): [["tt.divisibility", 16]] for name in pointers}  # as torch gives them
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=aligned)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)


def spilled_bytes(ptx):
    """Bytes of registers that the assembler had to put into memory, stores and loads together."""
    assembler = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernel.ptx")
        file.write_text(ptx, encoding="utf-8")
        command = [assembler, "-v", "-arch=sm_90a", file, "-o", Path(folder, "kernel.cubin")]
        report = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return sum(int(n) for n in re.findall(r"(\d+) bytes spill", report))


def flash_case(name, d_k):
    sizes = flash.tiles(d_k, TYPES[name])
    options = {"num_warps": sizes.pop("num_warps")}
    types = dict.fromkeys(("Q", "K", "V", "OUT"), f"*{name}") | {"PADDING": "*i8", "LSE": "*fp32", "scale": "fp32"}
    types |= dict.fromkeys(("n_heads", "group", "T", "S"), "i32")
    ptx = compiled(flash.flash_forward, types, {"CAUSAL": True, "PADDED": True, "d_k": d_k, **sizes}, **options).asm["ptx"]
    return {"tensor core instructions": len(re.findall(r"wgmma\.mma_async|mma\.sync", ptx)), "spilled": spilled_bytes(ptx)}


def row_cases():
    types = {"X": "*fp16", "COS": "*fp32", "SIN": "*fp32", "OUT": "*fp16"}
    types |= dict.fromkeys(("width", "T", "n_pairs"), "i32")
    yield "softmax", spilled_bytes(compiled(softmax.softmax_row, types, {"BLOCK": 1024}).asm["ptx"])
    yield "rotary", spilled_bytes(compiled(rotary.rotary_row, types, {"BLOCK": 32}).asm["ptx"])


if __name__ == "__main__":
    flash_cases = {f"{name}, d_k = {d_k}": flash_case(name, d_k) for name, d_k in (ALL if "all" in sys.argv else SMALL)}
    json.dump({"flash": flash_cases, "rows": dict(row_cases())}, sys.stdout)
