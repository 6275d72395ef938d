"""Attempts at the encoder block."""

from functools import partial

from tests.mistakes import Collector

collected = Collector()
wrong, right, ANSWERS = collected.wrong, collected.right, collected.answers


@wrong("always-pre-norm")
def only_pre(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    x = x + attention(norm_1(x))
    return x + feed_forward(norm_2(x))


@wrong("always-post-norm")
def only_post(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    x = norm_1(x + attention(x))
    return norm_2(x + feed_forward(x))


@wrong("pre-and-post-exchanged")
def turned_round(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    return block(x, attention, feed_forward, norm_1, norm_2, not norm_first)


@wrong("residuals-missing")
def plain_stack(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    if norm_first:
        return feed_forward(norm_2(attention(norm_1(x))))
    return norm_2(feed_forward(norm_1(attention(x))))


@wrong("one-residual-around-both")
def one_skip(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    if norm_first:
        return x + feed_forward(norm_2(attention(norm_1(x))))
    return norm_2(x + feed_forward(norm_1(attention(x))))


@wrong("normed-residual")
def overwrites_x(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    if not norm_first:
        return only_post(x, attention, feed_forward, norm_1, norm_2)
    x = norm_1(x)
    x = x + attention(x)
    x = norm_2(x)
    return x + feed_forward(x)


@wrong("norm-of-the-sum-too")
def sandwich_in_pre(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    if not norm_first:
        return only_post(x, attention, feed_forward, norm_1, norm_2)
    x = norm_1(x + attention(norm_1(x)))
    return norm_2(x + feed_forward(norm_2(x)))


@wrong("norm-before-the-sum")
def norm_of_the_result(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    if norm_first:
        return only_pre(x, attention, feed_forward, norm_1, norm_2)
    x = x + norm_1(attention(x))
    return x + norm_2(feed_forward(x))


@wrong("first-residual-for-the-second-sum")
def forgets_what_attention_wrote(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    if norm_first:
        y = x + attention(norm_1(x))
        return x + feed_forward(norm_2(y))
    y = norm_1(x + attention(x))
    return norm_2(x + feed_forward(y))


@wrong("norm-1-twice")
def same_norm(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    return block(x, attention, feed_forward, norm_1, norm_1, norm_first)


@wrong("second-norm-missing")
def one_norm(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    x = x + attention(norm_1(x)) if norm_first else norm_1(x + attention(x))
    return x + feed_forward(x)


@wrong("second-residual-missing")
def feed_forward_overwrites(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    if norm_first:
        return feed_forward(norm_2(x + attention(norm_1(x))))
    return norm_2(feed_forward(norm_1(x + attention(x))))


@wrong("feed-forward-first")
def other_order(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    return block(x, feed_forward, attention, norm_1, norm_2, norm_first)


@wrong("side-by-side")
def parallel(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    if norm_first:
        return x + attention(norm_1(x)) + feed_forward(norm_2(x))
    return norm_1(x + attention(x)) + norm_2(x + feed_forward(x)) - x


@wrong("norm-at-the-end")
def final_norm_in_the_block(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    return norm_2(block(x, attention, feed_forward, norm_1, norm_2, norm_first))


@wrong("changes-its-input")
def in_place(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    if not norm_first:
        return only_post(x, attention, feed_forward, norm_1, norm_2)
    x += attention(norm_1(x))
    x += feed_forward(norm_2(x))
    return x


@wrong("returns-none")
def no_return(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    x = x + attention(norm_1(x))
    x = x + feed_forward(norm_2(x))


@right()
def block(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    for part, norm in ((attention, norm_1), (feed_forward, norm_2)):
        x = x + part(norm(x)) if norm_first else norm(x + part(x))
    return x


@right()
def by_cases(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    def half(x, part, norm):
        return part(norm(x)).add(x) if norm_first else norm(part(x).add(x))

    return half(half(x, attention, norm_1), feed_forward, norm_2)


collected.right()(partial(block))
