"""Pairs of sentences that mean the same, and triples in which the order of the words decides what is meant.

All were written for this course. They ask what a sentence encoder such as MiniLM knows, and which of its heads it
needs: a sentence is the mean of its tokens' hidden states, and two sentences are compared by their cosine.
"""

import torch
import torch.nn.functional as F

PAIRS = [  # sentence, the same in other words
    ("The shop opens at nine in the morning.", "You can buy things there from 9 am."),
    ("My brother is ill and stays in bed.", "He is sick today and does not get up."),
    ("The river rose after the heavy rain.", "The storm filled the stream with water."),
    ("She teaches mathematics at a school.", "Her pupils learn algebra and geometry from her."),
    ("The old car would not start.", "The engine of the worn vehicle stayed silent."),
    ("They got married last summer.", "Their wedding took place in July."),
    ("The film was boring and far too long.", "I nearly fell asleep in the cinema."),
    ("He plays the violin in an orchestra.", "As a musician he performs with his fiddle."),
    ("Bread is baked here every day.", "This bakery makes fresh loaves daily."),
    ("The cat sleeps on the warm stove.", "A kitten naps beside the fire."),
    ("Our team lost the final match.", "The other side won the championship game."),
    ("The doctor gave me some pills.", "A physician prescribed medicine for my pain."),
    ("Snow covered the whole village.", "The houses stood under a white blanket."),
    ("The train to Paris was two hours late.", "We waited a long time for our railway journey to France."),
    ("She wrote a letter to her aunt.", "Her relative received some mail from her."),
    ("The price of petrol has gone up.", "Fuel costs more than it used to."),
    ("The children are playing football.", "Kids kick a ball around the field."),
    ("He repaired the broken window.", "The smashed glass was replaced by him."),
    ("Astronomers found a new planet.", "A world around a distant star was discovered."),
    ("The soup needs a little more salt.", "This broth is not seasoned enough."),
    ("The thief was caught by the police.", "Officers arrested the burglar."),
    ("I cannot remember my password.", "I forgot how to log in to my account."),
    ("Bees make honey from flowers.", "Insects turn nectar into something sweet."),
    ("The mayor promised to build a bridge.", "A politician pledged a new crossing over the water."),
]
TRIPLES = [  # sentence, the same in other words, the first one's words in another order: not the same at all
    ("The dog bit the man.", "The man was bitten by the dog.", "The man bit the dog."),
    ("Anna gave Tom a book.", "Tom got a book from Anna.", "Tom gave Anna a book."),
    ("The cat chased the mouse.", "The mouse was chased by the cat.", "The mouse chased the cat."),
    ("The teacher praised the student.", "The student was praised by the teacher.", "The student praised the teacher."),
    ("Paris is larger than Lyon.", "Lyon is smaller than Paris.", "Lyon is larger than Paris."),
    ("The train left before the bus did.", "The bus left after the train did.", "The bus left before the train did."),
    ("The lion killed the hunter.", "The hunter was killed by the lion.", "The hunter killed the lion."),
    ("The car hit the tree, not the wall.", "It was the tree that the car hit.", "The car hit the wall, not the tree."),
    ("The nurse called the doctor.", "The doctor was called by the nurse.", "The doctor called the nurse."),
    ("The company bought the bank.", "The bank was bought by the company.", "The bank bought the company."),
    ("Mary is older than John.", "John is younger than Mary.", "John is older than Mary."),
    ("The king feared the queen.", "The queen was feared by the king.", "The queen feared the king."),
]


def embed(model, tokenizer, sentences, gates=None):
    """Sentences -> unit vectors (n, d_model). gates (layers, heads): what each head's weights are multiplied by."""
    ids = [tokenizer.encode(sentence).ids for sentence in sentences]
    lengths = torch.tensor([len(row) for row in ids])
    tokens = torch.zeros(len(ids), int(lengths.max()), dtype=torch.int64)
    for row, values in enumerate(ids):
        tokens[row, : len(values)] = torch.tensor(values)
    padding = torch.arange(tokens.shape[1]) < lengths[:, None]

    def gated(layer, weights):  # (B, h, T, T)
        return weights * gates[layer][:, None, None]

    hidden = model(tokens, padding, edit_weights=None if gates is None else gated)
    return F.normalize((hidden * padding[..., None]).sum(dim=1) / lengths[:, None], dim=-1)


def similarities(model, tokenizer, pairs, gates=None):
    """Cosines (n, n) of the first sentences with the second ones: the diagonal holds the paraphrases."""
    first, second = zip(*pairs, strict=True)
    both = embed(model, tokenizer, [*first, *second], gates)
    return both[: len(pairs)] @ both[len(pairs) :].T


def margin(similar):
    """How much more alike paraphrases are than other pairs: mean of the diagonal minus mean of the rest."""
    n = len(similar)
    return (similar.trace() / n) - (similar.sum() - similar.trace()) / (n * n - n)


def found(similar):
    """Share of first sentences whose most similar second sentence is their own paraphrase."""
    return (similar.argmax(dim=1) == torch.arange(len(similar))).float().mean().item()


@torch.no_grad()
def order_understood(model, tokenizer):
    """How many of TRIPLES have the paraphrase nearer to the first sentence than its words in another order."""
    vectors = embed(model, tokenizer, [sentence for triple in TRIPLES for sentence in triple]).unflatten(0, (-1, 3))
    first, same, other = vectors.unbind(dim=1)
    return int(((first * same).sum(-1) > (first * other).sum(-1)).sum())


def usefulness(model, tokenizer, pairs):
    """The slope of the margin in each head's gate, (layers, heads): below 0 where paraphrases would gain without it.

    One pass back and forth measures all heads at once. Source: Michel, Levy and Neubig 2019, section 4.1, who take the
    size of the slope; its sign tells a head that helps from one that harms.
    """
    gates = torch.ones(model.config.n_layers, model.config.n_heads, requires_grad=True)
    margin(similarities(model, tokenizer, pairs, gates)).backward()
    return gates.grad


@torch.no_grad()
def margins_without(model, tokenizer, pairs, order, counts):
    """The margin with the first 0, 12, … heads of `order` (flat numbers) silenced, one number per entry of counts."""
    kept = []
    for count in counts:
        gates = torch.ones(model.config.n_layers * model.config.n_heads)
        gates[order[:count]] = 0
        gates = gates.view(model.config.n_layers, model.config.n_heads)
        kept.append(margin(similarities(model, tokenizer, pairs, gates)).item())
    return kept
