"""Flash attention forward in Triton: exact attention that never holds the (T, S) scores.

One program computes one tile of queries of one head. It walks over the tiles of keys, and keeps for every query the
largest score so far, the sum of the exponentials so far, and the output so far; when a larger score turns up, the last
two shrink to fit. Source: Dao et al. 2022, algorithm 1; the order of the loops: Dao 2023.

Importing this file needs Triton (see `triton_here`); reading it does not.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def online_softmax_step(scores, v, biggest, total, acc):
    """One more tile of keys: scores (BLOCK_T, BLOCK_S), its values v (BLOCK_S, BLOCK_D)."""
    new_biggest = tl.maximum(biggest, tl.max(scores, axis=1))  # (BLOCK_T,)
    anchor = tl.where(new_biggest == float("-inf"), 0.0, new_biggest)  # -inf - -inf would be NaN
    shrink = tl.exp(biggest - anchor)  # what was summed against the old maximum counts less now
    weights = tl.exp(scores - anchor[:, None])  # not divided yet; 0 where the score is -inf
    total = total * shrink + tl.sum(weights, axis=1)
    acc = tl.dot(weights.to(v.dtype), v, acc * shrink[:, None], input_precision="ieee")
    return new_biggest, total, acc


@triton.jit
def flash_forward(Q, K, V, PADDING, OUT, LSE, n_heads, group, T, S, scale,
                  CAUSAL: tl.constexpr, PADDED: tl.constexpr, d_k: tl.constexpr,
                  BLOCK_T: tl.constexpr, BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr):  # fmt: skip
    """Q, OUT (B·h, T, d_k), K, V (B·h_kv, S, d_k), PADDING (B, S), LSE (B·h, T), all contiguous; `group` query heads
    share one head of keys. BLOCK_D: the power of 2 from d_k on; what lies beyond an edge is read as 0.
    """
    head = tl.program_id(1).to(tl.int64)  # which of the B·h; 64 bits, since B·h·T·d_k may exceed 2^31
    feature = tl.arange(0, BLOCK_D)
    t = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)  # the queries of this tile
    inside_q = (t[:, None] < T) & (feature[None, :] < d_k)
    q = tl.load(Q + (head * T + t[:, None]) * d_k + feature[None, :], mask=inside_q, other=0.0)

    biggest = tl.full([BLOCK_T], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_T], tl.float32)
    acc = tl.zeros([BLOCK_T, BLOCK_D], tl.float32)
    newest = S - T + t  # causal: the last key that each query may see; the last query sees them all
    end = tl.minimum(S, S - T + (tl.program_id(0) + 1) * BLOCK_T) if CAUSAL else S
    for start in range(0, end, BLOCK_S):
        s = start + tl.arange(0, BLOCK_S)  # the keys of this tile
        place = (head // group * S + s[:, None]) * d_k + feature[None, :]
        inside_k = (s[:, None] < S) & (feature[None, :] < d_k)
        k = tl.load(K + place, mask=inside_k, other=0.0)
        v = tl.load(V + place, mask=inside_k, other=0.0)
        visible = s[None, :] < S
        if CAUSAL:
            visible = visible & (s[None, :] <= newest[:, None])
        if PADDED:
            visible = visible & (tl.load(PADDING + head // n_heads * S + s, s < S, 0) != 0)[None, :]
        scores = tl.dot(q, tl.trans(k), input_precision="ieee")  # (BLOCK_T, BLOCK_S)
        scores = tl.where(visible, scores * scale, float("-inf"))
        biggest, total, acc = online_softmax_step(scores, v, biggest, total, acc)

    total = tl.where(total == 0.0, 1.0, total)  # nothing to attend to: output 0, not 0 / 0
    output = (acc / total[:, None]).to(OUT.dtype.element_ty)
    tl.store(OUT + (head * T + t[:, None]) * d_k + feature[None, :], output, mask=inside_q)
    tl.store(LSE + head * T + t, biggest + tl.log(total), mask=t < T)  # -inf: nothing to attend to


def tiles(d_k, dtype):
    """Sizes of the tiles and warps a program, as large as registers allow: float32 has no tensor cores to feed."""
    BLOCK_D = max(16, triton.next_power_of_2(d_k))
    if dtype == torch.float32:
        BLOCK_S, num_warps = (32, 4) if BLOCK_D <= 64 else (16, 8)
        return {"BLOCK_T": 32, "BLOCK_S": BLOCK_S, "BLOCK_D": BLOCK_D, "num_warps": num_warps}
    return {"BLOCK_T": 128, "BLOCK_S": 64, "BLOCK_D": BLOCK_D, "num_warps": 8}


def launch(q, k, v, causal, padding):
    """q (B, h, T, d_k), k, v (B, h_kv, S, d_k), padding bool (B, S) or None -> (output as q, lse float32 (B, h, T))."""
    (B, h, T, d_k), (h_kv, S) = q.shape, k.shape[1:3]
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    output, lse = torch.empty_like(q), torch.empty(B, h, T, dtype=torch.float32, device=q.device)
    padded = q.new_empty(0, dtype=torch.int8) if padding is None else padding.to(torch.int8).contiguous()
    sizes = tiles(d_k, q.dtype)
    programs = (triton.cdiv(T, sizes["BLOCK_T"]), B * h)
    flash_forward[programs](
        q, k, v, padded, output, lse, h, h // h_kv, T, S, d_k**-0.5,
        CAUSAL=causal, PADDED=padding is not None, d_k=d_k, **sizes,
    )  # fmt: skip
    return output, lse
