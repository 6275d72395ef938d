"""Attempts at (B, T, d_model) -> (B, h, T, d_k)."""

import torch

from tests.mistakes import Collector

collected = Collector()
wrong, right, ANSWERS = collected.wrong, collected.right, collected.answers


@wrong("view-scrambles")
def straight_view(x, n_heads):
    B, T, d = x.shape
    return x.reshape(B, n_heads, T, d // n_heads)


@wrong("view-scrambles")
def straight_view_minus_one(x, n_heads):
    return x.contiguous().view(x.size(0), n_heads, x.size(1), -1)


@wrong("every-h-th-feature")
def strided(x, n_heads):
    B, T, d = x.shape
    return x.reshape(B, T, d // n_heads, n_heads).permute(0, 3, 1, 2)


@wrong("every-h-th-feature")
def strided_slices(x, n_heads):
    return torch.stack([x[..., i::n_heads] for i in range(n_heads)], dim=1)


@wrong("whole-width-each")
def copies(x, n_heads):
    return x.unsqueeze(1).repeat(1, n_heads, 1, 1)


@wrong("float-size")
def float_size(x, n_heads):
    B, T, d = x.shape
    return x.reshape(B, T, n_heads, d / n_heads).transpose(1, 2)


@wrong("tokens-shared-out")
def tokens_cut(x, n_heads):
    return torch.stack(torch.chunk(x, n_heads, dim=1), dim=1)


@wrong("heads-not-brought-forward")
def no_transpose(x, n_heads):
    B, T, d = x.shape
    return x.reshape(B, T, n_heads, d // n_heads)


@wrong("d_k-before-tokens")
def keys_ready_for_product(x, n_heads):
    B, T, d = x.shape
    return x.reshape(B, T, n_heads, d // n_heads).permute(0, 2, 3, 1)


@wrong("heads-before-batch")
def heads_first(x, n_heads):
    return torch.stack(x.chunk(n_heads, -1))


@wrong("heads-and-d_k-exchanged")
def h_as_d_k(x, n_heads):
    B, T, d = x.shape
    return x.reshape(B, T, d // n_heads, n_heads).transpose(1, 2)


@wrong("heads-last")
def stacked_last(x, n_heads):
    return torch.stack(x.chunk(n_heads, -1), dim=-1)


@wrong("list-of-heads")
def list_of_heads(x, n_heads):
    return list(x.chunk(n_heads, dim=-1))


@wrong("list-of-heads")
def tuple_of_heads(x, n_heads):
    return x.chunk(n_heads, dim=-1)


@wrong("batch-and-heads-joined")
def joined(x, n_heads):
    B, T, d = x.shape
    return x.reshape(B, T, n_heads, -1).transpose(1, 2).reshape(B * n_heads, T, -1)


@wrong("d_k-second")
def transpose_1_3(x, n_heads):
    B, T, d = x.shape
    return x.reshape(B, T, n_heads, d // n_heads).transpose(1, 3)


@wrong("view-after-transpose-scrambles", "scrambled")
def transposed_before(x, n_heads):
    B, T, d = x.shape
    return x.transpose(1, 2).reshape(B, n_heads, T, d // n_heads)


@wrong("always-the-first-head")
def first_slice_always(x, n_heads):
    d_k = x.shape[-1] // n_heads
    return torch.stack([x[:, :, :d_k] for _ in range(n_heads)], dim=1)


@wrong("heads-overlap", "loses-numbers")
def overlapping(x, n_heads):
    d_k = x.shape[-1] // n_heads
    return torch.stack([x[:, :, i : i + d_k] for i in range(n_heads)], dim=1)


@wrong("heads-reversed")
def reversed_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1)[::-1], dim=1)


@wrong("no-error-when-not-divisible")
def silently_cut(x, n_heads):
    B, T, d = x.shape
    d_k = d // n_heads
    return x[..., : n_heads * d_k].reshape(B, T, n_heads, d_k).transpose(1, 2)


@wrong("no-error-when-not-divisible")
def slices_in_a_loop(x, n_heads):
    d_k = x.shape[2] // n_heads
    return torch.stack([x[:, :, i * d_k : (i + 1) * d_k] for i in range(n_heads)], dim=1)


@wrong("refuses-valid-input")
def test_the_wrong_way_round(x, n_heads):
    if x.shape[-1] % n_heads == 0:
        raise ValueError("not divisible")
    return x.reshape(*x.shape[:2], n_heads, -1).transpose(1, 2)


@wrong("hard-coded-axes")
def unpacks_two(x, n_heads):
    T, d = x.shape
    return x.reshape(T, n_heads, d // n_heads).transpose(0, 1)


@wrong("view-does-not-fit", "wrong-shape")
def multiplies(x, n_heads):
    B, T, d = x.shape
    return x.reshape(B, T, n_heads, d * n_heads).transpose(1, 2)


@wrong("undefined-name")
def misspelt(x, n_heads):
    B, T, d_model = x.shape
    return x.reshape(B, T, n_heads, d_modle // n_heads).transpose(1, 2)  # noqa: F821


@wrong("returns-none")
def prints(x, n_heads):
    print(x.reshape(*x.shape[:2], n_heads, -1).transpose(1, 2))


@wrong("batch-shared-out", "view-into-batch", "scrambled", "wrong-shape")
def heads_from_batch(x, n_heads):
    B, T, d = x.shape
    return x.reshape(n_heads, B, T, d // n_heads).transpose(0, 1)


@wrong("first-head-only")
def one_head(x, n_heads):
    return x.reshape(*x.shape[:2], n_heads, x.shape[-1] // n_heads)[:, :, 0]


@wrong("changes-numbers", "wrong-factor")
def scaled(x, n_heads):
    B, T, d = x.shape
    heads = x.reshape(B, T, n_heads, d // n_heads).transpose(1, 2)
    return heads / (d // n_heads) ** 0.5


@wrong("wrong-parameters")
def too_few_parameters(x):
    return x


@right()
def textbook(x, n_heads):
    B, T, d = x.shape
    return x.view(B, T, n_heads, d // n_heads).transpose(1, 2)


@right("AssertionError")
def chunks(x, n_heads):
    assert x.shape[2] % n_heads == 0, "n_heads must divide d_model"
    return torch.stack(x.chunk(n_heads, dim=2), 1)


@right("RuntimeError")
def unflatten(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).permute(0, 2, 1, 3)


@right()
def by_index(x, n_heads):
    B, T, d = x.shape
    d_k, rest = divmod(d, n_heads)
    if rest:
        raise ValueError(f"{n_heads} does not divide {d}")
    out = x.new_empty(B, n_heads, T, d_k)
    for h in range(n_heads):
        for t in range(T):
            out[:, h, t] = x[:, t, h * d_k : (h + 1) * d_k]
    return out


class AsAModule(torch.nn.Module):
    """A module is callable too."""

    def forward(self, x, n_heads):
        B, T, d = x.shape
        return x.view(B, T, n_heads, d // n_heads).transpose(1, 2)


_module = AsAModule()
_module.__name__ = "as_a_module"
right()(_module)
