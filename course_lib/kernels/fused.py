"""PyTorch's fused attention, told as much as it can use: `is_causal` instead of a (T, T) mask wherever that is right."""

import torch.nn.functional as F

from course_lib.masks import causal_rows, check_mask


def fused_attention(q, k, v, mask=None, causal=False):
    """Attention without its weights, from PyTorch's kernel, which never builds the (T, S) scores.

    q (B, h, T, d_k); k, v (B, h_kv, S, d_k), where h_kv divides h; mask: bool, broadcasts to (B, h, T, S); causal:
    the newest query is aligned to the newest key. Returns (B, h, T, d_k).
    """
    T, S = q.shape[-2], k.shape[-2]
    if mask is not None:
        check_mask(mask, (*q.shape[:-1], S))
    if causal and T == 1:
        causal = False  # the newest query may see every key
    if causal and (mask is not None or T != S):  # is_causal alone aligns query 0 to key 0
        rows = causal_rows(T, S, q.device)
        mask, causal = rows if mask is None else mask & rows, False
    grouped = q.shape[1] != k.shape[1]
    wider = q.shape[-1] - v.shape[-1]  # ALiBi makes q and k wider; the fast kernels want equal widths
    if wider:
        v = F.pad(v, (0, wider))
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=grouped)
    return output[..., :-wider] if wider else output
