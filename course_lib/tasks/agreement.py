"""Every short sentence of french_grammar, about who somebody is and what something is like; and how to spoil one.

There are so few (some 700) that "is it good French?" can be decided by looking: whatever is not among them is not.
`spoiled` puts another form of the same word into a sentence, so that one word does not agree: *la pomme est vieux*.
"""

import functools

import torch

from course_lib.tasks import french_grammar as grammar


@functools.cache
def sentences():
    """All of them, {French words: Pair}, in a fixed order: *je suis étudiant*, *la pomme n'est pas vieille*, …"""
    somebody = [(pronoun, gender) for pronoun, (_, _, genders) in grammar.PRONOUNS.items() for gender in genders]
    for noun in grammar.LIVING:
        phrases = (grammar.noun_phrase(determiner, noun) for determiner in grammar.DETERMINERS)
        somebody += [(phrase, grammar.gender_of(noun)) for phrase in phrases]
    pairs = [
        grammar.job_sentence(subject, gender, job, negated)
        for subject, gender in somebody for job in grammar.JOBS for negated in (False, True)
    ]  # fmt: skip
    pairs += [
        grammar.state_sentence(determiner, noun, adjective, negated)
        for determiner in grammar.DETERMINERS for noun in grammar.NOUNS
        for adjective in grammar.BEFORE | grammar.AFTER for negated in (False, True)
    ]  # fmt: skip
    return {pair.source: pair for pair in pairs}


@functools.cache
def other_forms():
    """{word: its other forms, as far as they occur in a sentence}: what it could be mistaken for."""
    known = {word for source in sentences() for word in source}
    jobs = [{form + s for form in forms for s in ("", "s")} for forms in grammar.JOBS.values()]
    adjectives = (grammar.BEFORE | grammar.AFTER).values()
    groups = [*grammar.DETERMINERS.values(), *adjectives, *jobs, grammar.TO_BE[0]]
    return {word: sorted({*group} & known - {word}) for group in groups for word in group}


def is_french(words):
    """Whether this sequence of words is one of the sentences."""
    return tuple(words) in sentences()


def spoiled(words, seed=0):
    """The sentence with one word in another form, drawn at random among the ways to make it bad French."""
    wrong = [(*words[:i], other, *words[i + 1 :]) for i, word in enumerate(words) for other in other_forms().get(word, ())]
    wrong = [sentence for sentence in wrong if not is_french(sentence)]
    return wrong[torch.randint(len(wrong), (), generator=torch.Generator().manual_seed(seed)).item()]
