"""Two objectives that notebook 06 has not met elsewhere: T5's hidden stretches, and the label of a ViT.

Each is trained on a small model with the published one's settings, and scored against the unigram baseline: what one
pays, in nats, who guesses by how frequent each word or label is.

    la pomme n' est pas vieille, stretches (1, 2) and (4, 6)     the encoder reads    la <1> n' est <2>
                                                                 the decoder writes   <1> pomme <2> pas vieille
"""

from dataclasses import replace

import torch
import torch.nn.functional as F

from course_lib import counting, models, training
from course_lib.tasks import digits
from course_lib.tasks.agreement import sentences
from course_lib.tasks.vocabulary import Vocabulary

SIGNS = ("<1>", "<2>")
LENGTH = 8  # tokens; the longest sentence has 7 words, and <eos> goes after what is written


def hide_stretches(words, stretches):
    """The words with each stretch (from, to) replaced by a sign, and what the signs stand for: two lists of words.

    At most two stretches, in order and apart. Source: Raffel et al. 2020, section 3.1.4.
    """
    source, target, at = [], [], 0
    for sign, (start, end) in zip(SIGNS, stretches, strict=False):
        source += [*words[at:start], sign]
        target += [sign, *words[start:end]]
        at = end
    return [*source, *words[at:]], target


def random_stretches(n, generator):
    """One stretch in each half of n words, of one or two words: [(from, to), (from, to)]."""
    found = []
    for low, high in ((0, n // 2), (n // 2, n)):
        start = torch.randint(low, high, (), generator=generator).item()
        longest = min(2, high - start)
        found.append((start, start + torch.randint(1, longest + 1, (), generator=generator).item()))
    return found


def lessons(texts, vocabulary, seed=0):
    """Each text with stretches hidden: sources (N, LENGTH), their padding, targets (N, LENGTH), -100 after <eos>."""
    generator = torch.Generator().manual_seed(seed)
    pairs = [hide_stretches(words, random_stretches(len(words), generator)) for words in texts]
    sources, padding = vocabulary.batch([source for source, _ in pairs], length=LENGTH)
    targets, asked = vocabulary.batch([target for _, target in pairs], eos=True, length=LENGTH)
    return sources, padding, targets.masked_fill(~asked, -100)


def stretches_model(vocab_size, d_model=48, seed=0):
    """An untrained EncoderDecoder with T5's settings made small, but with sinusoidal positions: ours has not T5's."""
    training.set_seed(seed)
    small = {"d_model": d_model, "n_heads": 4, "n_layers": 1, "d_ff": 3 * d_model, "max_len": LENGTH}
    t5 = counting.PUBLISHED["T5-base"].config
    return models.EncoderDecoder(replace(t5, vocab_size=vocab_size, positions="sinusoidal", **small))


def decoder_input(targets, vocabulary):
    """targets (B, T), with -100 where nothing is asked -> what the decoder reads (B, T)."""
    return training.shift_right(targets.clamp(min=vocabulary.pad_id), vocabulary.bos_id)


def hidden_stretches(steps=100, lr=1e-2, n_held_out=150, seed=0):
    """(by frequency, by model): nats for each hidden word of held-out French sentences, the signs not counted."""
    vocabulary = Vocabulary([*SIGNS, *(word for words in sentences() for word in words)])
    order = torch.randperm(len(sentences()), generator=torch.Generator().manual_seed(seed))
    texts = [list(sentences())[i] for i in order.tolist()]
    held_out, texts = texts[:n_held_out], texts[n_held_out:]
    repeats = -(-steps * 48 // len(texts))  # each time with other stretches hidden
    sources, padding, targets = lessons(texts * repeats, vocabulary, seed)
    model = stretches_model(len(vocabulary), seed=seed)
    rows = (sources, decoder_input(targets, vocabulary), padding, targets != -100, targets)
    for _ in training.train(model, training.Minibatches(*rows, batch_size=48, seed=seed), lr=lr, steps=steps):
        pass
    free = torch.tensor([-100, vocabulary.eos_id, *vocabulary.encode(SIGNS)])  # what is no hidden word
    seen = targets[~torch.isin(targets, free)]
    sources, padding, targets = lessons(held_out, vocabulary, seed + 1_000_000)
    inputs, asked = (sources, decoder_input(targets, vocabulary), padding), ~torch.isin(targets, free)
    return by_frequency(seen, targets[asked], len(vocabulary)), nats(model, inputs, targets.masked_fill(~asked, -100))


def image_labels(epochs=3, seed=0):
    """(by frequency, by model): nats for the label of a held-out digit, by a small ViT."""
    data = digits.digits(seed=seed)
    vit = digits.train_vit(data, epochs=epochs, seed=seed)
    by_model = nats(vit, (data.test_images,), data.test_labels)
    return by_frequency(data.train_labels, data.test_labels, 10), by_model


def by_frequency(seen, asked, n):
    """Mean nats for the ids asked (m,), guessed by how often each of n ids is among those seen."""
    counts = torch.bincount(seen, minlength=n).float() + 1
    return -(counts / counts.sum()).log()[asked].mean().item()


@torch.no_grad()
def nats(model, inputs, targets):
    """Mean nats for the targets, by model(*inputs); -100 does not count."""
    return F.cross_entropy(model(*inputs).flatten(0, -2), targets.flatten(), ignore_index=-100).item()
