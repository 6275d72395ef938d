"""Few labels, five packages: what is gained by a model that has read before?

Four ways to a classifier of sentences: a linear probe on frozen features, the last block of a pre-trained encoder
trained further, a small Transformer from scratch, and the honest baseline, a linear layer on counted words.
"""

import copy
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from course_lib import heads, models, pretrained, training
from course_lib.tasks import docstrings
from course_lib.tasks.on_demand import OnDemand
from course_lib.tasks.vocabulary import Vocabulary

UNKNOWN = "<unknown>"


@dataclass
class Reader(OnDemand):
    """A post-norm Encoder, its `.model`, and how a sentence becomes a list of ids."""

    load: object  # () -> the Encoder
    encode: object  # text -> list of ids
    real: bool
    note: str


def reader(seed=0):
    """MiniLM, or the stand-in with a note that says how to get the real one."""
    try:
        model, tokenizer = pretrained.load_minilm()
    except pretrained.Unavailable as missing:
        return stand_in(f"{missing}. Until then: a small encoder, trained here.", seed)
    note = "all-MiniLM-L6-v2: 6 layers of 12 heads"
    reader = Reader(lambda: pretrained.load_minilm()[0], lambda text: tokenizer.encode(text).ids, True, note)
    reader.model = model
    return reader


def stand_in(note, seed=0, steps=150):
    """A small encoder that has learned to fill in hidden words of the same docstrings, without any label."""
    vocabulary = Vocabulary([UNKNOWN, *(word for text in docstrings.load() for word in docstrings.words(text))])
    training.set_seed(seed)
    config = models.TransformerConfig(vocab_size=len(vocabulary), d_model=64, n_heads=4, n_layers=2, d_ff=128,
                                      max_len=32, norm_first=False)  # fmt: skip
    model = models.Decoder(config)  # a Decoder for its head alone:
    model.causal = False  # it sees both ways, as an encoder does
    rows = vocabulary.batch([docstrings.words(text) for text in docstrings.load()])[0]
    batches = training.Minibatches(rows, batch_size=32, epochs=steps // (len(rows) // 32) + 1, seed=seed)
    for _ in training.train(model, batches, loss=hidden_word_loss(vocabulary.encode([UNKNOWN])[0]), steps=steps):
        pass

    def encode(text):
        return vocabulary.encode(word if word in vocabulary else UNKNOWN for word in docstrings.words(text))

    return Reader(lambda: model, encode, False, note)


def hidden_word_loss(hidden_id):
    """A loss for `train`: three words in twenty are hidden, and only they are asked for."""

    def loss(model, batch):
        (tokens,) = batch
        padding = tokens != Vocabulary.pad_id
        inputs, targets = training.mask_tokens(tokens, torch.rand(tokens.shape) < 0.15, hidden_id, ~padding)
        asked = targets != -100
        return F.cross_entropy(model.head(model.hidden(inputs, padding)[asked]), targets[asked])

    return loss


def padded(rows):
    """Lists of ids -> (tokens int64 (n, T), padding bool (n, T), True = real token)."""
    tokens = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    return tokens, torch.arange(tokens.shape[1]) < torch.tensor([len(row) for row in rows])[:, None]


@torch.no_grad()
def frozen_part(reader, sentences, batch_size=16):
    """What the frozen blocks, all but the last, make of the sentences: hidden (n, T, d_model), padding (n, T)."""
    rows = [reader.encode(sentence) for sentence in sentences]
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))  # equal lengths together: little padding to compute
    T = len(rows[order[-1]])
    hidden = torch.zeros(len(rows), T, reader.model.config.d_model)
    padding = torch.zeros(len(rows), T, dtype=torch.bool)
    for places in torch.tensor(order).split(batch_size):
        tokens, real = padded([rows[i] for i in places.tolist()])
        x, inside = reader.model.embed(tokens, real)
        for block in reader.model.blocks[:-1]:
            x = block(x, padding=real, positions=inside)
        hidden[places, : x.shape[1]], padding[places, : x.shape[1]] = x, real
    return hidden, padding


@torch.no_grad()
def last_hidden(writer, sentences, batch_size=16):
    """A decoder's last hidden state at the last token, which alone has seen the whole sentence: (n, d_model)."""
    rows = [writer.encode(sentence) for sentence in sentences]
    features = torch.zeros(len(rows), writer.model.config.d_model)
    for places in torch.tensor(sorted(range(len(rows)), key=lambda i: len(rows[i]))).split(batch_size):
        tokens, real = padded([rows[i] for i in places.tolist()])
        hidden = writer.model.hidden(tokens)  # padding stands on the right, where no real token looks
        features[places] = heads.pool(hidden, real, "last").float()
    return features


def counted_words(sentences, train):
    """How often each word of the training sentences occurs in every sentence: (n, words)."""
    rows = [docstrings.words(sentence) for sentence in sentences]
    place = {word: i for i, word in enumerate(sorted({word for i in train.tolist() for word in rows[i]}))}
    counts = torch.zeros(len(rows), len(place))
    for row, known in enumerate([place[word] for word in words if word in place] for words in rows):
        counts[row].index_add_(0, torch.tensor(known, dtype=torch.int64), torch.ones(len(known)))
    return counts


@torch.no_grad()
def probe(features, labels, penalty=1.0):
    """A linear layer fitted to features (n, d_model), which stay as they are, and labels int64 (n,).

    Least squares on one-hot labels, with a penalty on the weights (ridge regression): solved at once, nothing to tune.
    Between a tenth and ten times this penalty little changes.
    """
    (n, d_model), classes = features.shape, F.one_hot(labels).float()  # (n, classes)
    centre, spread, share = features.mean(dim=0), features.std(dim=0).clamp(min=1e-3), classes.mean(dim=0)
    x = (features - centre) / spread
    weight = x.T @ torch.linalg.solve(x @ x.T + penalty * d_model * torch.eye(n), classes - share)  # (d_model, classes)
    linear = nn.Linear(d_model, classes.shape[1])
    linear.weight.copy_((weight / spread[:, None]).T)
    linear.bias.copy_(share - linear.weight @ centre)
    return linear


@torch.no_grad()
def accuracy(model, labels, *inputs):
    """Share of rows whose largest logit is the label's."""
    return (model(*inputs).argmax(dim=-1) == labels).float().mean().item()


def probe_scores(features, labels, n_train, seeds):
    """Accuracy of a probe on features (n, d_model), for each seed's split: a list."""
    splits = [docstrings.split(labels, n_train, seed=seed) for seed in seeds]
    return [accuracy(probe(features[train], labels[train]), labels[test], features[test]) for train, test in splits]


def count_scores(data, n_train, seeds):
    """Accuracy of a probe on counted words, for each seed's split: the baseline that knows no order and no meaning."""
    scores = []
    for seed in seeds:
        train, _ = docstrings.split(data.labels, n_train, seed=seed)
        scores += probe_scores(counted_words(data.sentences, train), data.labels, n_train, [seed])
    return scores


class LastBlock(nn.Module):
    """A copy of a pre-trained model's last block, and mean pooling: the features that a probe reads."""

    def __init__(self, model):
        super().__init__()
        self.block = copy.deepcopy(model.blocks[-1])

    def forward(self, hidden, padding):
        """hidden (B, T, d_model), padding (B, T) -> (B, d_model)."""
        T = int(padding.sum(dim=1).max())  # the longest sentence of the batch
        return heads.pool(self.block(hidden[:, :T], padding=padding[:, :T]), padding[:, :T])


class Both(nn.Module):
    """Features, then a linear layer on them."""

    def __init__(self, features, linear):
        super().__init__()
        self.features, self.linear = features, linear

    def forward(self, hidden, padding):
        return self.linear(self.features(hidden, padding))


@torch.no_grad()
def in_pieces(function, *tensors):
    """function applied to 16 rows at a time, from the shortest sentence to the longest; tensors[1] is the padding."""
    order = tensors[1].sum(dim=1).argsort()
    return torch.cat([function(*(t[places] for t in tensors)) for places in order.split(16)])[order.argsort()]


def last_block(reader, frozen):
    """Output of `frozen_part` -> one vector a sentence, the mean of its last hidden states: (n, d_model)."""
    return in_pieces(LastBlock(reader.model), *frozen)


def embed(reader, sentences):
    """Sentences -> unit vectors (n, d_model), so that their products are cosines."""
    return F.normalize(last_block(reader, frozen_part(reader, sentences)), dim=-1)


def fine_tune(model, frozen, labels, n_train, n_test=100, epochs=3, lr=3e-4, seed=0):
    """(accuracy of a probe, accuracy after training it on together with a copy of the last block), on one split.

    frozen: from `frozen_part`, computed once. Starting from the probe: Kumar et al. 2022.
    """
    train, test = docstrings.split(labels, n_train, n_test, seed)
    hidden, padding = frozen
    block = LastBlock(model)
    tuned = Both(block, probe(in_pieces(block, hidden[train], padding[train]), labels[train]))
    before = in_pieces(tuned, hidden[test], padding[test])
    chosen = (hidden[train], padding[train], labels[train])
    batches = training.Minibatches(*chosen, batch_size=16, epochs=epochs, seed=seed)
    for _ in training.train(tuned, batches, lr=lr):
        pass
    after = in_pieces(tuned, hidden[test], padding[test])
    return tuple((logits.argmax(dim=-1) == labels[test]).float().mean().item() for logits in (before, after))


def from_scratch(data, n_train, epochs=20, lr=1e-2, d_model=32, seed=0):
    """Accuracy of a small Transformer that has read nothing but the training sentences, word by word."""
    train, test = docstrings.split(data.labels, n_train, seed=seed)
    rows = [docstrings.words(sentence) for sentence in data.sentences]
    vocabulary = Vocabulary([UNKNOWN, *(word for i in train.tolist() for word in rows[i])])
    tokens, padding = vocabulary.batch([[word if word in vocabulary else UNKNOWN for word in row] for row in rows])
    training.set_seed(seed)
    config = models.TransformerConfig(vocab_size=len(vocabulary), d_model=d_model, n_heads=4, n_layers=1,
                                      d_ff=2 * d_model, max_len=tokens.shape[1])  # fmt: skip
    model = heads.Classifier(models.Encoder(config), int(data.labels.max()) + 1)
    chosen = (tokens[train], padding[train], data.labels[train])
    batches = training.Minibatches(*chosen, batch_size=16, epochs=epochs, seed=seed)
    for _ in training.train(model, batches, lr=lr):
        pass
    return accuracy(model, data.labels[test], tokens[test], padding[test])
