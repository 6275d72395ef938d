"""Attack the captioner of captions.py with a change too small to matter to a person, and look at what its map shows.

Every pixel may change by at most epsilon. `attacked` looks for the worst change of that size by following the
gradient; `noisy` is its control, a random one.
"""

import torch
import torch.nn.functional as F

from course_lib.tasks import captions


def caption_loss(model, images, labels):
    """Cross-entropy of the right captions, summed over the letters of all images."""
    logits = model(images, captions.DECODER_INPUT[labels])
    return F.cross_entropy(logits.flatten(0, 1), captions.TARGETS[labels].flatten(), ignore_index=-100, reduction="sum")


def attacked(model, images, labels, epsilon, n_steps=10):
    """images (B, 1, 8, 8) changed so that the right caption (labels (B,)) becomes as unlikely as possible.

    No pixel changes by more than epsilon, nor leaves 0 … 1. Source: Madry et al. 2018, section 2.1.
    """
    changed = images.clone()
    for _ in range(n_steps):
        changed.requires_grad_()
        (gradient,) = torch.autograd.grad(caption_loss(model, changed, labels), changed)
        changed = changed.detach() + 2.5 * epsilon / n_steps * gradient.sign()
        changed = changed.clamp(images - epsilon, images + epsilon).clamp(0, 1)
    return changed


def noisy(images, epsilon, seed=0):
    """images with every pixel changed by epsilon, up or down at random, within 0 … 1."""
    generator = torch.Generator().manual_seed(seed)
    signs = torch.randint(2, images.shape, generator=generator) * 2 - 1
    return (images + epsilon * signs).clamp(0, 1)


def map_distance(a, b):
    """How much weight has to move to turn map a into map b: (…, S) -> (…), from 0 (equal) to 1 (disjoint)."""
    return (a - b).abs().sum(dim=-1) / 2


def told_apart(ordinary, suspects):
    """How well a detector tells two kinds of maps apart: 0.5 = not at all, 1 = always. Each (n, S), same images.

    A logistic regression on the logarithms of the weights (none below 0.0001) learns from the first half of the
    images. The score is the chance that, of two maps from the second half, one of each kind, it suspects the right one.
    """
    half = len(ordinary) // 2
    a, b = (maps.clamp(min=1e-4).log().double() for maps in (ordinary, suspects))
    lessons = torch.cat([a[:half], b[:half]])  # (2 · half, S)
    centre, spread = lessons.mean(dim=0), lessons.std(dim=0).clamp(min=1e-9)
    is_suspect = torch.cat([torch.zeros(half), torch.ones(half)])
    weights, _ = logistic_regression((lessons - centre) / spread, is_suspect)
    a, b = ((maps[half:] - centre) / spread @ weights for maps in (a, b))  # how suspicious each one is
    return ((b[:, None] > a).double() + 0.5 * (b[:, None] == a)).mean().item()


def logistic_regression(x, y, steps=15):
    """x float64 (n, d), y (n,) of 0 and 1 -> (weights float64 (d,), constant): P(y = 1) = sigmoid(x @ weights + constant).

    Half the sum of the squared weights is added to the loss, so that they stay finite. Newton's method.
    """
    x = torch.cat([x, torch.ones(len(x), 1)], dim=1)
    penalty = torch.ones(x.shape[1], dtype=torch.float64)
    penalty[-1] = 0  # the constant is free
    weights = torch.zeros_like(penalty)
    for _ in range(steps):
        p = (x @ weights).sigmoid()
        slope = x.T @ (p - y) + penalty * weights
        curvature = (x.T * (p * (1 - p))) @ x + penalty.diag()
        weights = weights - torch.linalg.solve(curvature, slope)
    return weights[:-1], weights[-1]
