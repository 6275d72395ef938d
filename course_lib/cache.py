"""The KV cache: keys and values that were computed once and are read at every later step."""

import torch


class LayerCache:
    """The keys and values that one layer has computed so far, in a buffer that doubles when it is full."""

    complete = False  # there will be more keys: every step adds its own

    def __init__(self):
        self.keys = self.values = None
        self.length = 0

    def update(self, k, v):
        """Append k, v (B, h_kv, T, d_k) and return all so far, (B, h_kv, length, d_k)."""
        end = self.length + k.shape[-2]
        self.keys = grown(self.keys, k, self.length, end)
        self.values = grown(self.values, v, self.length, end)
        self.length = end
        return self.keys[..., :end, :], self.values[..., :end, :]


def grown(buffer, new, start, end):
    """buffer with new (B, h, T, d) in rows start … end - 1; a longer buffer is made where they do not fit."""
    if new.requires_grad and torch.is_grad_enabled():  # autograd needs the old rows as they were
        return new if buffer is None else torch.cat([buffer[..., :start, :], new], dim=-2)
    if buffer is None or buffer.shape[-2] < end:
        longer = new.new_empty(*new.shape[:-2], max(64, 2 * end), new.shape[-1])
        if buffer is not None:
            longer[..., :start, :] = buffer[..., :start, :]
        buffer = longer
    buffer[..., start:end, :] = new
    return buffer


class MemoryCache:
    """The keys and values of the encoder's output: computed by the first step, read by all others."""

    complete = False

    def update(self, k, v):
        self.keys, self.values, self.complete = k, v, True
        return k, v


class KVCache:
    """What a decoder need not compute again: keys and values of every layer, and which tokens were real."""

    def __init__(self):
        self.layers, self.memories, self.padding = {}, {}, None

    @property
    def length(self):
        """Tokens seen so far, padding included."""
        return self.layers[0].length if self.layers else 0

    def layer(self, i):
        return self.layers.setdefault(i, LayerCache())

    def memory(self, i):
        return self.memories.setdefault(i, MemoryCache())

    def extend_padding(self, padding, tokens):
        """Padding of all tokens, (B, length + T), or None if all are real; padding: of the new, or of all."""
        B, T = tokens.shape[:2]
        if padding is None and self.padding is None:
            return None
        if padding is None:
            padding = torch.ones(B, T, dtype=torch.bool, device=tokens.device)
        if padding.shape[1] == T and self.length:
            before = self.padding
            if before is None:
                before = torch.ones(B, self.length, dtype=torch.bool, device=tokens.device)
            padding = torch.cat([before, padding], dim=1)
        self.padding = padding
        return padding

    def bytes(self):
        """Memory that the keys and values seen so far take."""
        kept = [*self.layers.values(), *self.memories.values()]
        rows = [(t, getattr(c, "length", t.shape[-2])) for c in kept for t in (c.keys, c.values)]
        return sum(t[..., :n, :].numel() * t.element_size() for t, n in rows)
