"""Batches drawn anew at every step: no sequence is ever used twice.

A model that sees each sequence once cannot learn it by heart, so its training loss is an honest measure.
"""

import torch


class FreshBatches:
    """`steps` batches, each from make(batch_size, seed=…) with a seed of its own; the same `seed` gives the
    same batches.

    make: a function (n, seed=…) -> tuple of tensors, inputs first and targets last, such as `recall.shift`.
    An iterable with a len, as `training.train` expects.
    """

    def __init__(self, make, *, batch_size, steps, seed=0):
        self.make, self.batch_size, self.steps, self.seed = make, batch_size, steps, seed

    def __len__(self):
        return self.steps

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.seed)
        for _ in range(self.steps):
            # 62 random bits: no two steps, and no small seed chosen by hand for a test set, meet by chance
            own_seed = torch.randint(2**62, (), generator=generator).item()
            yield self.make(self.batch_size, seed=own_seed)
