"""Every explorer on small models, without a front end: each control at both ends and the middle, wrong values."""

import threading
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
import torch

from course_lib import plots
from course_lib.blocks import EncoderBlock
from course_lib.counting import PUBLISHED
from course_lib.generation import beam_search
from course_lib.models import Decoder, Encoder, EncoderDecoder, TransformerConfig
from course_lib.positions import sinusoidal_pe
from course_lib.tasks.french import french
from course_lib.tasks.pairs import Pair
from course_lib.widgets import (
    explore_alignment,
    explore_attention,
    explore_block,
    explore_deployment,
    explore_generation,
    explore_heads,
    explore_mask,
    explore_parameters,
    explore_positions,
)
from course_lib.widgets.alignment import AlignmentView
from course_lib.widgets.block import block_steps
from course_lib.widgets.mask import preset_mask
from course_lib.widgets.parameters import PRESETS
from course_lib.widgets.view import colour_table


def ends_and_middle(limit):
    """The first, the middle and the last value of a control."""
    if isinstance(limit, dict):
        steps = round((limit["max"] - limit["min"]) / limit["step"])
        return [limit["min"] + limit["step"] * i for i in (0, steps // 2, steps)]
    return [limit[0], limit[len(limit) // 2], limit[-1]]


def sweep(view):
    """Move every control to both ends and the middle; each time the view must answer without an error."""
    for name, limit in view.limits.items():
        if isinstance(limit, dict) and "step" not in limit:
            continue  # a text or a list of cells: these have tests of their own
        start = getattr(view, name)
        for value in ends_and_middle(limit):
            setattr(view, name, value)
            assert view.error == "", (name, value)
            assert getattr(view, name) == value
            data, _ = view._repr_mimebundle_()  # what stands there without a front end
            assert view.words() in data["text/plain"]
        setattr(view, name, start)


def as_array(sent, *shape):
    return np.frombuffer(sent, dtype=np.float32).reshape(shape)


def luminance(colours):
    """WCAG relative luminance of uint8 (n, 3) colours, (n,)."""
    c = colours / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def test_the_colour_map_is_ordered_in_grey_and_reads_against_both_inks():
    colours = colour_table()
    grey = luminance(colours)
    assert (np.diff(grey[::3]) > 0).all() and grey[-1] - grey[0] > 0.6  # every third: 8 bits a channel round
    white, black = 1.05 / (grey + 0.05), (grey + 0.05) / 0.05
    assert np.maximum(white, black).min() >= 4.5


def test_a_rainbow_map_would_fail():
    assert (np.diff(luminance(colour_table_of("jet"))[::3]) < 0).any()


def colour_table_of(name):
    return np.round(255 * matplotlib.colormaps[name](np.linspace(0, 1, 256))[:, :3]).astype(np.uint8)


def test_widgets_and_figures_share_the_map():
    assert (colour_table() == colour_table_of(plots.CMAP)).all()


@pytest.fixture
def runs():
    """Four models of a made-up task, T = 5 positions, k = 2 asked for, 3 examples."""

    def run(d_model, n_heads):
        weights = torch.rand(3, n_heads, 5, generator=torch.Generator().manual_seed(d_model + n_heads)).softmax(-1)
        return SimpleNamespace(
            accuracy=d_model / 10, all_right=0.25, n_parameters=1000 * d_model, d_k=d_model // n_heads, weights=weights,
            asked=torch.tensor([[0, 3], [1, 2], [4, 0]]), model=SimpleNamespace(n_values=5),
        )  # fmt: skip

    return {(d, h): run(d, h) for d in (4, 8) for h in (1, 2)}


def test_explore_heads_moves_over_the_grid(runs):
    view = explore_heads(runs)
    assert view.limits == {"n_heads": [1, 2], "d_model": [4, 8], "example": [1, 2, 3]}
    sweep(view)
    view.n_heads, view.d_model = 2, 4
    assert "2 heads of d_k = 2: 40% of the answers right, with 4,000 parameters" in view.words()


def test_explore_heads_sends_every_map_once(runs):
    sent = explore_heads(runs).result
    assert sent["chance"] == 1 / 5
    by_size = {(m["d_model"], m["n_heads"]): m for m in sent["models"]}
    assert by_size.keys() == runs.keys()
    for size, run in runs.items():
        assert np.array_equal(as_array(by_size[size]["weights"], 3, size[1], 5), run.weights.numpy())
        assert by_size[size]["asked"] == run.asked.tolist()


@pytest.mark.parametrize("value", [3, 0, -1, True, "2", 2.0, None])
def test_a_wrong_value_is_answered_in_the_widget(runs, value):
    view = explore_heads(runs)
    view.n_heads = 2
    view.n_heads = value
    assert view.n_heads == 2
    assert view.error == f"n_heads must be one of 1, 2; got {value!r}."
    view.n_heads = 1
    assert view.error == ""


def test_explore_heads_refuses_a_grid_with_holes(runs):
    del runs[4, 2]
    with pytest.raises(ValueError, match=r"missing: \[\(4, 2\)\]"):
        explore_heads(runs)


def test_without_a_front_end_the_view_says_itself_in_words(runs):
    data, _ = explore_heads(runs)._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "of the answers right" in data["text/plain"] and "of the answers right" in data["text/html"]
    assert data["text/html"].count("<rect") == 5 and 'role="img" aria-label="d_model = 8 split' in data["text/html"]


@pytest.mark.parametrize("value", [2.0, True, "3", 512, -1, float("nan"), None])
def test_a_number_off_the_scale_is_answered(value):
    view = explore_positions()
    view.position = value
    assert view.position == 0
    assert view.error == f"position must be a number from 0 to 511 in steps of 1; got {value!r}."


# ---- positions


def test_explore_positions_shows_the_courses_own_encodings():
    view = explore_positions()
    sent = dict(zip(view.limits["d_model"], view.result["tables"], strict=True))
    assert np.array_equal(as_array(sent[16], 512, 16), sinusoidal_pe(512, 16).numpy())
    view.base = 100
    assert np.array_equal(as_array(view.result["tables"][1], 512, 4), sinusoidal_pe(512, 4, base=100.0).numpy())


def test_explore_positions_moves_every_control():
    sweep(explore_positions())


@pytest.mark.parametrize("d_model, position, share", [(2, 44, "0%"), (4, 19, "0%"), (10, 6, "0%"), (12, 1, "100%")])
def test_the_collisions_can_be_found_by_hand(d_model, position, share):
    view = explore_positions()
    view.d_model = d_model
    assert f"the position most like 0 is {position}, " in view.words() and f"{share} have a next-door" in view.words()


def test_explore_positions_takes_a_function_of_the_learners():
    def one_hot(n_positions, d_model):
        return torch.eye(n_positions, d_model)

    view = explore_positions(one_hot)
    assert "base" not in view.limits
    sweep(view)


def test_explore_positions_refuses_a_table_of_another_shape():
    with pytest.raises(ValueError, match=r"came with shape \(2, 512\)"):
        explore_positions(lambda n, d: torch.zeros(d, n))


def test_an_error_in_a_callback_is_shown_in_the_widget():
    def only_the_usual_base(n_positions, d_model, base=10000.0):
        if base != 10000:
            raise RuntimeError("I know one base")
        return sinusoidal_pe(n_positions, d_model)

    view = explore_positions(only_the_usual_base)
    view.base = 10
    assert view.error == "RuntimeError: I know one base"
    view.base = 10000
    assert view.error == ""


# ---- mask


@pytest.fixture
def decoder():
    torch.manual_seed(0)
    return Decoder(config(positions="rotary")).eval()


@pytest.fixture
def encoder():
    torch.manual_seed(0)
    return Encoder(config()).eval()


def config(**changes):
    sizes = {"vocab_size": 20, "d_model": 16, "n_heads": 4, "n_layers": 2, "d_ff": 24, "max_len": 16}
    return TransformerConfig(**{**sizes, **changes})


TOKENS = torch.tensor([[3, 7, 5, 9, 4, 11, 6]])
NAMES = ["the", "cat", "sat", "on", "a", "mat", "."]


@pytest.mark.parametrize("layer", [0, 1])
def test_the_weights_of_explore_mask_are_the_models_own(decoder, layer):
    view = explore_mask(decoder, TOKENS, NAMES, layer=layer)
    view.T, view.preset = 7, "causal"
    _, weights = decoder(TOKENS, need_weights=True)
    for head in (1, 4):
        view.head = head
        assert np.allclose(as_array(view.result["after"], 7, 7), weights[layer][0, head - 1].detach(), atol=1e-6)


def test_explore_mask_starts_with_five_tokens_and_moves_every_control(encoder):
    view = explore_mask(encoder, TOKENS, NAMES)
    assert (view.T, view.preset) == (5, "none")
    _, weights = encoder(TOKENS[:, :5], need_weights=True)
    assert np.allclose(as_array(view.result["before"], 5, 5), weights[0][0, 0].detach(), atol=1e-6)
    sweep(view)


@pytest.mark.parametrize(
    "preset, size, rows",
    [
        ("none", 2, ["1111", "1111", "1111", "1111"]),
        ("causal", 2, ["1000", "1100", "1110", "1111"]),
        ("sliding window", 2, ["1000", "1100", "0110", "0011"]),
        ("prefix", 3, ["1110", "1110", "1110", "1111"]),
        ("padding", 3, ["1110", "1110", "1110", "1110"]),
    ],
)
def test_mask_presets(preset, size, rows):
    assert preset_mask(preset, 4, size).int().tolist() == [[int(cell) for cell in row] for row in rows]


def test_what_leaks_is_said(encoder):
    view = explore_mask(encoder, TOKENS, NAMES)
    view.preset = "causal"
    assert view.words() == "15 of 25 pairs allowed. Nothing leaks: no query sees a later position."
    view.toggled = [[1, 3]]
    assert "The future leaks: 1 pair looks ahead. The most leaks from “on” (3) to “cat” (1)" in view.words()
    view.toggled = [[0, 0]]
    assert "“the” (0) may look at nothing: weights 0." in view.words()
    assert not as_array(view.result["after"], 5, 5)[0].any()
    view.preset = "none"
    assert view.toggled == []


@pytest.mark.parametrize("toggled", [[[0, 5]], [[1]], "x", [[-1, 0]], None])
def test_toggles_outside_the_mask_are_answered(encoder, toggled):
    view = explore_mask(encoder, TOKENS, NAMES)
    view.toggled = toggled
    assert "toggled must list [query, key] pairs from 0 to 4" in view.error and view.toggled == []


# ---- block


@pytest.mark.parametrize("norm_first", [True, False])
def test_the_steps_of_an_encoder_block_end_in_its_output(norm_first):
    torch.manual_seed(0)
    block = EncoderBlock(config(norm_first=norm_first)).eval()
    x = torch.randn(1, 7, 16)
    output, weights = block(x, need_weights=True)
    steps = {title: values for title, _, values in block_steps(block, x)}
    assert torch.equal(block_steps(block, x)[-1][2], output[0])
    assert torch.equal(steps["weights"], weights[0])
    assert torch.equal(steps["residual stream"], x[0])
    assert torch.allclose(steps["queries"], block.attention.w_q(block.before(block.norm_1, x))[0])
    first_sum = next(values for title, _, values in block_steps(block, x) if title == "residual sum")
    assert torch.allclose(first_sum, x[0] + steps["mixed by w_o"])
    assert steps["activation"].shape == (7, 24)


def test_explore_block_on_all_three_kinds_of_model(encoder, decoder):
    torch.manual_seed(0)
    both = EncoderDecoder(config()).eval()
    for view, n_steps in [
        (explore_block(encoder, TOKENS, NAMES, layer=1), 14),
        (explore_block(decoder, TOKENS, NAMES, layer=1), 14),
        (explore_block(both, TOKENS[:, :3], NAMES[:3], layer=1, source_tokens=TOKENS, source_names=NAMES), 22),
    ]:
        assert view.limits["step"] == list(range(1, n_steps + 1))
        sweep(view)
    titles = [step["title"] for step in view.result["steps"]]
    assert titles.count("cross weights") == 1
    cross = view.result["steps"][titles.index("cross weights")]
    assert cross["sizes"] == [4, 3, 7] and "(h = 4, T = 3, S = 7)" in cross["shape"]
    _, weights = both(TOKENS, TOKENS[:, :3], need_weights=True)
    assert np.allclose(as_array(cross["values"], 4, 3, 7), weights["cross"][1][0].detach(), atol=1e-6)


def test_explore_block_leaves_no_hook_behind(encoder):
    explore_block(encoder, TOKENS, NAMES)
    assert not any(part._forward_hooks for part in encoder.modules())


# ---- generation


@pytest.fixture
def texts(decoder):
    return explore_generation(decoder, [3, 7], [str(i) for i in range(20)], eos_id=2)


def test_explore_generation_moves_every_control(texts):
    texts.beam = 2
    sweep_except(texts, "chosen", "draws")
    sent = texts.result["tokens"]
    assert [t["raw"] for t in sent] == sorted((t["raw"] for t in sent), reverse=True)


def sweep_except(view, *names):
    limits = view.limits
    view.limits = {name: limit for name, limit in limits.items() if name not in names}
    sweep(view)
    view.limits = limits


def test_the_distribution_is_the_models(texts, decoder):
    texts.chosen = [5, 9]
    logits = decoder(torch.tensor([[3, 7, 5, 9]]))[0, -1]
    best = texts.result["tokens"][0]
    assert best["id"] == int(logits.argmax())
    assert best["raw"] == pytest.approx(logits.softmax(-1).max().item(), rel=1e-5)


def test_temperature_top_k_and_top_p_cut(texts):
    texts.top_k = 3
    assert texts.result["possible"] == 3
    texts.temperature = 0
    assert texts.result["possible"] == 1 and texts.result["tokens"][0]["kept"] == 1.0
    texts.temperature, texts.top_k, texts.top_p = 1.0, 20, 0.05
    assert texts.result["possible"] == 1


def test_drawing_adds_a_token_that_may_be_drawn(texts):
    texts.top_k = 2
    allowed = {t["id"] for t in texts.result["tokens"] if t["kept"]}
    texts.draws = 1
    assert len(texts.chosen) == 1 and texts.chosen[0] in allowed
    texts.chosen = []
    texts.draws = 2
    texts.draws = 3
    assert len(texts.chosen) == 2


def test_the_beam_is_beam_search(texts, decoder):
    texts.beam = 3
    found = beam_search(lambda ids: decoder(torch.tensor([[3, 7, *ids[1:]]]))[0, -1], -1, 2, 6, width=3)
    assert [beam["log_prob"] for beam in texts.result["beams"]] == pytest.approx([p for p, _ in found], rel=1e-5)


def test_an_ended_text_has_no_continuation(texts):
    texts.chosen = [2]
    assert texts.result["ended"]
    texts.chosen = [99]
    assert texts.error == "chosen must list token ids from 0 to 19; got [99]." and texts.chosen == [2]


def test_moving_a_control_does_not_run_the_model_again(decoder):
    runs = []
    view = explore_generation(decoder, [3], [str(i) for i in range(20)])
    decoder.register_forward_hook(lambda *_: runs.append(1))
    decoder.final_norm.register_forward_hook(lambda *_: runs.append(1))
    view.temperature, view.top_k, view.top_p = 0.5, 5, 0.5
    assert runs == []
    view.chosen = [4]
    assert len(runs) == 1


def test_explore_generation_continues_a_translation():
    torch.manual_seed(0)
    both = EncoderDecoder(config()).eval()
    view = explore_generation(both, [1], str, source=TOKENS)
    logits = both(TOKENS, torch.tensor([[1]]))[0, -1]
    assert view.result["tokens"][0]["id"] == int(logits.argmax())


# ---- parameters


@pytest.mark.parametrize("name", PRESETS)
def test_presets_count_as_published(name):
    view = explore_parameters()
    view.preset = name
    assert view.error == "" and view.result["total"] == PUBLISHED[name].total()
    assert sum(n for _, n in view.result["groups"]) == view.result["total"]


def test_explore_parameters_with_sizes_of_ones_own():
    view = explore_parameters()
    assert view.result["total"] == 109_482_240
    view.preset = "GPT-2 small"
    before = view.result["total"]
    assert before == 124_439_808 and "45.5% feed-forward" in view.words()
    view.n_heads = 1
    assert view.result["total"] == before
    view.d_model, view.n_heads = 256, 4
    view.n_heads = 12
    assert view.error.startswith("ValueError: n_heads must divide d_model")
    view.n_heads = 8
    assert view.error == "" and "built like GPT-2 small" in view.words()


def test_explore_parameters_moves_every_control():
    view = explore_parameters()
    view.n_heads = 1
    sweep_except(view, "preset")


# ---- deployment


def test_explore_deployment_is_the_formula_and_keeps_the_range():
    view = explore_deployment(4.2e10)
    view.parameters, view.requests_per_day, view.tokens_per_request, view.days = 10**9, 1000, 1000, 1
    view.flops_per_second, view.watts_low, view.watts_high, view.overhead = 10**12, 100, 300, 2.0
    values = dict(view.result["rows"])  # 2e15 operations in 2,000 s; 0.2 to 0.6 MJ, twice
    assert values["operations"] == "2.0e+15" and values["processor time, days"] == "0.023"
    assert values["energy of all answers, kWh"] == "0.11 to 0.33" and "assumed" in view.result["speed"]
    view.watts_low = 500
    assert "the low watts first" in view.error
    view.watts_low = 100
    assert view.error == ""
    view.flops_per_second = 42_000_000_000
    assert "measured here" in view.result["speed"]


def test_explore_deployment_moves_every_control():
    view = explore_deployment(4.2e10)
    view.watts_low, view.watts_high = 1, 1000
    sweep(view)
    with pytest.raises(ValueError, match="above 0"):
        explore_deployment(0)


# ---- alignment


def test_explore_alignment_scores_both_readings():
    pair = Pair(("a", "b", "c"), ("x", "y", "z"), (2, 0, -1))
    right = np.zeros((1, 2, 4, 3), dtype=np.float32)
    right[..., [0, 1], [2, 0]] = 1.0  # row t predicts word t
    view = AlignmentView([right], [pair])
    assert view.result["scores"] == [[[1.0, 1.0]], [[0.5, 0.5]]]  # row after: y looks at a by ties, z has no truth
    sweep(view)


def test_explore_alignment_shows_the_models_cross_attention():
    data = french(500, 20)
    torch.manual_seed(0)
    size = max(len(data.source_vocabulary), len(data.target_vocabulary))
    model = EncoderDecoder(config(vocab_size=size)).eval()
    view = explore_alignment(model, data, n_sentences=3)
    sweep(view)
    pair, sent = data.held_out[1], view.result["sentences"][1]
    source, decoder_input, padding, _ = data.tensors([pair])
    _, weights = model(source, decoder_input, padding, need_weights=True)
    T, S = len(pair.target) + 1, len(pair.source)
    maps = as_array(sent["maps"], 2, 5, T, S)
    assert np.allclose(maps[1, 3], weights["cross"][1][0, 2].detach(), atol=1e-6)
    assert np.allclose(maps[:, 0], maps[:, 1:].mean(1), atol=1e-6)


def test_explore_alignment_needs_the_truth():
    data = french(500, 20)
    without = SimpleNamespace(held_out=[Pair(("a",), ("b",))], tensors=data.tensors)
    with pytest.raises(ValueError, match="no held-out pair carries an alignment"):
        explore_alignment(Encoder(config()), without)


# ---- attention


def encode(text):
    names = text.split()
    if "?" in names:
        raise ValueError("not among the words I know: '?'")
    return [3 + len(name) for name in names], names


@pytest.mark.parametrize("kind", [Encoder, Decoder])
def test_explore_attention_shows_every_head_of_a_sentence(kind):
    torch.manual_seed(0)
    model = kind(config()).eval()
    view = explore_attention(model, encode, "the cat sat")
    sweep(view)
    view.sentence = "on a mat it sat"
    _, weights = model(torch.tensor([[5, 4, 6, 5, 6]]), need_weights=True)
    shown = as_array(view.result["weights"], 2, 4, 5, 5)
    assert np.allclose(shown, torch.stack([layer[0] for layer in weights]).detach(), atol=1e-6)
    assert np.allclose(shown.sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize(
    "sentence, message",
    [
        ("what ?", "ValueError: not among the words"),
        ("w " * 49, "must have 1 to 48 tokens; this one has 49"),
        ("", "has 0"),
    ],
)
def test_a_sentence_that_cannot_be_shown_is_answered(encoder, sentence, message):
    view = explore_attention(encoder, encode, "the cat sat")
    before = view.result
    view.sentence = sentence
    assert message in view.error and view.result == before
    view.sentence = "a cat"
    assert view.error == ""


def test_callbacks_keep_no_graph_even_from_another_thread(encoder):
    view = explore_attention(encoder, encode, "the cat sat")
    moved = threading.Thread(target=setattr, args=(view, "sentence", "a mat"))
    moved.start()
    moved.join()
    assert view.error == "" and view.names == ["a", "mat"] and not view.weights.requires_grad
