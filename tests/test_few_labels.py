"""What notebook 06 measures with: modern parts at equal size, a real decoder, docstrings, learning from few labels."""

import sysconfig
import weakref
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F

from course_lib import models, pretrained
from course_lib.tasks import docstrings, fine_tuning, language_model, modern


@pytest.fixture
def no_real_models(monkeypatch):
    def absent(*args, **options):
        raise pretrained.Unavailable("not here; run: python3 -m course_lib models")

    monkeypatch.setattr(pretrained, "load_minilm", absent)
    monkeypatch.setattr(pretrained, "load_smollm2", absent)


@pytest.fixture(scope="module")
def tiny():
    """A reader of random weights: a post-norm encoder of letters, put between two marks."""
    torch.manual_seed(0)
    config = models.TransformerConfig(30, 16, 4, 3, 32, 64, norm_first=False, positions="learned")
    model = models.Encoder(config).eval()
    return fine_tuning.Reader(lambda: model, lambda text: [1, *(2 + ord(c) % 26 for c in text), 1], False, "")


def test_a_model_that_is_put_away_is_freed_and_comes_back():
    made = []

    def load():
        made.append(torch.nn.Linear(2, 2))
        return made[-1]

    writer = language_model.Writer(load, list, "".join, False, "")
    first = weakref.ref(writer.model)
    assert writer.model is writer.model and len(made) == 1
    made.clear()
    writer.put_away()
    writer.put_away()
    assert first() is None and not made  # nobody holds it, and nothing is loaded before it is asked for
    assert writer.model is made[0]


def test_every_modern_change_has_the_same_size_and_only_its_own_fields():
    old = modern.base(vocab_size=100)
    for label, change in modern.CHANGES.items():
        config = modern.changed(old, **change)
        assert sum(p.numel() for p in models.Decoder(config).parameters()) == modern.size(config)
        assert modern.size(config) == pytest.approx(modern.size(old), rel=3e-3), label
        different = {name for name, value in vars(config).items() if value != getattr(old, name)} - {"d_ff"}
        assert different == set(change)
    assert modern.CHANGES["all at once"] == {k: v for c in list(modern.CHANGES.values())[:-1] for k, v in c.items()}


def test_a_modern_model_learns_and_a_seed_repeats_it():
    found = modern.losses({"plain": {}, "again": {}}, seeds=[5], steps=12)
    assert found["plain"] == found["again"] and 2.0 < found["plain"][0] < 4.2  # ln 110 = 4.7


def test_the_first_sentence_of_a_docstring():
    assert docstrings.first_sentence("Return the\n  parent. None if there is none.\n\nMore.") == "Return the parent."
    assert docstrings.first_sentence("Use os.path here, e.g. so") == "Use os.path here, e.g."  # as simple as it is
    assert docstrings.words("Return `None`, not x.") == ("return", "none", "not", "x")


def test_docstrings_are_read_from_the_source_and_not_imported(tmp_path, monkeypatch):
    for package in docstrings.PACKAGES:
        (tmp_path / package).mkdir()
        own = f'raise SystemExit("imported")\ndef f():\n    """Something that only {package} says here. More."""\n'
        shared = 'class A:\n    """Something that all of them say here."""\n'
        (tmp_path / package / "one.py").write_text(own + shared, encoding="utf-8")
        again = f'def g():\n    """something that only {package}, says here!"""\n    """this one is no docstring"""\n'
        (tmp_path / package / "two.py").write_text(again, encoding="utf-8")
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path)})
    expected = {f"Something that only {package} says here.": package for package in docstrings.PACKAGES}
    assert docstrings.load.__wrapped__() == expected
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path / "nowhere")})
    with pytest.raises(FileNotFoundError, match="no source files of asyncio"):
        docstrings.load.__wrapped__()


def test_samples_and_splits_are_balanced_and_never_overlap():
    data, again = docstrings.sample(200, seed=3), docstrings.sample(200, seed=3)
    assert data.sentences == again.sentences and data.sentences != docstrings.sample(200, seed=4).sentences
    assert len({docstrings.words(sentence) for sentence in data.sentences}) == len(data) == 200
    assert data.first(50).labels.bincount().tolist() == [10] * 5
    few, many = (docstrings.split(data.labels, n, n_test=60, seed=1) for n in (20, 100))
    assert data.labels[few[0]].bincount().tolist() == [4] * 5 and data.labels[many[1]].bincount().tolist() == [12] * 5
    assert set(few[0].tolist()) < set(many[0].tolist()) and torch.equal(few[1], many[1])
    assert not set(many[0].tolist()) & set(many[1].tolist())
    with pytest.raises(ValueError, match="label 0 has 40 sentences; asked for 30 [+] 20"):
        docstrings.split(data.labels, 150, n_test=100)
    with pytest.raises(ValueError, match="has .* sentences in this Python; asked for 2000"):
        docstrings.sample(10_000)


def test_a_probe_finds_a_linear_rule_and_takes_features_as_they_come():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(400, 6, generator=generator) * torch.tensor([1, 100, 1, 0.01, 1, 1]) + 7
    labels = ((x[:, 3] - 7) * 100 + (x[:, 0] - 7) > 0).long()  # the smallest feature counts as much as another
    linear = fine_tuning.probe(x[:200], labels[:200], penalty=0.01)
    assert fine_tuning.accuracy(linear, labels[200:], x[200:]) > 0.93
    noise = torch.randint(2, (400,), generator=generator)
    assert fine_tuning.accuracy(fine_tuning.probe(x[:200], noise[:200]), noise[200:], x[200:]) < 0.62


def test_counted_words_counts_only_what_training_has():
    counts = fine_tuning.counted_words(["a b a", "b c", "c d d"], torch.tensor([0, 1]))
    assert counts.tolist() == [[2, 1, 0], [0, 1, 1], [0, 0, 1]]


def test_the_frozen_part_and_the_last_block_make_the_whole_model(tiny):
    sentences = ["a", "some longer sentence", "abc", "words in order"] * 6
    found = fine_tuning.last_block(tiny, fine_tuning.frozen_part(tiny, sentences))
    for row, sentence in zip(found, sentences, strict=True):
        with torch.no_grad():
            expected = tiny.model(torch.tensor([tiny.encode(sentence)]))[0].mean(dim=0)
        assert torch.allclose(row, expected, atol=1e-5)
    assert torch.allclose(fine_tuning.embed(tiny, ["a"])[0], F.normalize(found[0], dim=0), atol=1e-5)


def test_fine_tuning_learns_and_leaves_the_model_as_it_was(tiny):
    labels = torch.arange(100) % 2
    sentences = [("no" if label else "yes") + "abcdefghij"[i % 10] for i, label in enumerate(labels.tolist())]
    before = [p.clone() for p in tiny.model.parameters()]
    frozen = fine_tuning.frozen_part(tiny, sentences)
    # as many epochs as a model of random weights needs
    _, after = fine_tuning.fine_tune(tiny.model, frozen, labels, 40, n_test=40, epochs=10, lr=3e-3, seed=1)
    assert after > 0.9
    assert all(torch.equal(a, b) for a, b in zip(before, tiny.model.parameters(), strict=True))


def test_copy_and_sink_scores_of_maps_made_by_hand():
    T, maps = 4, torch.zeros(1, 2, 8, 8)
    for query in range(T, 2 * T):
        maps[0, 0, query, query - T + 1] = 1  # head 1 copies
    maps[0, 1, :, 0] = 0.75  # head 2 parks
    assert language_model.copy_scores(maps).tolist() == [[1, 0]]
    assert language_model.sink_scores(maps).tolist() == [[0, 0.75]]


def test_losses_are_those_of_each_next_token():
    model = models.Decoder(models.TransformerConfig(9, 8, 2, 1, 16, 8)).eval()
    tokens = torch.randint(0, 9, (3, 5))
    by_hand = [F.cross_entropy(model(tokens)[:, t], tokens[:, t + 1]) for t in range(4)]
    assert torch.allclose(language_model.losses(model, tokens), torch.stack(by_hand), atol=1e-6)


def test_sums_right_counts_right_answers():
    def writer(answer):  # a model that reads "a+b" and says one digit
        def hidden(tokens):
            digits = answer(tokens[:, 0] - 48, tokens[:, 2] - 48) + 48
            return F.one_hot(digits, 128).float()[:, None]

        model = SimpleNamespace(hidden=hidden, head=lambda x: x)
        return SimpleNamespace(model=model, encode=lambda text: [ord(c) for c in text], decode=lambda ids: chr(ids[0]))

    assert language_model.sums_right(writer(lambda a, b: a + b), "{}+{}") == 1
    assert language_model.sums_right(writer(lambda a, b: 2 * a), "{}+{}") == pytest.approx(4 / 36)


def test_without_the_real_models_small_ones_stand_in(no_real_models):
    writer, reader = language_model.writer(seed=0), fine_tuning.reader(seed=0)
    for found in (writer, reader):
        assert not found.real and "python3 -m course_lib models" in found.note and "\n" not in found.note
    assert language_model.complete(writer, "The ", 3).startswith("The ")
    assert 0 <= language_model.sums_right(writer, "{} + {} = ") <= 1
    tokens = language_model.repeated(writer, T=10)
    assert torch.equal(tokens[:, :10], tokens[:, 10:]) and language_model.losses(writer.model, tokens).shape == (19,)
    data = docstrings.sample(60)
    vectors = fine_tuning.embed(reader, data.sentences)
    assert vectors.shape == (60, 64) and fine_tuning.last_hidden(writer, data.first(10).sentences).shape == (10, 48)


def test_smollm2_copies_parks_and_cannot_look_ahead():
    writer = language_model.writer()
    if not writer.real:
        pytest.skip(writer.note)
    tokens = language_model.repeated(writer, T=40, seed=11)
    surprise = language_model.losses(writer.model, tokens)
    copying = language_model.copy_scores(language_model.maps(writer.model, tokens))
    assert surprise[:39].mean() > 11 and surprise[39:].mean() < 6
    assert copying[18, 6] > 0.7 and (copying > 0.3).sum() < 25
    hot, cold = (writer.ids(f"It was too {word}.") for word in ("hot", "cold"))
    one, other = (language_model.maps(writer.model, ids, layers=[0, 29]) for ids in (hot, cold))
    assert torch.equal(one[:, :, :3], other[:, :, :3]) and not torch.equal(one, other)
    assert language_model.sink_scores(one).shape == (2, 9)
