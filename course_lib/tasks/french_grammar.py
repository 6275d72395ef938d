"""A small grammar that writes a sentence in French and in English, and knows which word comes from which.

It has what makes the two languages differ: gender and agreement (vieux, vieille), adjectives before or after
the noun (le petit chat, le chat vert), forms before a vowel (l'homme, cet arbre, vieil homme), negation
around the verb (n'aime pas = does not like), and jobs without an article (je suis étudiant = i am a student).

Each phrase is a Pair: French words, English words, and for each English word the place of its French one, -1
if there is none. Longer phrases are chained from shorter ones. Our own work; check any sentence by hand.
"""

from course_lib.tasks.pairs import Pair

# Forms in this order: masculine, feminine, masculine before a vowel, feminine before a vowel.
DETERMINERS = {
    "the": ("le", "la", "l'", "l'"),
    "my": ("mon", "ma", "mon", "mon"),
    "this": ("ce", "cette", "cet", "cette"),
}
BEFORE = {
    "small": ("petit", "petite", "petit", "petite"),
    "old": ("vieux", "vieille", "vieil", "vieille"),
    "new": ("nouveau", "nouvelle", "nouvel", "nouvelle"),
}
AFTER = {
    "green": ("vert", "verte", "vert", "verte"),
    "lost": ("perdu", "perdue", "perdu", "perdue"),
    "strange": ("étrange",) * 4,
}
LIVING = {
    "chat": ("cat", "m"), "chien": ("dog", "m"), "homme": ("man", "m"), "oiseau": ("bird", "m"),
    "amie": ("friend", "f"), "reine": ("queen", "f"),
}  # fmt: skip
THINGS = {
    "livre": ("book", "m"), "arbre": ("tree", "m"), "maison": ("house", "f"), "école": ("school", "f"),
    "voiture": ("car", "f"), "pomme": ("apple", "f"),
}  # fmt: skip
NOUNS = LIVING | THINGS  # French: English, gender
JOBS = {  # masculine, feminine; the plural adds an s in both languages
    "a student": ("étudiant", "étudiante"),
    "an artist": ("artiste", "artiste"),
    "a lawyer": ("avocat", "avocate"),
    "a baker": ("boulanger", "boulangère"),
}
PRONOUNS = {  # English, place in the conjugation tables, genders that it may have
    "je": ("i", 0, "mf"), "tu": ("you", 1, "mf"), "il": ("he", 2, "m"), "elle": ("she", 2, "f"),
    "nous": ("we", 3, "mf"), "vous": ("you", 4, "mf"), "ils": ("they", 5, "m"), "elles": ("they", 5, "f"),
}  # fmt: skip
TO_BE = ("suis", "es", "est", "sommes", "êtes", "sont"), ("am", "are", "is", "are", "are", "are")
VERBS = {
    "like": ("aime", "aimes", "aime", "aimons", "aimez", "aiment"),
    "see": ("vois", "vois", "voit", "voyons", "voyez", "voient"),
    "find": ("trouve", "trouves", "trouve", "trouvons", "trouvez", "trouvent"),
    "hear": ("entends", "entends", "entend", "entendons", "entendez", "entendent"),
}
THIRD = 2  # he, she, it: the place of every noun in the conjugation tables


def words(text):
    """Cut a sentence into words; an apostrophe ends a word: "l'homme" -> ["l'", "homme"]."""
    return text.replace("'", "' ").split()


def sentence(words):
    """Put words together to a sentence: ["l'", "homme"] -> "l'homme"."""
    return " ".join(words).replace("' ", "'")


def job_sentence(subject, gender, job, negated=False):
    """je, m, a student -> je suis étudiant = i am a student. The article has no French word."""
    place = place_of(subject)
    article, english = job.split()
    french = JOBS[job][gender == "f"]
    if place < 3:
        job_phrase = Pair((french,), (article, english), (-1, 0))
    else:
        job_phrase = Pair((french + "s",), (english + "s",), (0,))
    verb = to_be(place, negated)
    return chain(subject_phrase(subject, verb), verb, job_phrase)


def state_sentence(determiner, noun, adjective, negated=False):
    """the, pomme, old -> la pomme est vieille = the apple is old."""
    form = (BEFORE | AFTER)[adjective][gender_of(noun) == "f"]
    return chain(noun_phrase(determiner, noun), to_be(THIRD, negated), Pair((form,), (adjective,), (0,)))


def action_sentence(subject, verb, something, negated=False):
    """je, like, (the, homme) -> j'aime l'homme = i like the man. Subject: a pronoun or a noun phrase."""
    verb = action(verb, place_of(subject), negated)
    return chain(subject_phrase(subject, verb), verb, something)


def noun_phrase(determiner, noun, before=None, after=None):
    """the, chat, small, green -> le petit chat vert = the small green cat: the noun moves to the end."""
    feminine = gender_of(noun) == "f"
    french = [noun]
    if before:
        french.insert(0, BEFORE[before][feminine + 2 * starts_with_vowel(noun)])
    if after:
        french.append(AFTER[after][feminine])
    french.insert(0, DETERMINERS[determiner][feminine + 2 * starts_with_vowel(french[0])])
    english = {determiner: 0, before: 1, after: len(french) - 1, NOUNS[noun][0]: french.index(noun)}
    english.pop(None, None)  # an adjective that is not there
    return Pair(tuple(french), tuple(english), tuple(english.values()))


def place_of(subject):
    """Place of a subject, a pronoun or a noun phrase, in the conjugation tables."""
    return PRONOUNS[subject][1] if isinstance(subject, str) else THIRD


def subject_phrase(subject, verb):
    """je -> i. Before a vowel je becomes j'. A noun phrase stays as it is."""
    if not isinstance(subject, str):
        return subject
    elided = subject == "je" and starts_with_vowel(verb.source[0])
    return Pair(("j'" if elided else subject,), (PRONOUNS[subject][0],), (0,))


def to_be(place, negated):
    """suis -> am; ne suis pas -> am not."""
    french, english = TO_BE[0][place], TO_BE[1][place]
    if not negated:
        return Pair((french,), (english,), (0,))
    return Pair((ne(french), french, "pas"), (english, "not"), (1, 2))


def action(verb, place, negated):
    """aime -> like or likes; n'aime pas -> do or does not like. "do" has no French word."""
    french = VERBS[verb][place]
    third = place == THIRD
    if not negated:
        return Pair((french,), (verb + "s" * third,), (0,))
    return Pair((ne(french), french, "pas"), ("does" if third else "do", "not", verb), (-1, 2, 1))


def ne(verb):
    """The first word of a negation: n' before a vowel."""
    return "n'" if starts_with_vowel(verb) else "ne"


def starts_with_vowel(word):
    """Does the word before it change? Yes before a vowel and before the silent h of homme."""
    return word[0] in "aeiouéêh"


def gender_of(noun):
    """m or f."""
    return NOUNS[noun][1]


def chain(*phrases):
    """Phrases one after the other, as one Pair."""
    source, target, alignment = (), (), ()
    for phrase in phrases:
        alignment += tuple(-1 if place == -1 else place + len(source) for place in phrase.alignment)
        source, target = source + phrase.source, target + phrase.target
    return Pair(source, target, alignment)
