"""1,797 real images of handwritten digits, 8 × 8 grey pixels, which come with scikit-learn.

Origin: "Optical Recognition of Handwritten Digits", E. Alpaydin and C. Kaynak, 1998, UCI Machine Learning
Repository, CC BY 4.0; scikit-learn carries its test part. Look at a few with `imshow`: not all are easy for a
person.
"""

from typing import NamedTuple

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class Digits(NamedTuple):
    """Images float32 (n, 1, 8, 8) in 0 … 1, one channel as `VisionTransformer` expects; labels int64 (n,)."""

    train_images: torch.Tensor
    train_labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor


def digits(test_share=0.2, seed=0):
    """The images, split at random but with each digit equally frequent in both parts. Returns Digits."""
    if not 0 < test_share < 1:
        raise ValueError(f"test_share must lie between 0 and 1; got {test_share}")
    data = load_digits()
    rows = train_test_split(range(len(data.target)), test_size=test_share, stratify=data.target, random_state=seed)
    images = torch.tensor(data.images[:, None] / 16, dtype=torch.float32)  # pixels are counts from 0 to 16
    labels = torch.tensor(data.target, dtype=torch.int64)
    train, test = (torch.tensor(part) for part in rows)
    return Digits(images[train], labels[train], images[test], labels[test])
