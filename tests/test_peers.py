"""Our models against those of the transformers library: small, random, with the weights carried over."""

import pytest
import torch
from carry import copy_linear, copy_pairs, shake

from course_lib.generation import generate
from course_lib.masks import padding_mask
from course_lib.models import Decoder, Encoder, TransformerConfig

transformers = pytest.importorskip("transformers", reason="install the extra `peers`: pip install -e .[peers]")

EXACT = {"rtol": 1e-10, "atol": 1e-10}
SIZES = {"vocab_size": 31, "d_model": 24, "n_heads": 4, "n_layers": 3, "d_ff": 40, "max_len": 32}


def tokens(B, T):
    return torch.randint(1, 31, (B, T), generator=torch.Generator().manual_seed(0))


def peer(kind, config):
    config._attn_implementation = "eager"  # the one that returns its weights
    return shake(kind(config).double()).eval()


def test_bert():
    theirs = peer(transformers.BertModel, transformers.BertConfig(
        vocab_size=31, hidden_size=24, num_attention_heads=4, num_hidden_layers=3, intermediate_size=40,
        max_position_embeddings=32, type_vocab_size=2))  # fmt: skip
    ours = Encoder(TransformerConfig(
        **SIZES, norm_first=False, positions="learned", embedding_norm=True, n_token_types=2, norm_eps=1e-12,
    )).double()  # fmt: skip
    embeddings = theirs.embeddings
    copy_linear(ours.embedding, embeddings.word_embeddings.weight)
    copy_linear(ours.positions.table, embeddings.position_embeddings.weight)
    copy_linear(ours.token_types, embeddings.token_type_embeddings.weight)
    copy_pairs([(ours.embedding_norm, embeddings.LayerNorm)])
    for mine, layer in zip(ours.blocks, theirs.encoder.layer, strict=True):
        a, heads = mine.attention, layer.attention.self
        copy_pairs([
            (a.w_q, heads.query), (a.w_k, heads.key), (a.w_v, heads.value), (a.w_o, layer.attention.output.dense),
            (mine.norm_1, layer.attention.output.LayerNorm), (mine.feed_forward.w_1, layer.intermediate.dense),
            (mine.feed_forward.w_2, layer.output.dense), (mine.norm_2, layer.output.LayerNorm),
        ])  # fmt: skip
    x, padding, types = tokens(3, 7), padding_mask([7, 4, 2]), torch.arange(7).ge(3).long().expand(3, 7)
    expected = theirs(x, attention_mask=padding.long(), token_type_ids=types, output_attentions=True)
    hidden, weights = ours(x, padding, need_weights=True, token_types=types)
    torch.testing.assert_close(hidden[padding], expected.last_hidden_state[padding], **EXACT)
    for mine, reference in zip(weights, expected.attentions, strict=True):
        torch.testing.assert_close(mine, reference, **EXACT)
    torch.testing.assert_close(ours(x, padding, token_types=types)[padding], hidden[padding], **EXACT)


def gpt2_pair():
    theirs = peer(transformers.GPT2LMHeadModel, transformers.GPT2Config(
        vocab_size=31, n_embd=24, n_head=4, n_layer=3, n_inner=40, n_positions=32,
        bos_token_id=0, eos_token_id=0))  # fmt: skip
    ours = Decoder(
        TransformerConfig(**SIZES, positions="learned", tie_embeddings=True, activation="gelu_tanh")
    ).double()
    body = theirs.transformer
    copy_linear(ours.embedding, body.wte.weight)
    copy_linear(ours.positions.table, body.wpe.weight)
    copy_pairs([(ours.final_norm, body.ln_f)])
    for mine, layer in zip(ours.blocks, body.h, strict=True):
        copy_pairs([(mine.norm_1, layer.ln_1), (mine.norm_2, layer.ln_2)])
        a, f = mine.attention, mine.feed_forward
        qkv = zip(layer.attn.c_attn.weight.T.chunk(3), layer.attn.c_attn.bias.chunk(3), strict=True)
        for linear, (weight, bias) in zip((a.w_q, a.w_k, a.w_v), qkv, strict=True):
            copy_linear(linear, weight, bias)
        for linear, conv in ((a.w_o, layer.attn.c_proj), (f.w_1, layer.mlp.c_fc), (f.w_2, layer.mlp.c_proj)):
            copy_linear(linear, conv.weight.T, conv.bias)  # GPT-2 keeps its matrices transposed
    return ours.eval(), theirs


def llama_pair():
    theirs = peer(transformers.LlamaForCausalLM, transformers.LlamaConfig(
        vocab_size=31, hidden_size=24, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=3,
        intermediate_size=40, max_position_embeddings=32, rms_norm_eps=1e-6, rope_theta=500.0,
        tie_word_embeddings=False, pad_token_id=0, bos_token_id=0, eos_token_id=0))  # fmt: skip
    base = theirs.config.rope_parameters["rope_theta"]
    ours = Decoder(TransformerConfig(
        **SIZES, n_kv_heads=2, norm="rms", activation="swiglu", positions="rotary", rotary_pairs="halves",
        rotary_base=base, bias=False, norm_eps=1e-6,
    )).double()  # fmt: skip
    body = theirs.model
    copy_linear(ours.embedding, body.embed_tokens.weight)
    copy_linear(ours.head, theirs.lm_head.weight)
    copy_linear(ours.final_norm, body.norm.weight)
    for mine, layer in zip(ours.blocks, body.layers, strict=True):
        a, f, attention, mlp = mine.attention, mine.feed_forward, layer.self_attn, layer.mlp
        for module, source in (
            (mine.norm_1, layer.input_layernorm), (mine.norm_2, layer.post_attention_layernorm),
            (a.w_q, attention.q_proj), (a.w_k, attention.k_proj), (a.w_v, attention.v_proj), (a.w_o, attention.o_proj),
            (f.w_gate, mlp.gate_proj), (f.w_1, mlp.up_proj), (f.w_2, mlp.down_proj),
        ):  # fmt: skip
            copy_linear(module, source.weight)
    return ours.eval(), theirs


@pytest.mark.parametrize("pair", [gpt2_pair, llama_pair])
def test_decoders(pair):
    ours, theirs = pair()
    x = tokens(3, 9)
    expected = theirs(x, output_attentions=True)
    tolerance = EXACT if pair is gpt2_pair else {"rtol": 1e-4, "atol": 1e-4}  # LLaMA's angles are float32 there
    logits, weights = ours(x, need_weights=True)
    torch.testing.assert_close(logits, expected.logits, **tolerance)
    torch.testing.assert_close(ours(x), expected.logits, **tolerance)
    for mine, reference in zip(weights, expected.attentions, strict=True):
        torch.testing.assert_close(mine, reference, **tolerance)


@pytest.mark.parametrize("pair", [gpt2_pair, llama_pair])
@pytest.mark.parametrize("cache", [True, False])
def test_generation_of_a_padded_batch(pair, cache):
    ours, theirs = pair()
    theirs.set_attn_implementation("sdpa")  # the other one gives NaN for padding on the left in float64
    x, padding = tokens(4, 6), padding_mask([6, 3, 1, 5]).flip(1)
    expected = theirs.generate(
        x, attention_mask=padding.long(), max_new_tokens=12, do_sample=False, eos_token_id=None, pad_token_id=0
    )
    assert torch.equal(generate(ours, x, 12, padding=padding, cache=cache), expected)
