"""From hidden states to an answer: a classifier on an encoder or a decoder, and the Vision Transformer."""

import torch
from torch import nn

from course_lib.masks import last_real
from course_lib.models import Encoder


class Classifier(nn.Module):
    """A linear head on the hidden states of a body: an Encoder, or a Decoder, whose own head stays unused.

    pooling: "mean" over the real tokens, "cls" the first token, "last" the last real token, or None: a label
    per token.
    """

    def __init__(self, body, n_classes, pooling="mean"):
        super().__init__()
        if pooling not in ("mean", "cls", "last", None):
            raise ValueError(f"pooling must be 'mean', 'cls', 'last' or None; got {pooling!r}")
        self.body, self.pooling = body, pooling
        self.head = nn.Linear(body.config.d_model, n_classes)

    def forward(self, tokens, padding=None, need_weights=False, edit_weights=None):
        """tokens (B, T) -> logits (B, n_classes), with pooling=None (B, T, n_classes); else as `Encoder`."""
        result = self.body.hidden(tokens, padding, need_weights, edit_weights)
        hidden, weights = (result, None) if need_weights is False else result
        logits = self.head(pool(hidden, padding, self.pooling))
        return logits if need_weights is False else (logits, weights)


class VisionTransformer(nn.Module):
    """An encoder that reads an image as a row of patches behind a [CLS] token. config.vocab_size is 0.

    Source: Dosovitskiy et al. 2021, section 3.1.
    """

    def __init__(self, config, n_classes, patch_size, n_channels=1):
        super().__init__()
        self.patch_size = patch_size
        self.embed_patch = nn.Linear(n_channels * patch_size**2, config.d_model)
        self.cls = nn.Parameter(torch.zeros(config.d_model))
        self.encoder = Encoder(config)
        self.head = nn.Linear(config.d_model, n_classes)

    def forward(self, images, need_weights=False, edit_weights=None):
        """images (B, channels, height, width) -> logits (B, n_classes); the weights have [CLS] as token 0."""
        x = self.embed_patch(patches(images, self.patch_size))  # (B, n_patches, d_model)
        x = torch.cat([self.cls.expand(len(x), 1, -1), x], dim=1)
        result = self.encoder(x, need_weights=need_weights, edit_weights=edit_weights)
        hidden, weights = (result, None) if need_weights is False else result
        logits = self.head(hidden[:, 0])
        return logits if need_weights is False else (logits, weights)


def patches(images, size):
    """Cut images (B, C, height, width) into squares, row by row: (B, n_patches, C · size²).

    Raises ValueError if the squares do not fill the image.
    """
    B, C, height, width = images.shape
    if height % size or width % size:
        raise ValueError(f"patches of size {size} do not fill images of {height} × {width}")
    grid = images.reshape(B, C, height // size, size, width // size, size)
    return grid.permute(0, 2, 4, 1, 3, 5).reshape(B, -1, C * size * size)


def pool(hidden, padding=None, pooling="mean"):
    """hidden (B, T, d_model) -> (B, d_model): see `Classifier`. padding: bool (B, T), True = real token."""
    if pooling is None:
        return hidden
    if pooling == "cls":
        return hidden[:, 0]
    if padding is None:
        return hidden.mean(dim=1) if pooling == "mean" else hidden[:, -1]
    if pooling == "mean":
        return (hidden * padding[..., None]).sum(dim=1) / padding.sum(dim=1, keepdim=True).clamp(min=1)
    return hidden[torch.arange(len(hidden)), last_real(padding)]
