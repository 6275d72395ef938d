"""French sentences and their English translations, drawn at random from `french_grammar`.

The truth is known for each sentence, and for each English word the French word that it comes from. All in
small letters, no full stops. A French sentence has one translation; the reverse is not so (you: tu, vous).
"""

from collections import Counter

import torch

from course_lib.tasks import french_grammar as grammar
from course_lib.tasks.pairs import Translation

EXAMPLE = "je suis étudiant"


def french(n_train=1500, n_held_out=500, seed=0):
    """Distinct pairs, split without overlap: a Translation from French to English.

    EXAMPLE is always the first pair held out, so that a model which translates it has not seen it. A pair is
    held out only if each of its words is still met in at least five pairs to train on.
    """
    if not (1 <= n_held_out <= 1000 and 500 <= n_train <= 20_000):
        raise ValueError(
            "n_train must lie between 500 and 20,000, n_held_out between 1 and 1,000; "
            f"got n_train = {n_train}, n_held_out = {n_held_out}"
        )
    generator = torch.Generator().manual_seed(seed)
    example = grammar.job_sentence("je", "m", "a student")
    found = {example.source: example}
    while len(found) < n_train + n_held_out:
        pair = random_pair(generator)
        found.setdefault(pair.source, pair)
    rest = list(found.values())[1:]  # short sentences are found early, so the order must be mixed before the split
    order = torch.randperm(len(rest), generator=generator).tolist()
    train, held_out = hold_out([example, *(rest[i] for i in order)], n_held_out)
    return Translation(train, held_out, cut=grammar.words, join_source=grammar.sentence, join_target=grammar.sentence)


def hold_out(pairs, n, at_least=5):
    """(to train on, the first n pairs that can be spared): each word stays in `at_least` of the former."""
    left = Counter(word for pair in pairs for word in {*pair.source, *pair.target})
    train, held_out = [], []
    for pair in pairs:
        its_words = {*pair.source, *pair.target}
        if len(held_out) < n and all(left[word] > at_least for word in its_words):
            held_out.append(pair)
            left.subtract(its_words)
        else:
            train.append(pair)
    return train, held_out


def random_pair(generator):
    """One sentence: somebody does something (in half of the cases), has a job, or something has a property."""
    kind = pick(("action", "action", "job", "state"), generator)
    negated = pick((False, True), generator)
    if kind == "state":
        thing = pick(grammar.NOUNS, generator)
        property = pick(grammar.BEFORE | grammar.AFTER, generator)
        return grammar.state_sentence(pick(grammar.DETERMINERS, generator), thing, property, negated)
    subject, gender = random_subject(generator)
    if kind == "job":
        return grammar.job_sentence(subject, gender, pick(grammar.JOBS, generator), negated)
    something = random_noun_phrase(pick(grammar.NOUNS, generator), generator)
    return grammar.action_sentence(subject, pick(grammar.VERBS, generator), something, negated)


def random_subject(generator):
    """A pronoun or somebody, each in half of all cases, with the gender."""
    if pick((False, True), generator):
        pronoun = pick(grammar.PRONOUNS, generator)
        return pronoun, pick(grammar.PRONOUNS[pronoun][2], generator)
    noun = pick(grammar.LIVING, generator)
    return random_noun_phrase(noun, generator), grammar.gender_of(noun)


def random_noun_phrase(noun, generator):
    """The noun with a determiner, and each of the two adjectives in one case of three."""
    before = pick((None,) * 6 + tuple(grammar.BEFORE), generator)
    after = pick((None,) * 6 + tuple(grammar.AFTER), generator)
    return grammar.noun_phrase(pick(grammar.DETERMINERS, generator), noun, before, after)


def pick(options, generator):
    """One of the options, each equally likely."""
    options = tuple(options)
    return options[torch.randint(len(options), (), generator=generator).item()]
