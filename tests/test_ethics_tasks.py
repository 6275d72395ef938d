"""The data and the measurements of notebook 07: skews as stated, secrets counted right, costs that add up."""

import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from course_lib import costs, pretrained
from course_lib.models import Decoder, TransformerConfig
from course_lib.tasks import canaries, energy, pronoun_probe, subgroups, trades

# ---- trades


@pytest.mark.parametrize("skew", [0.5, 0.8, 1.0])
def test_pronoun_and_pass_have_the_skew_and_are_independent(skew):
    tokens = trades.sentences(20_000, skew, seed=1)
    usual = trades.is_usual(tokens)
    red = trades.index_of(tokens[:, trades.PASS], trades.PASSES) == 0
    first_half = trades.trade_of(tokens) < 4
    assert abs(usual.float().mean() - skew) < 0.01
    assert abs((red == first_half).float().mean() - skew) < 0.01
    assert abs(red[first_half & usual].float().mean() - red[first_half].float().mean()) < 0.02
    assert (trades.shares(tokens, trades.PRONOUN, trades.PRONOUNS)[:4] - skew).abs().max() < 0.03


def test_a_skew_is_a_share():
    with pytest.raises(ValueError, match="1.5"):
        trades.sentences(3, skew=1.5)


def test_the_counterfactual_changes_the_pronoun_and_nothing_else():
    tokens = trades.sentences(50, seed=2)
    before = tokens.clone()
    other = trades.with_other_pronoun(tokens)
    assert torch.equal(tokens, before)
    assert ((other != tokens).nonzero()[:, 1] == trades.PRONOUN).all() and (other != tokens).any(dim=1).all()
    assert torch.equal(trades.with_other_pronoun(other), tokens)
    assert torch.equal(trades.is_usual(other), ~trades.is_usual(tokens))


def test_unseen_trades_occur_in_no_sentence():
    unseen = torch.tensor(trades.WORDS.encode(trades.UNSEEN))
    assert not torch.isin(trades.sentences(5000, seed=3), unseen).any()


class Always(torch.nn.Module):
    """Gives the words of `odds` these logits everywhere, whatever the input; all others −20."""

    def __init__(self, odds):
        super().__init__()
        self.row = torch.full((len(trades.WORDS),), -20.0)
        for word, logit in odds.items():
            self.row[trades.WORDS.ids[word]] = logit

    def forward(self, tokens):
        return self.row.expand(*tokens.shape, -1)


def test_belief_is_a_share_of_two_and_said_an_argmax():
    model = Always({"zo": math.log(3), "ki": 0.0, "red": 0.0, "blue": math.log(3)})
    assert torch.allclose(trades.belief(model, trades.PRONOUN, trades.PRONOUNS), torch.full((8,), 0.75), atol=1e-4)
    assert torch.allclose(trades.belief(model, trades.PASS, trades.PASSES), torch.full((8,), 0.25), atol=1e-4)
    assert (trades.said(Always({"zo": 1.0, "ki": 0.0})) == 1).all()
    assert (trades.said(Always({"zo": 0.0, "ki": 1.0})) == 0).all()


# ---- subgroups


def test_subgroups_that_an_overall_accuracy_hides():
    truth, groups = torch.tensor([1] * 8 + [0] * 2), torch.tensor([0] * 8 + [2] * 2)
    accuracy, cases = subgroups.subgroup_accuracy(torch.ones(10, dtype=torch.int64), truth, groups, 3)
    assert cases.tolist() == [8, 0, 2]
    assert accuracy[0] == 1 and accuracy[1].isnan() and accuracy[2] == 0


# ---- canaries


def test_nobody_stands_in_two_lines_and_copies_are_as_many_as_asked_for():
    ordinary, planted = canaries.corpus(per_level=5, n_ordinary=300, seed=1)
    everyone = torch.cat([ordinary, *planted.values()])[:, :canaries.PROMPT]
    assert len(everyone.unique(dim=0)) == 300 + 5 * 5
    lines = canaries.with_copies(ordinary, planted)
    for times, secret in planted.items():
        assert [(lines == line).all(dim=1).sum().item() for line in secret] == [times] * 5
    once = canaries.without_duplicates(lines)
    assert len(once) == 300 + 5 * 4 and len(canaries.without_duplicates(once)) == len(once)


def test_more_lines_than_people_are_refused():
    with pytest.raises(ValueError, match="names"):
        canaries.codes(10_000)


def test_the_log_probabilities_of_all_codes_are_those_of_asking_one_by_one():
    torch.manual_seed(0)
    model = Decoder(TransformerConfig(len(canaries.WORDS), 16, 2, 1, 32, 9, positions="learned")).eval()
    line = canaries.codes(1, seed=5)[0]
    found = canaries.log_probs_of_codes(model, line)
    digits = torch.tensor(canaries.WORDS.encode("0123456789"))
    for code in (0, 7, 123, 480, 999):
        ids = torch.cat([line[: canaries.PROMPT], digits[[code // 100, code // 10 % 10, code % 10]]])
        log_probs = model(ids[None, :-1])[0].log_softmax(-1)
        expected = sum(log_probs[i, ids[i + 1]].item() for i in range(canaries.PROMPT - 1, 8))
        assert found[code].item() == pytest.approx(expected, abs=1e-4)
        assert canaries.code_of(ids) == code


def test_exposure_by_hand():
    log_probs = torch.tensor([0.05, 0.1, 0.2, 0.4, 0.1, 0.05, 0.06, 0.04]).log()
    assert canaries.exposure(log_probs, 3) == 3  # the first of 8
    assert canaries.exposure(log_probs, 2) == 2  # the second
    assert canaries.exposure(log_probs, 7) == 0  # the last


def test_a_trained_model_recites_what_it_saw_often_and_only_that():
    ordinary, planted = canaries.corpus(per_level=12, n_ordinary=300, seed=3)
    lines = canaries.with_copies(ordinary, {0: planted[0], 64: planted[64]})
    model = canaries.train_on(lines, steps=150, seed=3)
    never, often = (canaries.exposures(model, planted[times]) for times in (0, 64))
    assert sum(often) / 12 > 8 > 4 > sum(never) / 12
    assert canaries.extracted(model, planted[64]).sum() >= 4 and canaries.extracted(model, planted[0]).sum() <= 1


# ---- energy


@pytest.mark.parametrize("T, n_layers", [(5, 1), (16, 3)])
def test_the_formula_is_torchs_count(T, n_layers):
    config = TransformerConfig(31, 24, 3, n_layers, 40, 16, positions="none")
    model, tokens = Decoder(config), torch.randint(31, (7, T))
    counted = energy.counted_flops(lambda: model(tokens, need_weights=True))
    assert counted == sum(energy.forward_flops(config, B=7, T=T).values())
    with FlopCounterMode(display=False) as counter:
        model(tokens, need_weights=True)[0].sum().backward()
    assert counter.get_total_flops() == 3 * counted


def test_time_is_cpu_time_and_a_larger_batch_takes_more():
    config = TransformerConfig(31, 64, 4, 2, 256, 32, positions="none")
    few, many = (energy.seconds_per_step(Decoder(config), *[torch.randint(31, (B, 32))] * 2, steps=6) for B in (4, 64))
    assert 0 < few < many
    assert energy.cpu_seconds() > many


def test_a_deployment_multiplies_what_it_is_told():
    plan = {"parameters": 1e6, "requests_per_day": 10, "tokens_per_request": 100, "days": 36, "flops_per_second": 1e9}
    found = costs.deployment(**plan, watts=(10, 40), overhead=1.5)
    assert found["operations"] == 2e6 * 36_000 and found["processor seconds"] == 72
    assert found["kWh"] == pytest.approx((1.5 * 720 / 3.6e6, 1.5 * 2880 / 3.6e6))
    for wrong in ({"overhead": 0.5}, {"watts": (0, 10)}, {"watts": (20, 10)}, {"flops_per_second": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            costs.deployment(**{**plan, "watts": (10, 40), "overhead": 1.5, **wrong})


# ---- pronouns


def test_leanings_are_differences_of_log2_and_padding_does_not_matter():
    torch.manual_seed(1)
    model = Decoder(TransformerConfig(len(trades.WORDS), 16, 2, 1, 32, 9, positions="learned")).eval()
    groups, templates = {"a": ("dremmer", "fosker")}, ("the {}", "the {} says that")
    found = pronoun_probe.leanings(model, lambda text: trades.WORDS.encode(text.split()), groups, templates,
                                   trades.PRONOUNS, real=False, note="")  # fmt: skip
    for word in groups["a"]:
        for template, bits in zip(templates, found.bits["a"][word], strict=True):
            ids = torch.tensor([trades.WORDS.encode(template.format(word).split())])
            log_probs = model(ids)[0, -1].log_softmax(-1) / math.log(2)
            zo, ki = trades.WORDS.encode(trades.PRONOUNS)
            assert bits.item() == pytest.approx((log_probs[zo] - log_probs[ki]).item(), abs=1e-4)
        assert found.mean("a")[word] == pytest.approx(found.bits["a"][word].mean().item())


def test_without_the_real_model_a_stand_in_says_how_to_get_it(monkeypatch):
    def absent():
        raise pretrained.Unavailable("not here; run: fetch it")

    monkeypatch.setattr(pretrained, "load_smollm2", absent)
    found = pronoun_probe.real_model(seed=1)
    assert not found.real and "fetch it" in found.note and found.pronouns == trades.PRONOUNS
    known = list(found.mean("trades it read about").values())
    assert min(known[:4]) > 1 and max(known[4:]) < -1  # 0.8 against 0.2 are two bits
    assert list(found.bits)[1] == "words it never met"


def test_a_search_has_a_number_for_each_canary_of_each_seed():
    found = canaries.search((1, 2), steps=2)
    assert {times: len(bits) for times, bits in found.exposures.items()} == dict.fromkeys(canaries.REPETITIONS, 24)
    assert found.mean_exposure()[4] == pytest.approx(sum(found.exposures[4]) / 24)
    assert max(found.share_read_out().values()) < 0.2  # after two steps it knows nothing


def test_following_the_skew_keeps_seeds_and_skews_apart():
    followed = trades.follow_skew((0.1, 0.9), seeds=(1, 2), steps=100)
    assert [len(row) for row in followed["said"]] == [2, 2]
    assert all(low < 0.3 and high > 0.7 for low, high in followed["believed"])
