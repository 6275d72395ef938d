import hashlib
import importlib.util
import struct
import subprocess
import sys

import pytest
import torch
from carry import copy_linear, copy_pairs

from course_lib import pretrained
from course_lib.gguf import GGUF
from course_lib.models import Decoder, Encoder

SENTENCE = "The animal didn't cross the street because it was too tired."
PROMPTS = ("The capital of France is", "Water freezes at a temperature of", "Once upon a time, there was a")


@pytest.fixture(scope="module")
def minilm():
    return load(pretrained.load_minilm)


@pytest.fixture(scope="module")
def smollm2():
    return load(pretrained.load_smollm2, dtype=torch.float32)


def load(loader, **options):
    try:
        return loader(**options)
    except pretrained.Unavailable as missing:
        pytest.skip(str(missing))


@pytest.fixture
def transformers():
    return pytest.importorskip("transformers", reason="install the extra `peers`: pip install -e .[peers]")


def test_minilm_is_an_encoder_of_ours_with_its_tokenizer(minilm):
    model, tokenizer = minilm
    assert type(model) is Encoder and not model.training
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    tokens = tokenizer.encode(SENTENCE).tokens
    assert tokens[:3] == ["[CLS]", "the", "animal"] and tokens[-2:] == [".", "[SEP]"]
    assert len(tokenizer.encode("word " * 300).ids) == 302  # no truncation
    assert len({len(e.ids) for e in tokenizer.encode_batch(["one", "one two three"])}) == 2  # no padding


def test_minilm_looks_where_it_is_said_to_look(minilm):
    model, tokenizer = minilm
    encoding = tokenizer.encode(SENTENCE)
    with torch.no_grad():
        _, weights = model(torch.tensor([encoding.ids]), need_weights=True)
    previous = weights[0][0, 2].diagonal(-1)  # layer 1, head 3, counted from 1
    assert previous[1:].mean() > 0.98
    it, animal, street = (encoding.tokens.index(word) for word in ("it", "animal", "street"))
    assert weights[3][0, 1, it, animal] == pytest.approx(0.68, abs=0.01)  # layer 4, head 2
    assert weights[3][0, 1, it, street] == pytest.approx(0.05, abs=0.01)


def test_minilm_equals_transformers(minilm, transformers):
    model, tokenizer = minilm
    theirs = transformers.BertModel(transformers.BertConfig(
        hidden_size=384, num_hidden_layers=6, intermediate_size=1536, attn_implementation="eager")).eval()  # fmt: skip
    own = dict(model.named_parameters())
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            match = [ours for ours in own if pretrained.minilm_name(ours) == name]
            if match:
                parameter.copy_(own.pop(match[0]))
    assert not own  # every parameter of ours has its place in theirs
    encodings = tokenizer.encode_batch([SENTENCE, "It rains."])
    width = max(len(e.ids) for e in encodings)
    ids = torch.tensor([e.ids + [0] * (width - len(e.ids)) for e in encodings])
    padding = torch.tensor([[True] * len(e.ids) + [False] * (width - len(e.ids)) for e in encodings])
    with torch.no_grad():
        expected = theirs(ids, attention_mask=padding.long(), output_attentions=True)
        hidden, weights = model(ids, padding, need_weights=True)
        fused = model(ids, padding)
    assert (hidden - expected.last_hidden_state)[padding].abs().max() < 1e-5
    assert (fused - expected.last_hidden_state)[padding].abs().max() < 1e-5
    for ours, reference in zip(weights, expected.attentions, strict=True):
        assert (ours - reference).abs().max() < 1e-5


def test_smollm2_knows_the_capital_of_france(smollm2):
    model, tokenizer = smollm2
    assert type(model) is Decoder and not model.training
    ids = tokenizer.encode(PROMPTS[0]).ids
    assert tokenizer.decode(ids) == PROMPTS[0] and len(ids) == 5
    with torch.no_grad():
        best = model(torch.tensor([ids]))[0, -1].softmax(-1).max(-1)
    assert tokenizer.decode([best.indices.item()]) == " Paris" and best.values > 0.7


def test_smollm2_tokenizer_splits_digits_and_keeps_any_text(smollm2):
    _, tokenizer = smollm2
    for text in ("In 1984 it cost 12,50 €.", "  def f(x):\n\treturn x\n", "naïve 日本 🙂"):
        assert tokenizer.decode(tokenizer.encode(text).ids) == text
    assert [tokenizer.decode([i]) for i in tokenizer.encode("1984").ids] == list("1984")
    assert tokenizer.encode("<|im_start|>user").ids[0] == 1


def test_smollm2_equals_transformers_on_three_prompts(smollm2, transformers):
    model, tokenizer = smollm2
    theirs = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=49_152, hidden_size=576, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
        intermediate_size=1536, rope_theta=100_000.0, rms_norm_eps=1e-5, tie_word_embeddings=True,
        max_position_embeddings=8192)).eval()  # fmt: skip
    carry_smollm2(model, theirs)
    for prompt in PROMPTS:
        ids = torch.tensor([tokenizer.encode(prompt).ids])
        with torch.no_grad():
            ours, expected = model(ids)[0, -1], theirs(ids).logits[0, -1]
        assert ours.topk(5).indices.tolist() == expected.topk(5).indices.tolist(), prompt
        assert (ours - expected).abs().max() < 1e-3


def carry_smollm2(ours, theirs):
    """Ours rotates interleaved pairs; theirs halves: the rows of q and k go back to the order of the hub's files."""
    copy_linear(theirs.model.embed_tokens, ours.embedding.weight)
    with torch.no_grad():
        theirs.model.norm.weight.copy_(ours.final_norm.gamma)
        for mine, layer in zip(ours.blocks, theirs.model.layers, strict=True):
            attention, mlp, a, f = layer.self_attn, layer.mlp, mine.attention, mine.feed_forward
            layer.input_layernorm.weight.copy_(mine.norm_1.gamma)
            layer.post_attention_layernorm.weight.copy_(mine.norm_2.gamma)
            for linear, own, n_heads in ((attention.q_proj, a.w_q, 9), (attention.k_proj, a.w_k, 3)):
                pairs = own.weight.view(n_heads, 32, 2, 576)
                linear.weight.copy_(pairs.transpose(1, 2).reshape(n_heads * 64, 576))
            copy_pairs([(attention.v_proj, a.w_v), (attention.o_proj, a.w_o), (mlp.gate_proj, f.w_gate)])
            copy_pairs([(mlp.up_proj, f.w_1), (mlp.down_proj, f.w_2)])


def test_smollm2_in_bfloat16_has_the_same_favourites(smollm2):
    model, tokenizer = smollm2
    half, _ = load(pretrained.load_smollm2)
    assert {p.dtype for p in half.parameters()} == {torch.bfloat16}
    for prompt in PROMPTS:
        ids = torch.tensor([tokenizer.encode(prompt).ids])
        with torch.no_grad():
            ours, exact = half(ids)[0, -1], model(ids)[0, -1]
        assert ours.dtype == torch.float32 and ours.argmax() == exact.argmax()
        assert set(exact.topk(5).indices.tolist()) <= set(ours.topk(8).indices.tolist())  # the fifth may change place


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("loader, limit", [("load_minilm", 500e6), ("load_smollm2", 700 * 2**20)])
def test_memory_and_time_of_loading(loader, limit):
    load(getattr(pretrained, loader))
    script = f"""
import pathlib, re, time, torch
from course_lib import pretrained
torch.set_num_threads(1)
start = time.process_time()
model, tokenizer = pretrained.{loader}()
seconds = time.process_time() - start
with torch.no_grad():
    model(torch.arange(100, 116)[None])
status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
print(seconds, re.search(r"VmHWM:\\s+(\\d+) kB", status)[1])
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=200, check=True)
    seconds, peak = run.stdout.split()
    assert float(peak) * 1024 < limit
    assert float(seconds) < 1.5


@pytest.mark.parametrize("loader", [pretrained.load_minilm, pretrained.load_smollm2])
def test_without_the_package_one_line_says_what_to_run(loader, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(pretrained.Unavailable) as error:
        loader()
    assert isinstance(error.value, RuntimeError)
    assert "python3 -m course_lib models" in str(error.value) and "\n" not in str(error.value)


def fake_package(folder, name, content):
    path = folder / "a_fake_package" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    (folder / "a_fake_package" / "__init__.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    return path


def test_files_are_checked_by_hash_and_packages_never_imported(tmp_path, monkeypatch):
    path = fake_package(tmp_path, "weights.bin", b"weights")
    monkeypatch.syspath_prepend(str(tmp_path))
    right = hashlib.sha256(b"weights").hexdigest()
    assert pretrained.find("a_fake_package", "weights.bin", right) == path
    path.write_bytes(b"weightz")
    with pytest.raises(pretrained.Unavailable, match=r"damaged.*course_lib models"):
        pretrained.find("a_fake_package", "weights.bin", right)
    with pytest.raises(pretrained.Unavailable, match="not on this machine"):
        pretrained.find("a_fake_package", "other.bin", right)
    assert "a_fake_package" not in sys.modules


def gguf_bytes(tensors):
    """A GGUF file by hand: tensors is {name: (shape, type, raw bytes)}."""

    def text(s):
        return struct.pack("<Q", len(s.encode())) + s.encode()

    entries = text("name") + struct.pack("<I", 8) + text("tiny") + text("sizes") + struct.pack("<IIQ", 9, 4, 2)
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), 3) + entries + struct.pack("<II", 7, 9)
    head += text("ratio") + struct.pack("<If", 6, 0.5)
    data = b""
    for name, (shape, kind, raw) in tensors.items():
        head += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *reversed(shape))
        head += struct.pack("<IQ", kind, len(data))
        data += raw + b"\0" * (-len(raw) % 32)
    return head + b"\0" * (-len(head) % 32) + data


def test_gguf_reads_metadata_and_every_type_of_tensor(tmp_path):
    exact, eight_bit, four_bit = torch.randn(3, 5), list(range(-16, 16)), list(range(16)) * 2
    low, high = four_bit[:16], four_bit[16:]
    nibbles = bytes(a | b << 4 for a, b in zip(low, reversed(high), strict=True))
    tensors = {
        "float": ((3, 5), 0, struct.pack("<15f", *exact.flatten().tolist())),
        "half": ((4,), 1, struct.pack("<4e", 1.0, -2.5, 0.25, 8.0)),
        "eight": ((2, 32), 8, b"".join(struct.pack("<e32b", scale, *eight_bit) for scale in (0.5, 2.0))),
        "four": ((1, 32), 3, struct.pack("<ee", 0.25, -1.0) + nibbles),
        "unknown": ((1, 32), 12, b"\0" * 32),
    }
    (tmp_path / "tiny.gguf").write_bytes(gguf_bytes(tensors))
    file = GGUF(tmp_path / "tiny.gguf")
    assert file.metadata == {"name": "tiny", "sizes": [7, 9], "ratio": 0.5}
    expected = {
        "float": exact,
        "half": torch.tensor([1.0, -2.5, 0.25, 8.0]),
        "eight": torch.tensor([eight_bit, eight_bit]) * torch.tensor([[0.5], [2.0]]),
        "four": 0.25 * torch.tensor([low + high[::-1]]) - 1,
    }
    for name, values in expected.items():
        parameter = torch.nn.Parameter(torch.full_like(values, torch.nan))
        file.copy_into(name, parameter)
        assert torch.equal(parameter.detach(), values), name
    with pytest.raises(ValueError, match=r"four has the shape \(1, 32\), the parameter \(32,\)"):
        file.copy_into("four", torch.empty(32))
    with pytest.raises(ValueError, match="stored as type 12"):
        file.copy_into("unknown", torch.empty(1, 32))
    (tmp_path / "other.gguf").write_bytes(b"PK" + b"\0" * 40)
    with pytest.raises(ValueError, match="must be GGUF"):
        GGUF(tmp_path / "other.gguf")


def test_uninitialised_parameters_are_not_filled_and_have_the_dtype():
    state = torch.get_rng_state()
    with pretrained.Uninitialised(torch.bfloat16):
        layer, table = torch.nn.Linear(3, 4), torch.nn.Embedding(3, 4)
    assert layer.weight.dtype == layer.bias.dtype == table.weight.dtype == torch.bfloat16
    assert torch.equal(state, torch.get_rng_state())
    assert torch.nn.Linear(3, 4).weight.dtype == torch.float32
