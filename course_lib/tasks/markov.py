"""A source of text whose entropy is known exactly, so that a loss can be compared with the best that is
possible.

In a Markov source of order m, the next token depends on the last m tokens through a table of probabilities,
and on nothing else. The conditional entropy of the next token, in nats, is a line that no model which sees
only the past can cross on sequences it has not seen: it knows, at best, the table. A loss below the line
means that the model has seen the answer, or has learned the sequences by heart. Source: Shannon 1948,
sections 3 to 7.
"""

import torch


class MarkovSource:
    """A random Markov source over tokens 0 … vocab_size − 1, of order 1 or 2; `table_seed` decides on the
    table.

    sharpness: standard deviation of the random scores behind the table; 0 makes all tokens equally likely.
    `table`: float64 (V,) * order + (V,), probabilities of the next token after the last `order` tokens.
    `start`: float64 (V,) * order, how often each group of `order` tokens occurs in the long run.
    """

    def __init__(self, vocab_size=24, order=1, sharpness=1.9, table_seed=0):
        if order not in (1, 2) or vocab_size < 2 or sharpness < 0:
            raise ValueError(
                "order must be 1 or 2, vocab_size at least 2 and sharpness at least 0; "
                f"got order = {order}, vocab_size = {vocab_size}, sharpness = {sharpness}"
            )
        self.vocab_size, self.order = vocab_size, order
        generator = torch.Generator().manual_seed(table_seed)
        scores = torch.randn((vocab_size,) * (order + 1), generator=generator, dtype=torch.float64)
        self.table = (sharpness * scores).softmax(dim=-1)
        self.start = self._long_run()

    def entropy(self):
        """Entropy of the next token given the past, in nats: the exact long-run mean of −Σ p ln p."""
        return -(self.start.unsqueeze(-1) * self.table * self.table.log()).sum().item()

    def sample(self, n, T, seed=0):
        """n sequences of T tokens, int64 (n, T), each started in the long run's proportions."""
        if T < self.order:
            raise ValueError(f"a source of order {self.order} needs T ≥ {self.order}; got {T}")
        generator = torch.Generator().manual_seed(seed)
        first = torch.multinomial(self.start.flatten(), n, replacement=True, generator=generator)
        places = reversed(range(self.order))  # a group is a number in base V; torch.unravel_index imports a compiler
        tokens = [first // self.vocab_size**place % self.vocab_size for place in places]
        while len(tokens) < T:
            probabilities = self.table[tuple(tokens[-self.order :])]  # (n, V)
            tokens.append(torch.multinomial(probabilities, 1, generator=generator)[:, 0])
        return torch.stack(tokens, dim=1)

    def batch(self, n, T=24, seed=0):
        """n fresh sequences to learn from: inputs int64 (n, T), targets int64 (n, T), the token after each
        input.

        The first order − 1 targets are -100: there the past is too short for the table, and `entropy` would
        not apply.
        """
        tokens = self.sample(n, T + 1, seed)
        targets = tokens[:, 1:].clone()
        targets[:, : self.order - 1] = -100
        return tokens[:, :-1], targets

    def score(self, tokens):
        """Nats a token that the true source needs for each sequence: tokens int64 (B, T) -> float64 (B,).

        The mean of −ln p over all tokens that have `order` tokens before them. Real text scores `entropy` on
        average.
        """
        if tokens.ndim != 2 or tokens.shape[1] <= self.order:
            raise ValueError(f"tokens must be (B, T) with T > {self.order}; got {tuple(tokens.shape)}")
        if tokens.min() < 0 or tokens.max() >= self.vocab_size:
            raise ValueError(f"tokens must lie in 0 … {self.vocab_size - 1}; got {tokens.min()} … {tokens.max()}")
        windows = tokens.unfold(1, self.order + 1, 1)  # (B, T − order, order + 1)
        return -self.table[windows.unbind(-1)].log().mean(dim=1)

    def _long_run(self):
        """Long-run share of each group of `order` tokens: what one step of the source leaves as it is."""
        V, n = self.vocab_size, self.vocab_size**self.order
        step = torch.zeros(n, n, dtype=torch.float64)
        groups = torch.arange(n)
        for token in range(V):  # a group loses its oldest token and gains `token`
            step[groups, groups % (n // V) * V + token] = self.table.reshape(n, V)[:, token]
        equations = step.T - torch.eye(n, dtype=torch.float64)
        equations[-1] = 1.0  # one equation follows from the others: put "the shares add up to 1" in its place
        total = torch.zeros(n, dtype=torch.float64)
        total[-1] = 1.0
        return torch.linalg.solve(equations, total).clamp(min=0).reshape(self.table.shape[:-1])
