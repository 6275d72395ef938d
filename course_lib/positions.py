"""Where a token stands: sinusoidal encodings; learned, rotary and ALiBi follow."""

import torch


def sinusoidal_pe(n_positions, d_model):
    """One fingerprint per position: dimension 2i is sin(p / 10000^(2i / d_model)), dimension 2i + 1 its cosine.

    Returns float32 (n_positions, d_model). Raises ValueError if d_model is odd: sines and cosines come in pairs.
    Source: Vaswani et al. 2017, section 3.5.
    """
    if d_model % 2 != 0:
        raise ValueError(f"d_model must be even, since sines and cosines come in pairs; got {d_model}")
    position = torch.arange(n_positions, dtype=torch.float64)[:, None]  # (n, 1)
    wavelength = 10000.0 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)  # (d_model / 2,)
    angle = position / wavelength  # (n, d_model / 2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()
