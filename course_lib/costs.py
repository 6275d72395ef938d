"""What a Transformer costs on paper: operations, bytes of memory, bytes sent between devices.

An operation is one multiplication or one addition; only those of matrix products count. Bytes: 2 a number in
float16 and bfloat16, 4 in float32.
"""

import math

from course_lib.models import TransformerConfig

LLAMA2_7B = TransformerConfig(  # Touvron et al. 2023
    vocab_size=32_000, d_model=4096, n_heads=32, n_layers=32, d_ff=11_008, max_len=4096, norm="rms",
    activation="swiglu", positions="rotary", bias=False,
)  # fmt: skip
LLAMA3_8B = TransformerConfig(  # Dubey et al. 2024
    vocab_size=128_256, d_model=4096, n_heads=32, n_kv_heads=8, n_layers=32, d_ff=14_336, max_len=8192,
    norm="rms", activation="swiglu", positions="rotary", rotary_base=500_000.0, bias=False,
)  # fmt: skip


def attention_work(T, d_model):
    """Operations of one self-attention layer, forward, over one sequence of T tokens: 8·T·d_model² for the four
    projections, and 4·T²·d_model for the scores and the weighted sums.
    """
    return 8 * T * d_model**2 + 4 * T**2 * d_model


def lstm_work(T, d_model):
    """Operations of one LSTM layer, forward: four gates, each from the input and from the state before."""
    return 16 * T * d_model**2


def work_slope(T, d_model):
    """The power of T by which `attention_work` grows from T to 2·T: between 1 (projections) and 2 (scores)."""
    return math.log2(attention_work(2 * T, d_model) / attention_work(T, d_model))


def largest_tile(memory, d_k, bytes_per_number=2):
    """The largest power of two n for which a tile of attention fits into `memory` bytes, close to the processor.

    A tile holds n queries, n keys, n values and n outputs, each d_k wide, and n × n scores.
    Raises ValueError if not even n = 1 fits.
    """
    n = 1
    while (4 * 2 * n * d_k + (2 * n) ** 2) * bytes_per_number <= memory:
        n *= 2
    if (4 * n * d_k + n**2) * bytes_per_number > memory:
        raise ValueError(f"{memory} bytes hold no tile at all for d_k = {d_k}")
    return n


def kv_bytes_per_token(config, bytes_per_number=2):
    """What the KV cache keeps of one token: a key and a value, in every layer, for every key-value head."""
    d_k = config.d_model // config.n_heads
    return 2 * config.n_layers * (config.n_kv_heads or config.n_heads) * d_k * bytes_per_number


def training_bytes(n_parameters):
    """Bytes that training with AdamW in mixed precision keeps, activations aside: {what: bytes}, 16 a parameter.

    Source: Rajbhandari et al. 2020 (ZeRO), section 3.1.
    """
    kept = {"weights, bfloat16": 2, "gradients, bfloat16": 2, "weights, float32": 4, "AdamW's two averages, float32": 8}
    return {what: size * n_parameters for what, size in kept.items()}


def deployment(*, parameters, requests_per_day, tokens_per_request, days, flops_per_second, watts, overhead):
    """What answering requests takes: {"operations", "processor seconds", "kWh": (low, high)}.

    A token costs about 2 operations a parameter. flops_per_second: what one processor really gets done. watts
    (low, high): what it draws meanwhile. overhead: what cooling and the rest multiply that by, 1 or more.
    """
    if overhead < 1 or not 0 < watts[0] <= watts[1] or flops_per_second <= 0:
        raise ValueError(
            "overhead must be at least 1, watts and flops_per_second above 0, the low watts first; "
            f"got overhead = {overhead}, watts = {watts}, flops_per_second = {flops_per_second}"
        )
    operations = 2 * parameters * requests_per_day * tokens_per_request * days
    seconds = operations / flops_per_second
    kwh = tuple(overhead * power * seconds / 3.6e6 for power in watts)
    return {"operations": operations, "processor seconds": seconds, "kWh": kwh}
