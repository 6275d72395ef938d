"""1,797 real images of handwritten digits, 8 × 8 grey pixels, which come with scikit-learn.

Origin: "Optical Recognition of Handwritten Digits", E. Alpaydin and C. Kaynak, 1998, UCI Machine Learning
Repository, CC BY 4.0; scikit-learn carries its test part. Look at a few with `imshow`: not all are easy for a
person.
"""

import gzip
import importlib.util
import math
from pathlib import Path
from typing import NamedTuple

import torch

from course_lib import heads, models, training


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
    images, labels = load()
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    by_digit = order[labels[order].argsort(stable=True)]  # all zeros, then all ones, …; in random order within
    every_so_many = (torch.arange(math.ceil(test_share * len(labels))) / test_share).long()
    held_out = torch.zeros(len(labels), dtype=torch.bool)
    held_out[by_digit[every_so_many]] = True
    train, test = order[~held_out[order]], order[held_out[order]]
    return Digits(images[train], labels[train], images[test], labels[test])


def load():
    """All images float32 (1797, 1, 8, 8) and labels int64 (1797,), in scikit-learn's order.

    scikit-learn's file is read without importing it, which would cost four CPU seconds and 100 MB.
    Raises ModuleNotFoundError where scikit-learn is not installed.
    """
    package = importlib.util.find_spec("sklearn")
    if package is None:
        raise ModuleNotFoundError("the digits come with scikit-learn, which is not installed: pip install scikit-learn")
    path = Path(package.submodule_search_locations[0], "datasets", "data", "digits.csv.gz")
    with gzip.open(path, "rt", encoding="ascii") as file:
        table = torch.tensor([[float(number) for number in line.split(",")] for line in file])  # (1797, 65)
    return table[:, :-1].reshape(-1, 1, 8, 8) / 16, table[:, -1].long()  # pixels are counts from 0 to 16


def train_vit(data, positions="learned", *, epochs=10, lr=8e-3, d_model=32, seed=0):
    """A VisionTransformer with 2 layers of 4 heads on patches of 2 × 2 pixels, trained on data (Digits)."""
    training.set_seed(seed)
    config = models.TransformerConfig(vocab_size=0, d_model=d_model, n_heads=4, n_layers=2, d_ff=2 * d_model,
                                      max_len=17, positions=positions)  # fmt: skip
    model = heads.VisionTransformer(config, n_classes=10, patch_size=2)
    batches = training.Minibatches(data.train_images, data.train_labels, batch_size=64, epochs=epochs, seed=seed)
    for _ in training.train(model, batches, lr=lr, weight_decay=0.05):
        pass
    return model


@torch.no_grad()
def accuracy(model, data):
    """Share of the test images that are named right."""
    return (model(data.test_images).argmax(dim=-1) == data.test_labels).float().mean().item()


def logistic_regression(data):
    """The baseline: one linear layer on the 64 pixels. Returns its share of test images named right."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(max_iter=300).fit(data.train_images.flatten(1).numpy(), data.train_labels.numpy())
    return fitted.score(data.test_images.flatten(1).numpy(), data.test_labels.numpy())
