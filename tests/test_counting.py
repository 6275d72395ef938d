import pytest
import torch
from carry import small_config
from torch import nn

from course_lib.blocks import DecoderBlock, EncoderBlock
from course_lib.counting import PUBLISHED, block_count, encoder_block_param_count, parameter_table
from course_lib.heads import VisionTransformer
from course_lib.models import Decoder, Encoder, EncoderDecoder

VARIANTS = [
    {},
    {"bias": False},
    {"norm": "rms", "activation": "swiglu", "n_kv_heads": 2},
    {"positions": "learned", "n_token_types": 3, "embedding_norm": True, "norm_first": False},
    {"tie_embeddings": True, "n_kv_heads": 1, "norm": "rms", "bias": False},
]


def size(module):
    return sum(p.numel() for p in module.parameters())


def on_paper_only(make):
    """A module whose tensors take no memory: the largest models can be counted too."""
    with torch.device("meta"):
        return make()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("n_heads", [1, 2, 4, 8])
def test_block_formula_equals_what_torch_counts(bias, n_heads):
    theirs = nn.TransformerEncoderLayer(24, n_heads, 50, bias=bias)
    assert encoder_block_param_count(24, n_heads, 50, bias) == size(theirs)


def test_block_formula_refuses_heads_that_do_not_divide():
    with pytest.raises(ValueError, match="n_heads = 5, d_model = 24"):
        encoder_block_param_count(24, 5, 50)


@pytest.mark.parametrize("changes", VARIANTS)
def test_tables_equal_what_torch_counts(changes):
    config = small_config(**changes)
    for kind, name in ((Encoder, "encoder"), (Decoder, "decoder"), (EncoderDecoder, "encoder-decoder")):
        assert sum(parameter_table(config, name).values()) == size(kind(config)), name
    assert block_count(config) == size(EncoderBlock(config))
    assert block_count(config, cross=True) == size(DecoderBlock(config))
    with pytest.raises(ValueError, match="got 'vision'"):
        parameter_table(config, "vision")


def test_tables_name_the_parts_rightly():
    config = small_config(positions="learned", n_token_types=2)
    model, table = Decoder(config), parameter_table(config, "decoder")
    assert table["attention"] == sum(size(block.attention) for block in model.blocks)
    assert table["feed-forward"] == sum(size(block.feed_forward) for block in model.blocks)
    assert table["positions"] == size(model.positions) and table["token types"] == size(model.token_types)
    assert table["token embedding"] == size(model.embedding) and table["output head"] == size(model.head)


@pytest.mark.parametrize(
    "name, total",
    [
        ("original base", 63_082_496),
        ("BERT-base", 109_482_240),
        ("GPT-2 small", 124_439_808),
        ("GPT-2 medium", 354_823_168),
        ("GPT-2 large", 774_030_080),
        ("GPT-2 XL", 1_557_611_200),
        ("T5-small", 60_506_624),
        ("T5-base", 222_903_552),
        ("ViT-B/16", 86_567_656),
        ("SmolLM2-135M", 134_515_008),
    ],
)
def test_published_totals(name, total):
    assert PUBLISHED[name].total() == total


@pytest.mark.parametrize("name", [name for name in PUBLISHED if name != "ViT-B/16"])
def test_published_models_can_be_built_and_counted(name):
    published = PUBLISHED[name]
    kind = {"encoder": Encoder, "decoder": Decoder, "encoder-decoder": EncoderDecoder}[published.kind]
    built = size(on_paper_only(lambda: kind(published.config)))
    assert built + sum(published.extra.values()) == published.total()


def test_vit_can_be_built_and_counted():
    published = PUBLISHED["ViT-B/16"]
    vit = on_paper_only(lambda: VisionTransformer(published.config, 1000, patch_size=16, n_channels=3))
    assert size(vit) == published.total()


def test_the_shares_that_the_course_states():
    bert, gpt2, minilm = (PUBLISHED[name] for name in ("BERT-base", "GPT-2 small", "all-MiniLM-L6-v2"))
    assert 12 * block_count(bert.config) == 12 * block_count(gpt2.config) == 85_054_464
    assert gpt2.table()["feed-forward"] / gpt2.total() == pytest.approx(0.455, abs=0.001)
    assert minilm.table()["feed-forward"] / minilm.total() == pytest.approx(0.31, abs=0.005)
    assert minilm.table()["token embedding"] / minilm.total() == pytest.approx(0.52, abs=0.005)


def test_transformers_count_the_same():
    transformers = pytest.importorskip("transformers", reason="install the extra `peers`: pip install -e .[peers]")
    theirs = {
        "BERT-base": (transformers.BertModel, transformers.BertConfig()),
        "GPT-2 small": (transformers.GPT2LMHeadModel, transformers.GPT2Config()),
        "T5-small": (transformers.T5ForConditionalGeneration, transformers.T5Config(vocab_size=32_128)),
        "ViT-B/16": (transformers.ViTForImageClassification, transformers.ViTConfig(num_labels=1000)),
    }
    for name, (kind, config) in theirs.items():
        assert size(on_paper_only(lambda kind=kind, config=config: kind(config))) == PUBLISHED[name].total(), name
