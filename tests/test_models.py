import math

import pytest
import torch
import torch.nn.functional as F
from carry import copy_decoder_block, copy_encoder_block, copy_pairs, shake, small_config
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from course_lib.heads import Classifier, VisionTransformer, patches, pool
from course_lib.masks import padding_mask
from course_lib.models import POSITIONS, Decoder, Encoder, EncoderDecoder, TransformerConfig

EXACT = {"rtol": 1e-11, "atol": 1e-11}
VARIANTS = {
    "GPT-2": {"positions": "learned", "tie_embeddings": True, "activation": "gelu_tanh"},
    "LLaMA": {"positions": "rotary", "norm": "rms", "activation": "swiglu", "n_kv_heads": 2, "bias": False},
    "original": {"norm_first": False, "activation": "relu", "scale_embedding": True, "dropout": 0.1},
    "BERT": {"norm_first": False, "positions": "learned", "embedding_norm": True, "n_token_types": 2},
    "ALiBi": {"positions": "alibi"},
    "none": {"positions": "none"},
}
variants = pytest.mark.parametrize("variant", VARIANTS)


def tokens(B, T, seed=0, vocab_size=19):
    return torch.randint(vocab_size, (B, T), generator=torch.Generator().manual_seed(seed))


def make(kind, variant="none", **changes):
    torch.manual_seed(0)
    return shake(kind(small_config(**{**VARIANTS[variant], **changes})).double()).eval()


@variants
@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("need_weights", [False, True])
def test_a_decoder_does_not_see_the_future(variant, mode, need_weights):
    model = make(Decoder, variant, dropout=0.0).train(mode == "train")
    x = tokens(2, 8)

    def logits(x):
        return model(x, need_weights=True)[0] if need_weights else model(x)

    before = logits(x)
    for t in range(7):
        changed = x.clone()
        changed[:, t + 1] = (x[:, t + 1] + 1) % 19
        after = logits(changed)
        torch.testing.assert_close(after[:, : t + 1], before[:, : t + 1], **EXACT)
        assert (after[:, t + 1 :] - before[:, t + 1 :]).abs().max() > 1e-4


@variants
def test_an_encoder_sees_both_sides(variant):
    model, x = make(Encoder, variant), tokens(1, 6)
    changed = x.clone()
    changed[:, 3] = (x[:, 3] + 1) % 19
    assert ((model(changed) - model(x)).abs().amax(-1) > 1e-6).all()


@given(T=st.integers(1, 7), seed=st.integers(0, 999))
@settings(max_examples=20, deadline=None)
def test_without_positions_permuted_tokens_give_permuted_outputs(T, seed):
    model, x = make(Encoder), tokens(2, T, seed)
    order = torch.randperm(T, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(model(x[:, order]), model(x)[:, order], **EXACT)


@variants
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("kind", [Encoder, Decoder])
def test_padding_changes_nothing_for_the_real_tokens(variant, side, kind):
    model, x, padding = make(kind, variant), tokens(3, 6), padding_mask([6, 1, 4])
    padding = padding.flip(1) if side == "left" else padding
    output, weights = model(x, padding=padding, need_weights=True)
    torch.testing.assert_close(model(x, padding=padding)[padding], output[padding], **EXACT)
    assert torch.isfinite(output).all()
    for row in range(3):
        alone = model(x[row][padding[row]][None])
        torch.testing.assert_close(output[row][padding[row]][None], alone, **EXACT)
    for layer in weights:
        assert layer.masked_select(~padding[:, None, None, :]).eq(0).all()


@pytest.mark.parametrize("kind", [Encoder, Decoder])
def test_a_sequence_of_padding_alone_stays_finite_and_gives_no_gradient(kind):
    model, padding = make(kind), padding_mask([0, 3])
    for need_weights in (False, True):
        model.zero_grad()
        x = torch.randn(2, 3, 16, dtype=torch.float64, requires_grad=True)
        output = model(x, padding=padding, need_weights=need_weights)
        output = output[0] if need_weights else output
        output[1].sum().backward()
        assert torch.isfinite(output).all() and x.grad[0].eq(0).all()
        assert all(p.grad is None or torch.isfinite(p.grad).all() for p in model.parameters())


@variants
def test_weights_can_be_had_from_all_layers_or_from_some(variant):
    for kind in (Encoder, Decoder):
        model, x = make(kind, variant, n_layers=3), tokens(2, 5)
        plain = model(x)
        output, weights = model(x, need_weights=True)
        torch.testing.assert_close(output, plain, **EXACT)
        assert [w.shape for w in weights] == [(2, 4, 5, 5)] * 3
        torch.testing.assert_close(weights[0].sum(-1), torch.ones(2, 4, 5).double())
        output, some = model(x, need_weights=[1])
        torch.testing.assert_close(output, plain, **EXACT)
        assert some[0] is some[2] is None
        torch.testing.assert_close(some[1], weights[1], **EXACT)


@pytest.mark.parametrize("kind", [Encoder, Decoder])
def test_edit_weights_reaches_the_layer_that_it_names(kind):
    model, x, seen = make(kind, n_layers=3), tokens(2, 5), []

    def only_layer_1(layer, weights):
        seen.append((layer, tuple(weights.shape)))
        return torch.zeros_like(weights) if layer == 1 else weights

    edited, weights = model(x, edit_weights=only_layer_1, need_weights=True)
    assert seen == [(layer, (2, 4, 5, 5)) for layer in range(3)]
    assert weights[1].eq(0).all() and weights[2].ne(0).any()
    assert not torch.allclose(edited, model(x))
    with torch.no_grad():
        model.blocks[1].attention.w_v.weight.zero_()
        model.blocks[1].attention.w_v.bias.zero_()
    torch.testing.assert_close(edited, model(x), **EXACT)


@variants
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("d_model, vocab_size", [(16, 19), (128, 300)])
def test_the_first_loss_is_that_of_guessing(variant, tied, d_model, vocab_size):
    torch.manual_seed(1)
    changes = {**VARIANTS[variant], "tie_embeddings": tied, "d_model": d_model, "vocab_size": vocab_size}
    model, x = Decoder(small_config(**changes)), tokens(8, 33, vocab_size=vocab_size)
    loss = F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()).item()
    assert loss == pytest.approx(math.log(vocab_size), abs=0.1)


def test_tied_embeddings_are_one_matrix():
    decoder = Decoder(small_config(tie_embeddings=True))
    assert decoder.head.weight is decoder.embedding.weight
    both = EncoderDecoder(small_config(tie_embeddings=True))
    assert both.encoder.embedding.weight is both.decoder.embedding.weight is both.decoder.head.weight
    assert EncoderDecoder(small_config()).encoder.embedding is not both.decoder.embedding


def test_embedded_input_stands_for_the_token_vectors():
    encoder, x = make(Encoder, "BERT"), tokens(2, 5)
    torch.testing.assert_close(encoder(encoder.embedding(x)), encoder(x), **EXACT)
    with pytest.raises(ValueError, match="vocab_size = 0"):
        Encoder(small_config(vocab_size=0))(x)


def test_token_types_are_zero_where_not_given():
    encoder, x = make(Encoder, "BERT"), tokens(2, 5)
    assert torch.equal(encoder(x), encoder(x, token_types=torch.zeros_like(x)))
    assert not torch.allclose(encoder(x), encoder(x, token_types=torch.ones_like(x)))


def test_one_sequence_does_not_touch_another():
    model, x = make(Encoder), tokens(3, 5)
    changed = x.clone()
    changed[1:] = 7
    torch.testing.assert_close(model(changed)[0], model(x)[0], **EXACT)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("norm_first", [True, False])
def test_encoder_decoder_equals_pytorchs(norm_first):
    theirs = shake(nn.Transformer(
        16, 4, 2, 2, 32, dropout=0.0, batch_first=True, norm_first=norm_first, dtype=torch.float64))  # fmt: skip
    ours = make(EncoderDecoder, norm_first=norm_first, activation="relu")
    for mine, reference in zip(ours.encoder.blocks, theirs.encoder.layers, strict=True):
        copy_encoder_block(mine, reference)
    for mine, reference in zip(ours.decoder.blocks, theirs.decoder.layers, strict=True):
        copy_decoder_block(mine, reference)
    if norm_first:
        copy_pairs([(ours.encoder.final_norm, theirs.encoder.norm), (ours.decoder.final_norm, theirs.decoder.norm)])
    else:  # nn.Transformer always has two more norms; a post-norm model of the paper does not
        theirs.encoder.norm = theirs.decoder.norm = None
    source, target = torch.randn(2, 6, 16).double(), torch.randn(2, 4, 16).double()
    source_padding, target_padding = padding_mask([6, 3]), padding_mask([2, 4])
    expected = theirs(
        source, target, tgt_mask=~torch.ones(4, 4, dtype=torch.bool).tril(), src_key_padding_mask=~source_padding,
        memory_key_padding_mask=~source_padding, tgt_key_padding_mask=~target_padding,
    )  # fmt: skip
    logits = ours(source, target, source_padding, target_padding)
    torch.testing.assert_close(logits[target_padding], ours.decoder.head(expected)[target_padding], **EXACT)


@variants
def test_encoder_decoder_reads_the_source_and_not_the_future(variant):
    model, source, target = make(EncoderDecoder, variant, dropout=0.0), tokens(2, 6, 1), tokens(2, 4, 2)
    for mode in (True, False):
        model.train(mode)
        logits = model(source, target)
        assert logits.shape == (2, 4, 19)
        assert not torch.allclose(model(tokens(2, 6, 3), target)[:, 0], logits[:, 0])
        changed = target.clone()
        changed[:, 2] = (target[:, 2] + 1) % 19
        torch.testing.assert_close(model(source, changed)[:, :2], logits[:, :2], **EXACT)
        assert not torch.allclose(model(source, changed)[:, 2:], logits[:, 2:])


@variants
def test_encoder_decoder_weights_have_their_places(variant):
    model, source, target = make(EncoderDecoder, variant), tokens(2, 6, 1), tokens(2, 4, 2)
    source_padding = padding_mask([6, 2])
    logits, weights = model(source, target, source_padding, need_weights=True)
    torch.testing.assert_close(logits, model(source, target, source_padding), **EXACT)
    shapes = {part: [tuple(w.shape) for w in layers] for part, layers in weights.items()}
    assert shapes == {"encoder": [(2, 4, 6, 6)] * 2, "decoder": [(2, 4, 4, 4)] * 2, "cross": [(2, 4, 4, 6)] * 2}
    assert weights["cross"][0][1, :, :, 2:].eq(0).all()
    _, some = model(source, target, source_padding, need_weights=[1])
    assert all(layers[0] is None and layers[1] is not None for layers in some.values())


def test_source_and_target_may_have_vocabularies_of_their_own():
    model = EncoderDecoder(small_config(vocab_size=30), small_config(vocab_size=11, n_layers=1))
    assert model(tokens(2, 5, vocab_size=30), tokens(2, 3, vocab_size=11)).shape == (2, 3, 11)


def test_pooling_counts_real_tokens_alone():
    hidden, padding = torch.randn(3, 4, 2).double(), padding_mask([2, 4, 0])
    assert torch.allclose(pool(hidden, padding)[0], hidden[0, :2].mean(0))
    assert torch.allclose(pool(hidden), hidden.mean(1)) and pool(hidden, padding)[2].eq(0).all()
    assert torch.equal(pool(hidden, padding, "last")[:2], torch.stack([hidden[0, 1], hidden[1, 3]]))
    assert torch.equal(pool(hidden, None, "last"), hidden[:, 3])
    assert torch.equal(pool(hidden, padding, "cls"), hidden[:, 0])


@pytest.mark.parametrize("pooling, shape", [("mean", (2, 3)), ("cls", (2, 3)), ("last", (2, 3)), (None, (2, 5, 3))])
@pytest.mark.parametrize("body", [Encoder, Decoder])
def test_classifier_sits_on_either_body(pooling, shape, body):
    model = Classifier(make(body), 3, pooling).double()
    logits, weights = model(tokens(2, 5), padding_mask([5, 2]), need_weights=True)
    assert logits.shape == shape and len(weights) == 2
    torch.testing.assert_close(model(tokens(2, 5), padding_mask([5, 2])), logits, **EXACT)
    with pytest.raises(ValueError, match="pooling must be"):
        Classifier(model.body, 3, "max")


def test_patches_are_squares_in_reading_order():
    image = torch.arange(16.0).reshape(1, 1, 4, 4)
    assert patches(image, 2)[0].tolist() == [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    convolution = nn.Conv2d(3, 7, 2, stride=2, bias=False)
    images = torch.randn(2, 3, 6, 4)
    ours = patches(images, 2) @ convolution.weight.flatten(1).T
    torch.testing.assert_close(ours, convolution(images).flatten(2).mT)
    with pytest.raises(ValueError, match="size 3 do not fill images of 4 × 4"):
        patches(image, 3)


def test_vision_transformer_sees_where_a_patch_lies_only_with_positions():
    for kind, differs in (("learned", True), ("none", False)):
        torch.manual_seed(0)
        model = VisionTransformer(small_config(vocab_size=0, positions=kind), 10, patch_size=2).double().eval()
        image = torch.randn(1, 1, 8, 8).double()
        logits, weights = model(image, need_weights=True)
        assert logits.shape == (1, 10) and weights[0].shape == (1, 4, 17, 17)
        moved = (model(image.flip(2).unflatten(2, (4, 2)).flip(3).flatten(2, 3)) - logits).abs().max()
        assert (moved > 1e-4) == differs  # rows of patches in another order, each patch as it was


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"d_model": 10}, "d_model = 10, n_heads = 4"),
        ({"n_kv_heads": 3}, "n_kv_heads = 3"),
        ({"norm": "batch"}, "norm must be one of layer, rms; got 'batch'"),
        ({"positions": "relative"}, "positions must be one of"),
        ({"activation": "tanh"}, "activation must be one of"),
        ({"rotary_pairs": "thirds"}, "rotary_pairs must be one of"),
    ],
)
def test_a_config_says_what_is_wrong(wrong, message):
    with pytest.raises(ValueError, match=message):
        small_config(**wrong)


def test_the_six_sizes_are_required():
    with pytest.raises(TypeError, match="max_len"):
        TransformerConfig(vocab_size=5, d_model=8, n_heads=2, n_layers=1, d_ff=16)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_logits_of_half_precision_models_are_float32(dtype):
    model = make(Decoder).to(dtype)
    assert model.hidden(tokens(1, 3)).dtype == dtype and model(tokens(1, 3)).dtype == torch.float32


@pytest.mark.parametrize("positions", POSITIONS)
def test_state_survives_saving(positions, tmp_path):
    model = make(Decoder, positions=positions)
    torch.save(model.state_dict(), tmp_path / "model.pt")
    other = Decoder(small_config(positions=positions)).double()
    other.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True))
    assert torch.equal(other(tokens(1, 5)), model(tokens(1, 5)))
