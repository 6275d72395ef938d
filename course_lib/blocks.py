"""What stands between two attentions: the norm, the feed-forward layer, and the block that joins them."""

import torch


def layer_norm(x, gamma, beta, eps=1e-5):
    """Give every token mean 0 and variance 1 over its own features, then scale by gamma and shift by beta.

    x (…, d_model); gamma, beta (d_model,). Returns the shape of x. The variance divides by d_model, not d_model - 1.
    Source: Ba, Kiros and Hinton 2016, section 3.
    """
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return (x - mean) / torch.sqrt(variance + eps) * gamma + beta
