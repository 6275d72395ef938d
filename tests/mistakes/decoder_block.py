"""Attempts at the decoder block."""

from functools import partial

from tests.mistakes import Collector

collected = Collector()
wrong, right, ANSWERS = collected.wrong, collected.right, collected.answers


def built(x, one, two, three, norms, norm_first):
    """Three sublayers, each a function of what it reads, one after the other."""
    for part, norm in zip((one, two, three), norms, strict=True):
        x = x + part(norm(x)) if norm_first else norm(x + part(x))
    return x


@wrong("source-unused")
def cross_attention_of_itself(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, norm_first=True):
    norms = (norm_1, norm_2, norm_3)
    return built(x, lambda y: own(y, causal=True), lambda y: cross(y, y), feed_forward, norms, norm_first)


@wrong("source-unused")
def cross_attention_without_keys(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, norm_first=True):
    norms = (norm_1, norm_2, norm_3)
    return built(x, lambda y: own(y, causal=True), cross, feed_forward, norms, norm_first)


@wrong("not-causal")
def forgets_the_mask(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, norm_first=True):
    norms = (norm_1, norm_2, norm_3)
    return built(x, own, lambda y: cross(y, memory), feed_forward, norms, norm_first)


@wrong("keys-from-the-decoder")
def only_values_of_the_source(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, norm_first=True):
    norms = (norm_1, norm_2, norm_3)
    return built(x, lambda y: own(y, causal=True), lambda y: cross(y, y, memory), feed_forward, norms, norm_first)


@wrong("roles-exchanged")
def memory_asks(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, norm_first=True):
    norms = (norm_1, norm_2, norm_3)
    return built(x, lambda y: own(y, causal=True), lambda y: cross(memory, y), feed_forward, norms, norm_first)


@wrong("cross-attention-masked")
def masks_both(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, norm_first=True):
    norms = (norm_1, norm_2, norm_3)
    one, two = (lambda y: own(y, causal=True)), (lambda y: cross(y, memory, causal=True))
    return built(x, one, two, feed_forward, norms, norm_first)


@wrong("cross-attention-first")
def asks_the_source_first(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, norm_first=True):
    norms = (norm_2, norm_1, norm_3)
    return built(x, lambda y: cross(y, memory), lambda y: own(y, causal=True), feed_forward, norms, norm_first)


@wrong("residuals-missing")
def plain_stack(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, norm_first=True):
    if norm_first:
        return feed_forward(norm_3(cross(norm_2(own(norm_1(x), causal=True)), memory)))
    return norm_3(feed_forward(norm_2(cross(norm_1(own(x, causal=True)), memory))))


@wrong("always-pre-norm")
def no_second_scheme(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, norm_first=True):
    return block(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3)


@wrong("always-post-norm")
def only_the_original(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, norm_first=True):
    return block(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, False)


@wrong("memory-normed")
def norms_everything(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, norm_first=True):
    memory = norm_2(memory) if norm_first else memory
    return block(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, norm_first)


@wrong("norm-1-for-all")
def one_norm(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, norm_first=True):
    return block(x, memory, own, cross, feed_forward, norm_1, norm_1, norm_1, norm_first)


@wrong("third-residual-missing")
def feed_forward_overwrites(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, norm_first=True):
    if norm_first:
        x = x + own(norm_1(x), causal=True)
        return feed_forward(norm_3(x + cross(norm_2(x), memory)))
    x = norm_1(x + own(x, causal=True))
    return norm_3(feed_forward(norm_2(x + cross(x, memory))))


@wrong("changes-its-input")
def in_place(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, norm_first=True):
    if not norm_first:
        return block(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, False)
    x += own(norm_1(x), causal=True)
    x += cross(norm_2(x), memory)
    x += feed_forward(norm_3(x))
    return x


@wrong("returns-none")
def no_return(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, norm_first=True):
    x = x + own(norm_1(x), causal=True)
    x = x + cross(norm_2(x), memory)


@right()
def block(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, norm_first=True):
    norms = (norm_1, norm_2, norm_3)
    return built(x, lambda y: own(y, causal=True), lambda y: cross(y, memory), feed_forward, norms, norm_first)


@right()
def says_keys_and_values(x, memory, own, cross, feed_forward, norm_1, norm_2, norm_3, norm_first=True):
    norms = (norm_1, norm_2, norm_3)
    one, two = (lambda y: own(y, y, y, causal=True)), (lambda y: cross(query=y, key=memory, value=memory))
    return built(x, one, two, feed_forward, norms, norm_first)


collected.right()(partial(block))
