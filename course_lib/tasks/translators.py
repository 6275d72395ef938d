"""A small translator for the tasks french, dates and number_words: made, trained, asked, and with a part taken out.

What it does word by word is in decoder_study.py.
"""

import copy

from course_lib import generation, models, training
from course_lib.tasks.pairs import Pair

SUBLAYERS = {"self-attention": "attention", "cross-attention": "cross_attention", "feed-forward": "feed_forward"}


def translator(task, d_model=32, n_layers=1, without=None, seed=0):
    """An untrained EncoderDecoder for a Translation; without: a sublayer of the decoder to silence (see SUBLAYERS)."""
    training.set_seed(seed)
    sizes = {"d_model": d_model, "n_heads": 4, "n_layers": n_layers, "d_ff": 4 * d_model, "max_len": 64}
    source, target = task.source_vocabulary, task.target_vocabulary
    model = models.EncoderDecoder(
        models.TransformerConfig(vocab_size=len(source), **sizes),
        models.TransformerConfig(vocab_size=len(target), **sizes),
    )
    if without is not None:
        silence(model, without)
    return model


def silence(model, sublayer):
    """Make a sublayer of every decoder block add nothing to the residual stream, for good: its last matrix is 0."""
    for block in model.decoder.blocks:
        part = getattr(block, SUBLAYERS[sublayer])
        last = part.w_2 if sublayer == "feed-forward" else part.w_o
        for parameter in last.parameters():
            parameter.requires_grad_(False).zero_()


def silenced(model, sublayer):
    """A copy of a trained model in which a sublayer of the decoder says nothing any more."""
    model = copy.deepcopy(model)
    silence(model, sublayer)
    return model


def batches(task, epochs, batch_size=64, seed=0):
    """The pairs to train on, shuffled every epoch: (source, decoder_input, source_padding, targets)."""
    return training.Minibatches(*task.tensors(task.train), batch_size=batch_size, epochs=epochs, seed=seed)


def train_translator(task, *, epochs, lr=1e-2, batch_size=64, seed=0, **sizes):
    """A trained translator; sizes: as in `translator`."""
    model = translator(task, **sizes, seed=seed)
    for _ in training.train(model, batches(task, epochs, batch_size, seed), lr=lr):
        pass
    return model


def translate(model, task, pairs, **choice):
    """What the model writes for each pair's source, as ids int64 (N, ≤ T), <bos> cut off; choice: as in `generate`."""
    source, start, padding, targets = task.tensors(pairs)
    ids = generation.generate(model, start[:, :1], targets.shape[1], source=source, source_padding=padding,
                              eos_id=task.target_vocabulary.eos_id, **choice)  # fmt: skip
    return ids[:, 1:]


def texts(model, task, pairs, **choice):
    """The model's translations as texts, and the right ones: two lists."""
    written = [task.text(ids) for ids in translate(model, task, pairs, **choice)]
    return written, [task.join_target(pair.target) for pair in pairs]


def exact_match(model, task, pairs, **choice):
    """Share of sentences that are right in every word."""
    written, right = texts(model, task, pairs, **choice)
    return sum(a == b for a, b in zip(written, right, strict=True)) / len(pairs)


def errors(model, task, pairs):
    """(source, what the model wrote, what is right) for every sentence that it got wrong."""
    sources = [task.join_source(pair.source) for pair in pairs]
    rows = zip(sources, *texts(model, task, pairs), strict=True)
    return [(source, written, right) for source, written, right in rows if written != right]


def swapped(pairs):
    """The pairs with each source replaced by that of the next pair: does the model notice?"""
    others = [*pairs[1:], pairs[0]]
    return [Pair(other.source, pair.target) for pair, other in zip(pairs, others, strict=True)]
