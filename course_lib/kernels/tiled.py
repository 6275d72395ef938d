"""Flash attention in plain torch, tile by tile: what flash.py does, at a size and a speed to be read."""

import math

import torch


def online_attention(q, k, v, tile_size=64):
    """softmax(q kᵀ / √d_k) v, reading keys and values tile by tile: only T × tile_size scores exist at a time.

    q (…, T, d_k), k (…, S, d_k), v (…, S, d_v) -> (…, T, d_v). tile_size: keys per tile; the last may be smaller.
    Source: Milakov and Gimelshein 2018 (online softmax); Dao et al. 2022, algorithm 1.
    """
    biggest = torch.full_like(q[..., :1], -math.inf)  # (…, T, 1) the largest score so far
    total = torch.zeros_like(biggest)  # the sum of the exponentials so far
    acc = torch.zeros_like(q[..., :1] * v[..., :1, :])  # (…, T, d_v) the output so far, not divided yet
    for start in range(0, k.shape[-2], tile_size):
        k_tile, v_tile = k[..., start : start + tile_size, :], v[..., start : start + tile_size, :]
        scores = q @ k_tile.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (…, T, tile_size)
        new_biggest = torch.maximum(biggest, scores.amax(dim=-1, keepdim=True))
        shrink = torch.exp(biggest - new_biggest)  # what was summed against the old maximum counts less now
        weights = torch.exp(scores - new_biggest)
        total = total * shrink + weights.sum(dim=-1, keepdim=True)
        acc = acc * shrink + weights @ v_tile
        biggest = new_biggest
    return acc / total
