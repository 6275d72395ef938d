"""1,797 real images of handwritten digits, 8 × 8 grey pixels, which come with scikit-learn.

Origin: "Optical Recognition of Handwritten Digits", E. Alpaydin and C. Kaynak, 1998, UCI Machine Learning
Repository, CC BY 4.0; scikit-learn carries its test part. Look at a few with `imshow`: not all are easy for a
person.
"""

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
    from sklearn.datasets import load_digits  # here: importing it costs seconds
    from sklearn.model_selection import train_test_split

    if not 0 < test_share < 1:
        raise ValueError(f"test_share must lie between 0 and 1; got {test_share}")
    data = load_digits()
    rows = train_test_split(range(len(data.target)), test_size=test_share, stratify=data.target, random_state=seed)
    images = torch.tensor(data.images[:, None] / 16, dtype=torch.float32)  # pixels are counts from 0 to 16
    labels = torch.tensor(data.target, dtype=torch.int64)
    train, test = (torch.tensor(part) for part in rows)
    return Digits(images[train], labels[train], images[test], labels[test])


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
