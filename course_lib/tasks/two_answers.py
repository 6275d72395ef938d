"""English sentences with two right translations: French has two words for "you", each with verb forms of its own.

What comes late in the sentence depends on what was *chosen* early on, so the source alone does not tell: here a decoder
needs to look at what it has written.
"""

from course_lib.tasks import french_grammar as grammar
from course_lib.tasks import translators
from course_lib.tasks.pairs import Pair, Translation


def two_answers():
    """you do not like the cat = tu n'aimes pas le chat or vous n'aimez pas le chat: each of 48 sentences twice."""
    pairs = []
    for verb in grammar.VERBS:
        for noun in grammar.NOUNS:
            for pronoun in ("tu", "vous"):
                french = grammar.action_sentence(pronoun, verb, grammar.noun_phrase("the", noun), negated=True)
                pairs.append(Pair(french.target, french.source))
    return Translation(pairs, [], cut=grammar.words, join_source=grammar.sentence, join_target=grammar.sentence)


def agrees(sentence):
    """Does a French sentence that begins with a pronoun have a verb form of that pronoun: tu aimes, vous aimez?"""
    words = grammar.words(sentence)
    if not words or words[0] not in grammar.PRONOUNS:
        return False
    place = grammar.place_of(words[0])
    return not {grammar.TO_BE[0][place], *(forms[place] for forms in grammar.VERBS.values())}.isdisjoint(words)


def agreement(model, task, times=4, seed=0):
    """Share of sampled translations, `times` for each pair, whose verb agrees with their pronoun."""
    written, _ = translators.texts(model, task, task.train * times, temperature=1.0, seed=seed)
    return sum(map(agrees, written)) / len(written)
