"""Real labelled sentences that are always there: the first sentences of the standard library's docstrings.

The label is the package a sentence comes from: which of five is it about? Python's own source files are read as text
and parsed; nothing is imported, nothing is run, nothing is downloaded. Which sentences there are varies with the Python
version, so compute figures, don't quote them.
"""

import ast
import functools
import re
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import torch

PACKAGES = ("asyncio", "email", "importlib", "logging", "xml")
WORDS, CHARACTERS = range(5, 21), 110  # shorter ones say too little, longer ones are mostly lists


@dataclass(frozen=True)
class Labelled:
    """n sentences, and labels int64 (n,): the place of each one's package in PACKAGES."""

    sentences: list
    labels: torch.Tensor

    def __len__(self):
        return len(self.sentences)

    def first(self, n):
        """The first n of them."""
        return Labelled(self.sentences[:n], self.labels[:n])


def sample(n=300, seed=0):
    """n sentences drawn at random, none twice, one of each package in turn: the first 5 k are balanced as well.

    Raises ValueError if a package has too few.
    """
    generator, each, drawn = torch.Generator().manual_seed(seed), n // len(PACKAGES), []
    for package in PACKAGES:
        own = [sentence for sentence, home in load().items() if home == package]
        if len(own) < each:
            raise ValueError(f"{package} has {len(own)} sentences in this Python; asked for {each}")
        drawn.append([own[i] for i in torch.randperm(len(own), generator=generator)[:each].tolist()])
    sentences = [sentence for turn in zip(*drawn, strict=True) for sentence in turn]
    return Labelled(sentences, torch.arange(len(sentences)) % len(PACKAGES))


def split(labels, n_train, n_test=100, seed=0):
    """Places to train on and to test on, int64 (n_train,) and (n_test,): as many of each label, and none in both.

    The test places of a seed are the same whatever n_train is, and those of a smaller n_train are among those of a
    larger. Raises ValueError if there are too few.
    """
    generator, n_classes = torch.Generator().manual_seed(seed), int(labels.max()) + 1
    each, each_test = n_train // n_classes, n_test // n_classes
    train, test = [], []
    for label in range(n_classes):
        places = (labels == label).nonzero().flatten()
        if len(places) < each + each_test:
            raise ValueError(f"label {label} has {len(places)} sentences; asked for {each} + {each_test}")
        places = places[torch.randperm(len(places), generator=generator)]
        test.append(places[:each_test])
        train.append(places[each_test : each_test + each])
    return torch.cat(train), torch.cat(test)


@functools.cache
def load():
    """Every sentence of 5 to 20 words once, {sentence: package}. One that two packages share is left out.

    Two that differ in capitals, blanks or punctuation alone count as one. Raises FileNotFoundError where Python came
    without its source files.
    """
    library, found = Path(sysconfig.get_paths()["stdlib"]), {}
    for package in PACKAGES:
        files = sorted((library / package).rglob("*.py"))
        if not files:
            raise FileNotFoundError(f"this Python has no source files of {package} in {library}")
        for sentence in (sentence for path in files for sentence in of_file(path)):
            if len(sentence.split()) in WORDS and len(sentence) <= CHARACTERS:
                found.setdefault(words(sentence), {}).setdefault(package, sentence)
    return {next(iter(by.values())): next(iter(by)) for by in found.values() if len(by) == 1}


def of_file(path):
    """The first sentence of every docstring in a source file: of the module, its classes and its functions."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    docstrings = [ast.get_docstring(node) for node in nodes if isinstance(node, documented)]
    return [first_sentence(docstring) for docstring in docstrings if docstring and docstring.strip()]


def first_sentence(docstring):
    """The first sentence of a docstring, its line ends made blanks: "Return it. None if …" gives "Return it."."""
    paragraph = " ".join(docstring.strip().split("\n\n")[0].split())
    return re.split(r"(?<=[.!?]) ", paragraph)[0]


def words(sentence):
    """The words of a sentence in small letters, as a tuple: "Return `None`." gives ("return", "none")."""
    return tuple(re.findall(r"[a-z0-9]+", sentence.lower()))
