"""Behaviours that a whole module must have: each function returns None, or raises AssertionError with a sentence.

They take any nn.Module, or any function of tensors, and look at behaviour only. Inputs are token ids (B, T), int64, or
vectors (B, T, d_model). Where a module returns a tuple, its first value counts. Train and eval mode are restored.
"""

import contextlib
import math

import torch
import torch.nn.functional as F
from torch import nn

CLOSE = 1e-4  # float32 rounding through a few layers stays below it


def no_future_leak(model, tokens, modes=("train", "eval")):
    """A later token must not change an earlier output: neither in train mode nor in eval mode."""
    for mode in modes:
        with _in_mode(model, mode):
            before = _answer(model, tokens)
            for t in range(1, tokens.shape[1]):
                gap = (_answer(model, _changed(tokens, t)) - before)[:, :t].abs()
                assert gap.max() < CLOSE, (
                    f"in {mode} mode the token at position {t} changes the output at position {_where(gap)}: the "
                    f"future leaks"
                )


def past_matters(model, tokens):
    """Every earlier token must be able to change the last output."""
    with _in_mode(model, "eval"):
        before = _answer(model, tokens)
        for t in range(tokens.shape[1]):
            gap = (_answer(model, _changed(tokens, t)) - before)[:, -1].abs().max()
            assert gap > 1e-7, f"the last output does not depend on the token at position {t}"


def batch_apart(model, tokens):
    """A sequence must come out the same alone and in a batch."""
    with _in_mode(model, "eval"):
        together, alone = _answer(model, tokens), _answer(model, tokens[:1])
    assert torch.allclose(together[:1], alone, atol=CLOSE), "a sequence comes out different alone and in a batch: the batch is mixed"


def eval_deterministic(model, *inputs):
    """In eval mode two equal calls must give the same."""
    with _in_mode(model, "eval"):
        one, two = (_first(model(*inputs)) for _ in range(2))
    assert torch.equal(one, two), "in eval mode two equal calls differ: is dropout still at work?"


def permutation_equivariant(model, x, expected=True):
    """Without positions, permuted tokens give permuted outputs. expected=False: with positions they must not."""
    order = torch.arange(x.shape[1]).roll(1)
    with _in_mode(model, "eval"):
        same = torch.allclose(_answer(model, x[:, order]), _answer(model, x)[:, order], atol=CLOSE)
    if expected:
        assert same, "permuted tokens do not give permuted outputs: something depends on the position"
    else:
        assert not same, "permuted tokens merely give permuted outputs: the model does not know where a token stands"


def source_matters(model, source, target):
    """Another source must give another result. Called as model(target, source) where that is the module's order.

    For `models.EncoderDecoder`, whose forward is (source, target), hand over a function: `lambda t, s: model(s, t)`.
    """
    with _in_mode(model, "eval"):
        one, two = _first(model(target, source)), _first(model(target, _changed(source, slice(None))))
    assert not torch.allclose(one, two, atol=1e-6), "another source gives the same result: the encoder's output is not used"


def cached_equals_uncached(model, tokens, step=None):
    """Read in pieces with a cache, a sequence must give what it gives at once: for several lengths of the first piece.

    step(new_tokens, cache or None) -> (output, cache); by default the module itself, called so. For `models.Decoder`:
    `step=lambda tokens, cache: with_cache(model, tokens, cache)`.
    """
    step = model if step is None else step
    with _in_mode(model, "eval"):
        whole, _ = step(tokens, None)
        for first in range(1, tokens.shape[1]):
            output, cache = step(tokens[:, :first], None)
            pieces = [output]
            for t in range(first, tokens.shape[1]):
                output, cache = step(tokens[:, t : t + 1], cache)
                pieces.append(output)
            gap = (torch.cat(pieces, dim=1) - whole).abs()
            assert gap.max() < CLOSE, (
                f"with a first piece of {first} and the rest one by one, the output at position {_where(gap)} "
                f"differs from the uncached one"
            )


def with_cache(model, tokens, cache):
    """One step of a `models.Decoder`: (logits, cache)."""
    from course_lib.cache import KVCache  # only decoders need it

    cache = KVCache() if cache is None else cache
    return model(tokens, cache=cache), cache


def initial_loss_near_ln_v(model, tokens, targets, vocab_size, tolerance=0.5):
    """Before training every token is equally likely, so the loss must be about ln V; within `tolerance` nats."""
    with _in_mode(model, "eval"):
        loss = F.cross_entropy(_answer(model, tokens).flatten(0, 1), targets.flatten()).item()
    assert abs(loss - math.log(vocab_size)) < tolerance, f"the loss before training is {loss:.2f}; ln V = {math.log(vocab_size):.2f} is expected"


def labels_shifted_once(step, tokens, vocab_size):
    """A training step must ask, at every position, for the token right after the one it reads.

    step(model, tokens) -> loss; it makes inputs and targets of tokens (B, T) and calls model(inputs) -> logits (B, T', V).
    The gradient of the loss at a position's logits points at the token that is asked for.
    """
    spy = _Spy(vocab_size)
    step(spy, tokens).backward()
    asked = spy.logits.grad.argmin(-1)  # (B, T'): cross-entropy pushes the target's logit up
    counts = spy.logits.grad.abs().sum(-1) > 0
    for t in range(spy.inputs.shape[1]):
        shifts = [s for s in range(-2, 4) if 0 <= t + s < tokens.shape[1] and _same(asked[:, t], tokens[:, t + s], counts[:, t])
                  and _same(spy.inputs[:, t], tokens[:, t], counts[:, t])]  # fmt: skip
        assert not counts[:, t].any() or 1 in shifts, (
            f"at position {t} the model reads {spy.inputs[0, t].item()} and is asked for {asked[0, t].item()}; "
            f"the sequence goes {tokens[0, max(t - 1, 0) : t + 3].tolist()}: labels must be shifted by exactly one"
        )


class _Spy(nn.Module):
    """A model that notes what it reads and whose logits can be asked for their gradient."""

    def __init__(self, vocab_size):
        super().__init__()
        self.vocab_size = vocab_size

    def forward(self, inputs):
        self.inputs = inputs
        self.logits = torch.zeros(*inputs.shape, self.vocab_size, requires_grad=True)
        return self.logits


def _same(one, two, where):
    return bool((one == two)[where].all())


def _first(value):
    return value[0] if isinstance(value, tuple | list) else value


def _answer(model, tokens):
    """The model's output, with the same dropout every time; the caller's random numbers are left alone."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        return _first(model(tokens))


def _changed(tokens, t):
    """Another token at position t: the next id below the largest one seen, or a moved vector."""
    changed = tokens.clone()
    if tokens.is_floating_point():
        changed[:, t] = changed[:, t] * 0.5 + 1.0
    else:
        changed[:, t] = (changed[:, t] + 1) % (int(tokens.max()) + 1)
    return changed


def _where(gap):
    """The first position of (B, T, …) at which a gap is too large."""
    return int((gap.flatten(2).amax((0, 2)) if gap.ndim > 2 else gap.amax(0)).gt(CLOSE).nonzero()[0])


@contextlib.contextmanager
def _in_mode(model, mode):
    """model.train() or model.eval() for a while, where model has modes."""
    if not isinstance(model, nn.Module):
        yield
        return
    before = {module: module.training for module in model.modules()}
    model.train(mode == "train")
    try:
        yield
    finally:
        for module, training in before.items():
            module.training = training
