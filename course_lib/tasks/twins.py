"""Twin sentences: change one word at the end, and "it" means another noun. Can an attention head tell?

The picture of a head that links "it" to "animal" in one famous sentence is easy to find. Whether that head
works on sentences of this kind is another question: these 14 pairs, written for this course, are made to ask
it. The order of the nouns does not give the answer away: within each pair it is the first noun once and the
second noun once, so a head that always looks at the same place finds half of the antecedents.
"""

from dataclasses import dataclass

_TWINS = [  # sentence, what makes "it" mean the first noun, what makes it mean the second, the two nouns
    ("The animal didn't cross the street because it was too {}.", "tired", "wide", "animal", "street"),
    ("The piano didn't go through the door because it was too {}.", "big", "narrow", "piano", "door"),
    ("The dog slept beside the fire because it was so {}.", "sleepy", "warm", "dog", "fire"),
    ("The boat got under the bridge because it was quite {}.", "small", "high", "boat", "bridge"),
    ("The horse jumped over the fence because it was very {}.", "strong", "low", "horse", "fence"),
    ("The bird left the tree because it was {}.", "hungry", "burning", "bird", "tree"),
    ("The knife didn't cut the bread because it was too {}.", "blunt", "hard", "knife", "bread"),
    ("The nail went into the board because it was so {}.", "sharp", "soft", "nail", "board"),
    ("The ball broke the window because it was so {}.", "heavy", "thin", "ball", "window"),
    ("The mouse couldn't move the stone because it was too {}.", "weak", "massive", "mouse", "stone"),
    ("The monkey couldn't reach the branch because it was too {}.", "young", "high", "monkey", "branch"),
    ("The company sold the building because it was {}.", "broke", "old", "company", "building"),
    ("The truck avoided the road because it was too {}.", "heavy", "steep", "truck", "road"),
    ("The letter didn't fit the envelope because it was too {}.", "long", "small", "letter", "envelope"),
]


@dataclass(frozen=True)
class Twin:
    """A sentence with one "it"; the two nouns that it could mean, in order; and the one that it means."""

    text: str
    nouns: tuple
    antecedent: str

    pronoun = "it"

    @property
    def other(self):
        """The noun that "it" does not mean."""
        return self.nouns[1] if self.antecedent == self.nouns[0] else self.nouns[0]

    def span(self, word):
        """Where a word stands in the text, as (first character, one after the last), for a tokenizer's
        offsets.
        """
        start = f" {self.text} ".replace(".", " ").find(f" {word} ")
        if start < 0:
            raise ValueError(f"{word!r} is not a word of {self.text!r}")
        return start, start + len(word)


def twins():
    """The 28 sentences, twin after twin: rows 2i and 2i + 1 differ in one word and in what "it" means."""
    found = []
    for text, to_first, to_second, *nouns in _TWINS:
        found.append(Twin(text.format(to_first), tuple(nouns), nouns[0]))
        found.append(Twin(text.format(to_second), tuple(nouns), nouns[1]))
    return found
