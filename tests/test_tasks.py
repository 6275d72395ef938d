"""The data of the experiments: what each module promises, checked against counting, exact formulae and known
cases.
"""

import math
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from course_lib.tasks import dates, digits, french, markov, number_words, order, recall, spelled, text, twins
from course_lib.tasks import french_grammar as grammar
from course_lib.tasks.fresh import FreshBatches
from course_lib.tasks.pairs import Pair, Translation
from course_lib.tasks.vocabulary import Vocabulary

# --- seeds: the same seed gives the same data, another one other data; the global generator is left alone

SOURCES = {
    "increasing": lambda seed: order.increasing(20, seed=seed),
    "a_before_b": lambda seed: order.a_before_b(20, seed=seed),
    "sum_above_median": lambda seed: order.sum_above_median(20, seed=seed),
    "last_value": lambda seed: recall.last_value(4, seed=seed),
    "shift": lambda seed: recall.shift(4, seed=seed),
    "markov": lambda seed: markov.MarkovSource().batch(4, seed=seed),
    "windows": lambda seed: text.windows(torch.arange(10_000), 8, seed=seed),
    "windows_once": lambda seed: text.windows_once(torch.arange(10_000), seed=seed),
    "digits": lambda seed: digits.digits(seed=seed),
    "french": lambda seed: tensors_of(french.french(500, 50, seed=seed)),
    "dates": lambda seed: tensors_of(dates.dates(400, 5, seed=seed)),
    "number_words": lambda seed: tensors_of(number_words.number_words(n_held_out=5, seed=seed)),
}


def tensors_of(translation):
    return translation.tensors(translation.train) + translation.tensors(translation.held_out)


@pytest.mark.parametrize("name", SOURCES)
def test_the_seed_alone_decides(name):
    before = torch.get_rng_state()
    first, again, other = SOURCES[name](3), SOURCES[name](3), SOURCES[name](4)
    assert torch.equal(torch.get_rng_state(), before), "the global generator was used"
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert any(a.shape != b.shape or not torch.equal(a, b) for a, b in zip(first, other, strict=True))


# --- vocabulary, fresh batches


def test_vocabulary_goes_there_and_back():
    vocabulary = Vocabulary(["b", "a", "b"])
    assert (vocabulary.pad_id, vocabulary.bos_id, vocabulary.eos_id, len(vocabulary)) == (0, 1, 2, 5)
    assert vocabulary.encode(["a", "b"]) == [3, 4]
    assert vocabulary.decode(torch.tensor([1, 4, 3, 2, 4])) == ["b", "a"]  # nothing after <eos>
    ids, real = vocabulary.batch([["a"], ["b", "a"]], bos=True, eos=True)
    assert ids.tolist() == [[1, 3, 2, 0], [1, 4, 3, 2]] and ids.dtype == torch.int64
    assert real.tolist() == [[True, True, True, False], [True] * 4]
    assert vocabulary.batch([["a"]], length=3)[0].tolist() == [[3, 0, 0]]


def test_vocabulary_says_what_is_wrong():
    with pytest.raises(ValueError, match="'z'"):
        Vocabulary("ab").encode("az")
    with pytest.raises(ValueError, match="length = 1"):
        Vocabulary("ab").batch(["ab"], length=1)
    with pytest.raises(ValueError, match="<bos> is reserved"):
        Vocabulary(["<bos>"])
    with pytest.raises(ValueError, match="0 to 4"):
        Vocabulary("ab").decode([7])


def test_fresh_batches_never_repeat_a_sequence():
    batches = FreshBatches(recall.shift, batch_size=16, steps=20, seed=5)
    rows = [tuple(row) for tokens, _ in batches for row in tokens.tolist()]
    assert len(batches) == 20 and len(rows) == len(set(rows)) == 320
    assert rows == [tuple(row) for tokens, _ in batches for row in tokens.tolist()], "a second pass must be the same"


# --- order


@pytest.mark.parametrize("task", [order.increasing, order.a_before_b])
def test_every_multiset_is_once_right_and_once_wrong(task):
    tokens, labels = task(3000, seed=1)
    assert tokens.shape[0] == 3000 and tokens.dtype == labels.dtype == torch.int64
    assert torch.equal(tokens[0::2].sort(dim=1).values, tokens[1::2].sort(dim=1).values)
    assert labels[0::2].eq(1).all() and labels[1::2].eq(0).all()
    assert len(torch.unique(tokens, dim=0)) > 2000, "hardly any variety"


def test_increasing_labels_are_true():
    tokens, labels = order.increasing(3000, T=4, vocab_size=6)
    assert torch.equal((tokens.diff(dim=1) > 0).all(dim=1).long(), labels)
    assert tokens.min() == 0 and tokens.max() == 5
    only = order.increasing(400, T=5, vocab_size=5)[0]
    assert torch.equal(only[0::2], torch.arange(5).expand(200, 5)) and len(torch.unique(only[1::2], dim=0)) > 80


def test_a_before_b_labels_are_true():
    tokens, labels = order.a_before_b(3000)
    place = [(tokens == token).float().argmax(dim=1) for token in (order.A, order.B)]
    assert torch.equal((place[0] < place[1]).long(), labels)
    assert ((tokens == order.A).sum(dim=1) == 1).all() and ((tokens == order.B).sum(dim=1) == 1).all()
    assert len(set(zip(*(p.tolist() for p in place), strict=True))) == 90, "A and B must come to every pair of places"


def test_sum_above_median_uses_the_true_median():
    T, V = 3, 4
    every = torch.cartesian_prod(*[torch.arange(V)] * T).sum(dim=1).sort().values
    middle = (every[len(every) // 2 - 1] + every[len(every) // 2]) / 2  # of the whole distribution, by counting
    assert order.median_of_sum(T, V) == middle
    tokens, labels = order.sum_above_median(20_000, T, V)
    assert torch.equal(labels.bool(), tokens.sum(dim=1) > middle)
    share = (every > middle).double().mean().item()
    assert abs(labels.double().mean().item() - share) < 4 * math.sqrt(share * (1 - share) / 20_000)


def test_order_says_what_is_wrong():
    with pytest.raises(ValueError, match="even"):
        order.increasing(7)
    with pytest.raises(ValueError, match="T ≤ vocab_size"):
        order.increasing(8, T=9, vocab_size=8)
    with pytest.raises(ValueError, match="vocab_size"):
        order.a_before_b(8, vocab_size=2)


# --- recall


@pytest.mark.parametrize("T", [1, 2, 7, 32, 129])
def test_last_value_agrees_with_a_naive_loop(T):
    tokens, targets = recall.last_value(20, T=T, n_markers=3, n_values=5, seed=2)
    assert tokens.shape == targets.shape == (20, T)
    for row, answers in zip(tokens.tolist(), targets.tolist(), strict=True):
        seen = {}
        for t, (token, answer) in enumerate(zip(row, answers, strict=True)):
            if t % 2 == 0:
                assert 0 <= token < 3 and answer == seen.get(token, -100)
            else:
                assert 3 <= token < 8 and answer == -100
                seen[row[t - 1]] = token


@pytest.mark.parametrize("k", [1, 2, 5])
def test_shift_agrees_with_a_naive_loop(k):
    tokens, targets = recall.shift(10, T=9, k=k)
    for row, answers in zip(tokens.tolist(), targets.tolist(), strict=True):
        assert answers == [-100] * k + row[: 9 - k]


def test_recall_says_what_is_wrong():
    with pytest.raises(ValueError, match="k < T"):
        recall.shift(2, T=4, k=4)
    with pytest.raises(ValueError, match="n_markers must be at least 1; got 0"):
        recall.last_value(2, n_markers=0)


# --- markov


@pytest.mark.parametrize("order_", [1, 2])
def test_entropy_is_what_real_text_scores(order_):
    source = markov.MarkovSource(vocab_size=7, order=order_, sharpness=2.0, table_seed=3)
    scores = source.score(source.sample(4000, 60, seed=1))
    error = scores.std() / math.sqrt(len(scores))
    assert abs(scores.mean() - source.entropy()) < 4 * error
    assert error < 0.01, "too coarse to catch anything"
    random = torch.randint(7, (4000, 60), generator=torch.Generator().manual_seed(0))
    assert source.score(random).mean() > source.entropy() + 0.5


def test_entropy_of_known_sources():
    assert markov.MarkovSource(vocab_size=9, sharpness=0.0).entropy() == pytest.approx(math.log(9))
    source = markov.MarkovSource(vocab_size=2)  # stays with p, leaves with 1 − p: two coins, by hand
    source.table = torch.tensor([[0.9, 0.1], [0.5, 0.5]], dtype=torch.float64)
    source.start = source._long_run()
    assert_close(source.start, torch.tensor([5 / 6, 1 / 6], dtype=torch.float64))
    coin = -(0.9 * math.log(0.9) + 0.1 * math.log(0.1))
    assert source.entropy() == pytest.approx(5 / 6 * coin + 1 / 6 * math.log(2))
    assert source.score(torch.tensor([[0, 0, 1, 0]])).item() == pytest.approx(-math.log(0.9 * 0.1 * 0.5) / 3)


@pytest.mark.parametrize("order_", [1, 2])
def test_samples_follow_the_table_and_are_stationary(order_):
    source = markov.MarkovSource(vocab_size=4, order=order_, table_seed=1)
    tokens = source.sample(20_000, 6, seed=2)
    for at in (0, 6 - order_):  # the start, and the end
        group = torch.stack(tokens[:, at : at + order_].unbind(1))
        share = torch.zeros_like(source.start).index_put(
            tuple(group), torch.tensor(1 / 20_000).double(), accumulate=True
        )
        assert_close(share, source.start, atol=0.02, rtol=0)
    context = tuple(tokens[:, :order_].unbind(1))
    seen = torch.zeros_like(source.table).index_put(
        (*context, tokens[:, order_]), torch.tensor(1.0).double(), accumulate=True
    )
    often = seen.sum(-1) > 500
    assert often.any()
    assert_close(seen[often] / seen[often].sum(-1, keepdim=True), source.table[often], atol=0.08, rtol=0)


def test_markov_batches_are_shifted_once():
    source = markov.MarkovSource(vocab_size=8, order=2)
    inputs, targets = source.batch(5, T=10, seed=4)
    assert torch.equal(inputs[:, 2:], targets[:, 1:-1]) and targets[:, 0].eq(-100).all() and targets[:, 1:].min() >= 0
    with pytest.raises(ValueError, match="order = 3"):
        markov.MarkovSource(order=3)
    with pytest.raises(ValueError, match="0 … 7"):
        source.score(torch.full((1, 5), 8))


def test_sampling_does_not_import_torchs_compiler():
    """It takes two CPU seconds and 44 MB, and an interrupt in the middle of it spoils the kernel for good."""
    code = ("import sys\nfrom course_lib.tasks import markov\nmarkov.MarkovSource(4, order=2).sample(3, 5)\n"
            "sys.exit('sympy' in sys.modules)")  # fmt: skip
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- text


def test_text_keeps_each_paragraph_once():
    squeezed = [" ".join(p.split()) for p in text.paragraphs()]
    assert len(squeezed) == len(set(squeezed)) > 1000 and all(squeezed)
    assert 300_000 < len(text.load()) < 600_000
    raw = {" ".join(p.split()) for topic in text.topics.values() for p in topic.split("\n\n")} - {""}
    assert set(squeezed) == raw, "a paragraph was lost"


def test_held_out_text_is_new():
    train, held_out = text.split(0.1, seed=2)
    assert not set(train.split("\n\n")) & set(held_out.split("\n\n"))
    assert 0.06 < len(held_out) / (len(train) + len(held_out)) < 0.15
    seen = {train[i : i + 100] for i in range(len(train) - 100)}
    assert not any(held_out[i : i + 100] in seen for i in range(len(held_out) - 100)), "a long stretch is in both"


def test_characters_go_there_and_back():
    vocabulary, sample = text.vocabulary(), text.load()[:5000]
    assert "".join(vocabulary.decode(vocabulary.encode(sample))) == sample


def test_windows():
    ids = torch.arange(1000)
    inputs, targets = text.windows(ids, 50, T=16)
    assert inputs.shape == (50, 16) and torch.equal(targets, inputs + 1) and inputs.diff(dim=1).eq(1).all()
    inputs, targets = text.windows_once(ids, T=16)
    assert inputs.shape == (62, 16) and torch.equal(targets, inputs + 1)
    assert len(targets.unique()) == targets.numel(), "an id is a target twice"
    assert text.windows(torch.arange(17), 3, T=16)[0].tolist() == [list(range(16))] * 3  # the one window there is
    with pytest.raises(ValueError, match="longer than T"):
        text.windows(torch.arange(16), 1, T=16)


# --- french: sentences written by hand

KNOWN = {
    french.EXAMPLE: "i am a student",
    "elle est étudiante": "she is a student",
    "nous ne sommes pas artistes": "we are not artists",
    "tu es artiste": "you are an artist",
    "cette amie est boulangère": "this friend is a baker",
    "j'aime l'homme": "i like the man",
    "je n'aime pas l'homme": "i do not like the man",
    "le vieil homme n'entend pas cet oiseau": "the old man does not hear this bird",
    "la vieille reine voit le petit chat vert": "the old queen sees the small green cat",
    "ils trouvent cette nouvelle école": "they find this new school",
    "mon amie n'est pas perdue": "my friend is not lost",
    "ma nouvelle voiture est étrange": "my new car is strange",
}


def known_pairs():
    the = grammar.noun_phrase
    return [
        grammar.job_sentence("je", "m", "a student"),
        grammar.job_sentence("elle", "f", "a student"),
        grammar.job_sentence("nous", "m", "an artist", negated=True),
        grammar.job_sentence("tu", "m", "an artist"),
        grammar.job_sentence(the("this", "amie"), "f", "a baker"),
        grammar.action_sentence("je", "like", the("the", "homme")),
        grammar.action_sentence("je", "like", the("the", "homme"), negated=True),
        grammar.action_sentence(the("the", "homme", "old"), "hear", the("this", "oiseau"), negated=True),
        grammar.action_sentence(the("the", "reine", "old"), "see", the("the", "chat", "small", "green")),
        grammar.action_sentence("ils", "find", the("this", "école", "new")),
        grammar.state_sentence("my", "amie", "lost", negated=True),
        grammar.chain(
            the("my", "voiture", "new"),
            grammar.to_be(grammar.THIRD, False),
            Pair(("étrange",), ("strange",), (0,)),
        ),
    ]


@pytest.fixture(scope="module")
def task():
    return french.french(seed=0)


def test_the_grammar_writes_the_known_sentences():
    assert {grammar.sentence(p.source): grammar.sentence(p.target) for p in known_pairs()} == KNOWN


def test_french_is_1500_and_500_different_sentences(task):
    sources = [p.source for p in task.train + task.held_out]
    assert (len(task.train), len(task.held_out)) == (1500, 500)
    assert len(set(sources)) == 2000
    assert task.join_source(task.held_out[0].source) == french.EXAMPLE
    lengths = Counter(len(p.source) for p in task.train)
    assert max(lengths) <= 11 and len(lengths) >= 7


def test_french_elides_exactly_where_it_must(task):
    """An independent rule, on the written sentences: no full form before a vowel or h, no short form before
    another.
    """
    for pair in task.train + task.held_out:
        written = grammar.sentence(pair.source)
        assert not re.search(r"\b(le|la|je|ne|ce|ma|vieux|nouveau) [aeiouéêh]", written), written
        assert not re.search(r"\b(l'|j'|n'|cet |vieil |nouvel )[^aeiouéêh]", written), written
        assert grammar.words(written) == list(pair.source), "a sentence must survive being written"
        assert "' " not in written


def test_french_adjectives_agree_with_their_noun(task):
    feminine = {noun for noun, (_, gender) in grammar.NOUNS.items() if gender == "f"}
    forms = {
        "petit": 0,
        "petite": 1,
        "vieux": 0,
        "vieil": 0,
        "vieille": 1,
        "vert": 0,
        "verte": 1,
        "perdu": 0,
        "perdue": 1,
    }
    seen = set()
    for pair in task.train:
        for i, word in enumerate(pair.source):
            if word in forms:
                near = [w for w in pair.source[max(0, i - 2) : i + 2] if w in grammar.NOUNS]
                nouns = near if near else [w for w in pair.source if w in grammar.NOUNS]
                assert any((noun in feminine) == forms[word] for noun in nouns), pair.source
                seen.add(word)
    assert seen == set(forms)


def test_arcs_join_a_word_and_its_translation(task):
    """A dictionary written here, not taken from the grammar."""
    dictionary = {
        "the": "le la l'", "my": "mon ma", "this": "ce cet cette", "i": "je j'", "you": "tu vous", "he": "il",
        "she": "elle", "we": "nous", "they": "ils elles", "not": "pas", "am": "suis", "is": "est",
        "are": "es sommes êtes sont", "cat": "chat", "man": "homme", "friend": "amie", "apple": "pomme",
        "tree": "arbre", "school": "école", "old": "vieux vieil vieille", "green": "vert verte",
        "likes": "aime", "sees": "voit", "hears": "entend",
        "bakers": "boulangers boulangères", "student": "étudiant étudiante",
    }  # fmt: skip
    met, without = set(), set()
    for pair in task.train:
        assert len(pair.alignment) == len(pair.target)
        places = [place for place in pair.alignment if place >= 0]
        assert len(set(places)) == len(places), "two words with the same source"
        for word, place in zip(pair.target, pair.alignment, strict=True):
            if place == -1:
                without.add(word)
            elif word in dictionary:
                assert pair.source[place] in dictionary[word].split(), (pair, word)
                met.add(word)
    assert met == set(dictionary) and without == {"a", "an", "do", "does"}


def test_translation_tensors(task):
    source, decoder_input, source_padding, targets = task.tensors(task.held_out)
    assert source.shape == source_padding.shape and decoder_input.shape == targets.shape
    assert source_padding.dtype == torch.bool and torch.equal(source_padding, source != 0)
    assert decoder_input[:, 0].eq(1).all()
    n_words = torch.tensor([len(pair.target) for pair in task.held_out])
    assert torch.equal((targets != -100).sum(dim=1), n_words + 1) and (targets == 2).sum() == 500, "words and <eos>"
    real = targets[:, :-1].ge(3)  # a word, neither <eos> nor padding
    assert torch.equal(decoder_input[:, 1:][real], targets[:, :-1][real]), "shifted by one place, once"
    for i in (0, 7, 99):
        pair = task.held_out[i]
        assert task.text(targets[i].clamp(min=0)) == grammar.sentence(pair.target)
        assert torch.equal(task.source(grammar.sentence(pair.source))[0][0], source[i][source_padding[i]])
    places = task.alignments(task.held_out)
    assert places.shape == targets.shape
    assert (places < source_padding.sum(dim=1, keepdim=True)).all() and places[targets < 3].eq(-1).all()


def test_translation_refuses_a_leak():
    pair = Pair(("a",), ("b",))
    options = {"cut": list, "join_source": "".join, "join_target": "".join}
    with pytest.raises(ValueError, match="held out and trained on"):
        Translation([pair], [pair], **options)
    with pytest.raises(ValueError, match="'c' occurs only in what is held out"):
        Translation([pair], [Pair(("c",), ("b",))], **options)
    with pytest.raises(ValueError, match="n_train = 3"):
        french.french(3)


def test_every_french_word_is_met_in_training():
    for seed in range(5):
        task = french.french(seed=seed)
        count = Counter(w for pair in task.train for w in pair.source)
        assert min(count[w] for pair in task.held_out for w in pair.source) >= 5


# --- dates, numbers

MONTHS = (
    "January February March April May June July August September October November December",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
)


def test_dates_are_what_a_calendar_says():
    day = dates.datetime.date(1973, 9, 3)
    assert dates.in_words(day, "en") == "Monday, September 3, 1973"
    assert dates.in_words(day, "fr") == "lundi 3 septembre 1973"
    assert dates.in_words(day, "de") == "Montag, 3. September 1973"
    task = dates.dates(300, 50)
    assert (len(task.train), len(task.held_out)) == (300, 50)
    assert len({p.source for p in task.train + task.held_out}) == 350
    english = dict(zip(MONTHS[0].split(), MONTHS[1].split(), strict=True))
    for pair in task.train:
        _, month_day, year = task.join_source(pair.source).split(", ")
        month, number = month_day.split()
        french_words = task.join_target(pair.target).split()
        number = "1er" if number == "1" and "1er" in french_words else number  # some versions of Babel write 1er
        assert french_words[1:] == [number, english[month], year]


@pytest.mark.parametrize("language", ["de", "es", "hi", "ja", "ar"])
def test_dates_in_other_languages_survive_the_cutting(language):
    task = dates.dates(600, 20, target=language)
    for pair in task.held_out:
        assert task.text(task.target_vocabulary.encode(pair.target)) == "".join(pair.target)


def test_dates_say_what_is_wrong():
    with pytest.raises(ValueError, match="no language 'klingon'"):
        dates.dates(10, 2, target="klingon")
    with pytest.raises(ValueError, match="73049 days"):
        dates.dates(80_000)


def test_numbers_are_what_a_french_speaker_says():
    known = {21: "vingt et un", 71: "soixante et onze", 80: "quatre-vingts", 97: "quatre-vingt-dix-sept"}
    assert {n: number_words.in_words(n, "fr") for n in known} == known
    assert number_words.in_words(97, "en") == "ninety-seven"


def test_numbers_are_split_without_overlap():
    task = number_words.number_words()
    spoken = {number_words.in_words(n, "en") for n in range(100)}
    train, held_out = ({task.join_source(p.source) for p in part} for part in (task.train, task.held_out))
    assert train | held_out == spoken and not train & held_out and len(held_out) == 20
    assert {number_words.in_words(n, "en") for n in [*range(21), 30, 40, 50, 60, 70, 80, 90]} <= train
    for pair in task.train + task.held_out:
        number = next(n for n in range(100) if number_words.in_words(n, "en") == task.join_source(pair.source))
        assert task.join_target(pair.target) == number_words.in_words(number, "fr")


def test_numbers_in_a_language_of_long_words_need_characters():
    with pytest.raises(ValueError, match="occurs only in what is held out"):
        number_words.number_words(target="de")
    task = number_words.number_words(target="de", characters=True)
    assert "".join(task.held_out[0].target) == task.text(task.target_vocabulary.encode(task.held_out[0].target))


def test_numbers_say_what_is_wrong():
    with pytest.raises(ValueError, match="no language 'xx'"):
        number_words.number_words(target="xx")
    with pytest.raises(ValueError, match="72 may be held out"):
        number_words.number_words(n_held_out=73)
    assert len(number_words.number_words(last=9999, n_train=1000, n_held_out=100).train) == 1000


@pytest.mark.parametrize("written", ["May 3, 19", "l'an 2000\u202fг.", "सोमवार, 3 सितंबर", "quatre-vingt-dix", ""])
def test_cutting_loses_nothing(written):
    assert spelled.together(spelled.pieces(written)) == written


def test_cutting_separates_words_digits_and_signs():
    assert spelled.pieces("May 3, 19") == ["May", " ", "3", ",", " ", "1", "9"]


# --- digits


def test_digits_are_scikit_learns():
    from sklearn.datasets import load_digits

    data = digits.digits(seed=3)
    assert data.train_images.shape == (1437, 1, 8, 8) and data.test_images.shape == (360, 1, 8, 8)
    assert data.train_images.dtype == torch.float32 and data.train_labels.dtype == torch.int64
    assert data.train_images.min() == 0 and data.train_images.max() == 1
    counts = torch.bincount(data.test_labels, minlength=10)
    assert counts.min() >= 34 and counts.max() <= 37, "each digit must be equally frequent"
    everything = torch.cat([data.train_images, data.test_images]).flatten(1)
    original = torch.tensor(load_digits().data / 16, dtype=torch.float32)
    assert torch.equal(torch.unique(everything, dim=0), torch.unique(original, dim=0))
    images, labels = digits.load()
    assert torch.equal(images.flatten(1), original) and labels.tolist() == load_digits().target.tolist()


def test_digits_need_scikit_learns_file_and_not_its_import():
    """Importing it costs four CPU seconds and 100 MB, of each notebook that looks at digits."""
    code = "import sys; from course_lib.tasks import digits; digits.digits(); sys.exit('sklearn' in sys.modules)"
    root = Path(__file__).resolve().parent.parent
    assert subprocess.run([sys.executable, "-c", code], cwd=root).returncode == 0


def test_without_scikit_learn_it_is_said_what_is_missing(monkeypatch):
    monkeypatch.setattr(digits.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="scikit-learn"):
        digits.load()


# --- twins


def test_twins_differ_in_one_word_and_in_what_it_means():
    sentences = twins.twins()
    assert len(sentences) == 28
    for one, two in zip(sentences[0::2], sentences[1::2], strict=True):
        changed = [(a, b) for a, b in zip(one.text.split(), two.text.split(), strict=True) if a != b]
        assert len(changed) == 1 and one.nouns == two.nouns
        assert (one.antecedent, two.antecedent) == one.nouns and (one.other, two.other) == one.nouns[::-1]


def test_twins_know_where_their_words_stand():
    for twin in twins.twins():
        for word in (*twin.nouns, twin.pronoun):
            start, end = twin.span(word)
            assert twin.text[start:end] == word and twin.text.replace(".", "").split().count(word) == 1
        spans = [twin.span(word)[0] for word in (*twin.nouns, twin.pronoun)]
        assert spans == sorted(spans)
    with pytest.raises(ValueError, match="'moon'"):
        twins.twins()[0].span("moon")
