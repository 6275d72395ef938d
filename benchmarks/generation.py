"""What the KV cache saves, and how our generation compares with a peer's: `python -m benchmarks.generation`.

A decoder of width 256 with 4 layers and 8 heads continues a prompt of 16 tokens, one sequence, one thread. Times are
CPU seconds; each ratio is the median, with its quartiles, of interleaved rounds. The peer is the transformers library's
GPT-2 of the same size (extra `peers`), left out where it is not installed.
"""

import statistics
import time
from functools import partial

import torch

from course_lib import generation, models

ROUNDS = 21


def cpu_seconds(function):
    started = time.process_time()
    function()
    return time.process_time() - started


def ratio(slow, fast):
    """Over interleaved rounds: slow / fast in words, its median and quartiles; and the median seconds of each."""
    pairs = [(cpu_seconds(slow), cpu_seconds(fast)) for _ in range(ROUNDS)]
    times = [statistics.median(column) for column in zip(*pairs, strict=True)]
    low, median, high = statistics.quantiles([a / b for a, b in pairs], n=4)
    return f"{median:.2f} ({low:.2f} to {high:.2f})", *times


def ours():
    config = models.TransformerConfig(1000, 256, 8, 4, 1024, 512, positions="learned", activation="gelu_tanh")
    return models.Decoder(config).eval()


def peer():
    """GPT-2 of the same size, or None."""
    try:
        import transformers
    except ModuleNotFoundError:
        return None
    sizes = {"vocab_size": 1000, "n_positions": 512, "n_embd": 256, "n_layer": 4, "n_head": 8}
    config = transformers.GPT2Config(**sizes, bos_token_id=None, eos_token_id=None)
    return transformers.GPT2LMHeadModel(config).eval()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, other, prompt = ours(), peer(), torch.randint(1000, (1, 16))
    for n in (128, 256):
        with_cache = partial(generation.generate, model, prompt, n)
        without = partial(generation.generate, model, prompt, n, cache=False)
        with_cache()
        times, slow, fast = ratio(without, with_cache)
        print(f"{n} new tokens: without cache {slow:.2f} s, with cache {fast:.2f} s: {times} times faster")
        if other is None:
            print("   (the transformers library is not installed: pip install -e '.[peers]')")
            continue
        theirs = partial(other.generate, prompt, max_new_tokens=n, min_new_tokens=n, do_sample=False, pad_token_id=0)
        theirs()
        times, slow, fast = ratio(theirs, with_cache)
        print(f"   the transformers library's generate(): {slow:.2f} s, {times} times ours")


if __name__ == "__main__":
    main()
