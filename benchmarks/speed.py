"""How fast is the library on a CPU, beside peers of the same size? `python -m benchmarks.speed [rounds] [part …]`

Parts: attention, blocks, training (default: all). One thread; CPU seconds; ours and each peer take turns within a round, and
a ratio is the median over the rounds of ours / theirs, with its quartiles: so a busy machine disturbs both sides alike.
At least 21 rounds count. A goal is missed where even the lower quartile exceeds it. Peers: see peers.py.
"""

import statistics
import sys
import time
from functools import partial
from itertools import repeat

import torch
from torch import nn

from benchmarks import peers
from course_lib import training
from course_lib.attention import MultiHeadAttention
from course_lib.blocks import DecoderBlock, EncoderBlock
from course_lib.kernels import peak_bytes
from course_lib.models import Decoder, TransformerConfig

SIZES = {"S": (32, 16, 64, 4), "M": (16, 128, 256, 8), "L": (4, 512, 512, 8), "XL": (1, 2048, 512, 8)}  # B, T, d_model, h
VOCAB_SIZE, N_LAYERS = 256, 4
AT_LEAST = 0.02  # CPU seconds that one measurement takes: short calls are repeated


def cpu_seconds(function, times):
    started = time.process_time()
    for _ in range(times):
        function()
    return (time.process_time() - started) / times


def compare(ours, others, rounds):
    """{peer: (lower quartile, median, upper quartile) of ours / peer}, over interleaved rounds."""
    runners = [ours, *others.values()]
    for run in runners:
        run()
    times = max(1, round(AT_LEAST / max(cpu_seconds(ours, 1), 1e-6)))
    spent = []
    for i in range(rounds):
        order = runners if i % 2 else runners[::-1]  # nobody always goes first
        measured = {run: cpu_seconds(run, times) for run in order}
        spent.append([measured[run] for run in runners])
    columns = list(zip(*spent, strict=True))
    quartiles = [statistics.quantiles([a / b for a, b in zip(columns[0], c, strict=True)], n=4) for c in columns[1:]]
    return dict(zip(others, quartiles, strict=True))


def report(what, size, found, goals):
    """One line for each peer that is there."""
    for peer, (low, median, high) in found.items():
        goal = goals.get(peer)
        verdict = "" if goal is None else f"  goal {goal:.2f}  " + ("MISSED" if low > goal else "met" if median <= goal else "near")
        print(f"{what:34}{size:4}{peer:34}{median:6.2f}  ({low:.2f} to {high:.2f}){verdict}", flush=True)


def forward(module, *inputs, **options):
    with torch.no_grad():
        module(*inputs, **options)




def attention(size, rounds):
    """MultiHeadAttention, forward, against fused attention in the style of nanoGPT; and its memory."""
    B, T, d_model, n_heads = SIZES[size]
    x, ours = torch.randn(B, T, d_model), MultiHeadAttention(d_model, n_heads)
    fused = "fused qkv and SDPA"
    for causal in (False, True):
        theirs = {fused: partial(forward, peers.FusedAttention(d_model, n_heads, causal), x)}
        plain = partial(forward, ours, x, causal=causal)
        name = "attention" + ", causal" * causal
        report(name, size, compare(plain, theirs, rounds), {fused: 1.25 if size == "S" else 1.10})
        memory = peak_bytes(plain) / peak_bytes(theirs[fused])
        verdict = "met" if memory <= 1.2 else "MISSED"
        print(f"{name + ', peak memory':34}{size:4}{fused:34}{memory:6.2f}  goal 1.20  {verdict}", flush=True)
        weights = partial(forward, ours, x, causal=causal, need_weights=True)
        goal = {} if causal else {fused: 2.5 if size == "XL" else 1.3}  # causal: the fused kernel skips half of the work
        report(name + ", with weights", size, compare(weights, theirs, rounds), goal)


def config(d_model, n_heads, n_layers=1, **options):
    return TransformerConfig(VOCAB_SIZE, d_model, n_heads, n_layers, 4 * d_model, 2048, **options)


def blocks(size, rounds):
    """EncoderBlock, seeing all or the past, and DecoderBlock: forward and backward."""
    B, T, d_model, n_heads = SIZES[size]
    x = torch.randn(B, T, d_model)
    how = {"batch_first": True, "norm_first": True, "dropout": 0.0, "activation": "gelu"}
    torch_encoder = nn.TransformerEncoderLayer(d_model, n_heads, 4 * d_model, **how)
    torch_decoder = nn.TransformerDecoderLayer(d_model, n_heads, 4 * d_model, **how)
    future = nn.Transformer.generate_square_subsequent_mask(T)
    goals = {"nanoGPT-like": 1.10, "torch's layer": 1.0, "x-transformers": 1.0}
    for causal in (False, True):
        ours = EncoderBlock(config(d_model, n_heads))
        layer = partial(torch_encoder, src_mask=future, is_causal=True) if causal else torch_encoder
        others = {
            "nanoGPT-like": peers.FusedBlock(d_model, n_heads, causal),
            "torch's layer": layer,
            "x-transformers": peers.x_transformers_block(d_model, n_heads, causal),
        }
        others = {name: partial(step, other, x) for name, other in others.items() if other is not None}
        found = compare(partial(step, partial(ours, causal=causal), x), others, rounds)
        report("EncoderBlock" + ", causal" * causal, size, found, goals)
    others = {
        "nanoGPT-like": partial(step, peers.FusedBlock(d_model, n_heads, True, cross=True), x, x),
        "torch's layer": partial(step, partial(torch_decoder, tgt_mask=future, tgt_is_causal=True), x, x),
    }
    found = compare(partial(step, DecoderBlock(config(d_model, n_heads)), x, x), others, rounds)
    report("DecoderBlock", size, found, goals)


def step(block, *inputs):
    """Forward and backward; gradients pile up, which costs all alike."""
    block(*inputs).sum().backward()


def train_lm(size, rounds):
    """One training step of the decoder language model: ours by `training.train`, the peers' by the plain loop."""
    B, T, d_model, n_heads = SIZES[size]
    tokens = torch.randint(VOCAB_SIZE, (B, T + 1))
    batch = (tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
    sizes = (VOCAB_SIZE, d_model, n_heads, N_LAYERS, 2048)
    model = Decoder(config(d_model, n_heads, N_LAYERS, positions="learned", tie_embeddings=True))
    ours = training.train(model, repeat(batch), lr=1e-3)
    lms = {"nanoGPT-like": peers.FusedLM(*sizes), "x-transformers": peers.x_transformers_lm(*sizes)}
    loops = {n: peers.plain_loop(lm, lm.parameters(), repeat(batch)) for n, lm in lms.items() if lm is not None}
    other = peers.gpt2(*sizes)
    if other is not None:
        loops["transformers' GPT-2"] = peers.plain_loop(lambda x: other(x).logits, other.parameters(), repeat(batch))
    found = compare(partial(next, ours), {name: partial(next, loop) for name, loop in loops.items()}, rounds)
    report("training step", size, found, {"nanoGPT-like": 1.05, "x-transformers": 1.0, "transformers' GPT-2": 1.0})
    in_bfloat16(model, batch, rounds, size)


def in_bfloat16(model, batch, rounds, size):
    """The same step under bfloat16 autocast, against float32: a gain only where the CPU computes in bfloat16."""

    def loss(model, batch):
        with torch.autocast("cpu", torch.bfloat16):
            return training.next_token_loss(model, batch)

    halves = training.train(model, repeat(batch), lr=1e-3, loss=loss)
    whole = training.train(model, repeat(batch), lr=1e-3)
    found = compare(partial(next, halves), {"ours in float32": partial(next, whole)}, rounds)
    report("training step, bfloat16", size, found, {})


PARTS = {"attention": attention, "blocks": blocks, "training": train_lm}


def main():
    rounds = next((int(word) for word in sys.argv[1:] if word.isdigit()), 21)
    parts = [word for word in sys.argv[1:] if word in PARTS] or list(PARTS)
    sizes = [word for word in sys.argv[1:] if word in SIZES] or list(SIZES)
    training.threads_for = lambda n_parameters: 1
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"ours / theirs, CPU time: median (quartiles), {rounds} rounds; torch {torch.__version__}, one thread")
    for part in parts:
        for size in sizes:
            PARTS[part](size, rounds)


if __name__ == "__main__":
    main()
