"""What our speed is compared with: a plain fused reference in the style of nanoGPT, and other people's libraries.

The reference does what a fast small implementation does: one matrix for queries, keys and values, PyTorch's fused attention
with is_causal, pre-norm, GELU, no mask, no options. Peers that are not installed are left out (extra `peers`).
"""

import torch
import torch.nn.functional as F
from torch import nn


class FusedAttention(nn.Module):
    def __init__(self, d_model, n_heads, causal):
        super().__init__()
        self.n_heads, self.causal = n_heads, causal
        self.w_qkv, self.w_o = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x):
        B, T, d_model = x.shape
        q, k, v = self.w_qkv(x).split(d_model, dim=2)
        q, k, v = (y.view(B, T, self.n_heads, -1).transpose(1, 2) for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.w_o(y.transpose(1, 2).contiguous().view(B, T, d_model))


class FusedCrossAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.w_q, self.w_kv = nn.Linear(d_model, d_model), nn.Linear(d_model, 2 * d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, memory):
        B, T, d_model = x.shape
        q = self.w_q(x).view(B, T, self.n_heads, -1).transpose(1, 2)
        k, v = (
            y.view(B, -1, self.n_heads, d_model // self.n_heads).transpose(1, 2)
            for y in self.w_kv(memory).split(d_model, 2)
        )
        y = F.scaled_dot_product_attention(q, k, v)
        return self.w_o(y.transpose(1, 2).contiguous().view(B, T, d_model))


class FusedBlock(nn.Module):
    """Self-attention, cross-attention where asked for, feed-forward; each with a norm before it."""

    def __init__(self, d_model, n_heads, causal, cross=False):
        super().__init__()
        self.norm_1, self.attention = nn.LayerNorm(d_model), FusedAttention(d_model, n_heads, causal)
        self.norm_2 = nn.LayerNorm(d_model) if cross else None
        self.cross_attention = FusedCrossAttention(d_model, n_heads) if cross else None
        self.norm_3, self.w_1, self.w_2 = nn.LayerNorm(d_model), nn.Linear(d_model, 4 * d_model), nn.Linear(4 * d_model, d_model)

    def forward(self, x, memory=None):
        x = x + self.attention(self.norm_1(x))
        if memory is not None:
            x = x + self.cross_attention(self.norm_2(x), memory)
        return x + self.w_2(F.gelu(self.w_1(self.norm_3(x))))


class FusedLM(nn.Module):
    """Token and learned position embeddings, causal blocks, a norm, the embedding as head."""

    def __init__(self, vocab_size, d_model, n_heads, n_layers, max_len):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab_size, d_model), nn.Embedding(max_len, d_model)
        self.blocks = nn.ModuleList(FusedBlock(d_model, n_heads, causal=True) for _ in range(n_layers))
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.head.weight = self.tokens.weight
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def plain_loop(logits, parameters, batches):
    """Training as in nanoGPT on a CPU: forward, cross-entropy, backward, torch's AdamW (whose fused form it takes on a
    GPU alone). A generator: one step each, the loss.
    """
    optimiser = torch.optim.AdamW(parameters, lr=1e-3)
    for tokens, targets in batches:
        loss = F.cross_entropy(logits(tokens).flatten(0, 1), targets.flatten())
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        yield loss.item()


def x_transformers_block(d_model, n_heads, causal):
    """One block of x-transformers with the same options, or None."""
    try:
        import x_transformers
    except ModuleNotFoundError:
        return None
    kind = x_transformers.Decoder if causal else x_transformers.Encoder
    return kind(dim=d_model, depth=1, heads=n_heads, attn_dim_head=d_model // n_heads, attn_flash=True)


def x_transformers_lm(vocab_size, d_model, n_heads, n_layers, max_len):
    try:
        import x_transformers
    except ModuleNotFoundError:
        return None
    layers = x_transformers.Decoder(dim=d_model, depth=n_layers, heads=n_heads, attn_dim_head=d_model // n_heads, attn_flash=True)
    return x_transformers.TransformerWrapper(num_tokens=vocab_size, max_seq_len=max_len, attn_layers=layers, tie_embedding=True)


def gpt2(vocab_size, d_model, n_heads, n_layers, max_len):
    """GPT-2 of the transformers library, without dropout, with PyTorch's fused attention; or None."""
    try:
        import transformers
    except ModuleNotFoundError:
        return None
    sizes = {"vocab_size": vocab_size, "n_positions": max_len, "n_embd": d_model, "n_layer": n_layers, "n_head": n_heads}
    no_dropout = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    config = transformers.GPT2Config(**sizes, **no_dropout, bos_token_id=None, eos_token_id=None, attn_implementation="sdpa")
    return transformers.GPT2LMHeadModel(config)
