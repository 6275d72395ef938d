"""Whether our Triton kernels can run on this machine, and the one place that imports them."""

import importlib
import importlib.util
import os

import torch

HOW_TO_GET = "on Linux: python -m pip install 'triton>=3.5,<4' (the extra `gpu`)"


def is_interpreted():
    """Without a CUDA device, Triton's interpreter runs our kernels: the same results, very slowly, float32 or float16."""
    return not torch.cuda.is_available()


def missing():
    """What keeps our kernels from running here, as a sentence; "" if they run."""
    if importlib.util.find_spec("triton") is None:
        return f"Our own kernels need Triton, which is not installed; {HOW_TO_GET}."
    if not is_interpreted():
        return ""
    os.environ.setdefault("TRITON_INTERPRET", "1")  # Triton reads it when it is first imported, and never again
    maximum = importlib.import_module("triton.language").max  # written in Triton itself
    if type(maximum).__name__ != "InterpretedFunction":
        return (
            "There is no CUDA device, and Triton was imported before it could be told to interpret its kernels: "
            "restart Python, and use course_lib.kernels first or set the environment variable TRITON_INTERPRET=1."
        )
    return ""


def load(name):
    """The module softmax, rotary or flash of this package. Raises RuntimeError with the sentence of `missing`."""
    sentence = missing()
    if sentence:
        raise RuntimeError(sentence)
    return importlib.import_module(f"course_lib.kernels.{name}")
