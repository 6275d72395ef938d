"""How many parameters a Transformer has, on paper: by formula, part by part, for our configs and for
published models.

`parameter_table` equals what torch counts in our models (a test). Where a published model has parts that ours
lack, `PUBLISHED` lists them by name.
"""

from dataclasses import dataclass, field, replace

from course_lib.models import TransformerConfig


def encoder_block_param_count(d_model, n_heads, d_ff, bias=True):
    """Parameters of one encoder block: four projections, two feed-forward matrices, two norms.

    The number of heads does not change the count. bias=False drops the linear biases and the norms' shifts.
    Raises ValueError if n_heads does not divide d_model.
    """
    if d_model % n_heads != 0:
        raise ValueError(f"n_heads must divide d_model; got n_heads = {n_heads}, d_model = {d_model}")
    attention = 4 * d_model * d_model
    feed_forward = 2 * d_model * d_ff
    norms = 2 * d_model
    shifts = 4 * d_model + (d_ff + d_model) + 2 * d_model
    return attention + feed_forward + norms + (shifts if bias else 0)


def linear_count(n_in, n_out, bias=True):
    return n_in * n_out + (n_out if bias else 0)


def attention_count(config):
    """Queries and output are as wide as the model, keys and values as wide as their heads together."""
    d, d_kv = config.d_model, config.d_model // config.n_heads * (config.n_kv_heads or config.n_heads)
    return 2 * linear_count(d, d, config.bias) + 2 * linear_count(d, d_kv, config.bias)


def feed_forward_count(config):
    """Up and down, and once more up where there is a gate."""
    ups = 2 if config.activation == "swiglu" else 1
    up = linear_count(config.d_model, config.d_ff, config.bias)
    down = linear_count(config.d_ff, config.d_model, config.bias)
    return ups * up + down


def norm_count(config):
    return config.d_model * (2 if config.norm == "layer" and config.bias else 1)


def stack_table(config, cross=False):
    """The parts of a stack of blocks, with cross-attention or without: {part: parameters}."""
    norms = config.n_layers * (3 if cross else 2) + config.embedding_norm + config.norm_first
    return {
        "token embedding": config.vocab_size * config.d_model,
        "positions": config.max_len * config.d_model if config.positions == "learned" else 0,
        "token types": config.n_token_types * config.d_model,
        "attention": config.n_layers * attention_count(config),
        "cross-attention": config.n_layers * attention_count(config) if cross else 0,
        "feed-forward": config.n_layers * feed_forward_count(config),
        "norms": norms * norm_count(config),
    }


def parameter_table(config, kind="encoder"):
    """Parameters part by part, {part: count}, of a model of models.py: `sum(table.values())` is the model's
    size.

    kind: "encoder", "decoder" or "encoder-decoder", which shares config between its halves.
    Raises ValueError for another kind.
    """
    head = 0 if config.tie_embeddings else config.vocab_size * config.d_model
    if kind == "encoder":
        return stack_table(config)
    if kind == "decoder":
        return {**stack_table(config), "output head": head}
    if kind != "encoder-decoder":
        raise ValueError(f"kind must be 'encoder', 'decoder' or 'encoder-decoder'; got {kind!r}")
    encoder, decoder = stack_table(config), stack_table(config, cross=True)
    both = {part: encoder[part] + decoder[part] for part in encoder}
    if config.tie_embeddings:
        both["token embedding"] = encoder["token embedding"]
    return {**both, "output head": head}


def block_count(config, cross=False):
    """Parameters of one block: an encoder's, or with cross=True that of an encoder–decoder's decoder."""
    norms = (3 if cross else 2) * norm_count(config)
    return (2 if cross else 1) * attention_count(config) + feed_forward_count(config) + norms


@dataclass(frozen=True)
class Published:
    """A published model: our config for it, what it has besides, and the total that is printed for it."""

    config: TransformerConfig
    kind: str
    extra: dict = field(default_factory=dict)  # {part: parameters} that our classes do not have
    printed: str = ""  # as the paper or the model's card says it
    note: str = ""

    def table(self):
        """{part: parameters}; parts of size 0 are left out."""
        return {part: n for part, n in {**parameter_table(self.config, self.kind), **self.extra}.items() if n}

    def total(self):
        return sum(self.table().values())


def gpt2(d_model, n_heads, n_layers, printed, note=""):
    """Radford et al. 2019: pre-norm, learned positions, tied embeddings, GELU by its tanh formula."""
    config = TransformerConfig(
        vocab_size=50_257, d_model=d_model, n_heads=n_heads, n_layers=n_layers, d_ff=4 * d_model,
        max_len=1024, positions="learned", tie_embeddings=True, activation="gelu_tanh",
    )  # fmt: skip
    return Published(config, "decoder", printed=printed, note=note)


def t5(d_model, n_heads, n_layers, d_ff, printed):
    """Raffel et al. 2020: RMSNorm, no biases, one embedding matrix for all; relative positions in each stack.
    """
    config = TransformerConfig(
        vocab_size=32_128, d_model=d_model, n_heads=n_heads, n_layers=n_layers, d_ff=d_ff, max_len=512,
        norm="rms", activation="relu", positions="none", tie_embeddings=True, bias=False, norm_eps=1e-6,
    )  # fmt: skip
    relative_positions = {"relative positions": 2 * 32 * n_heads}  # 32 ranges of distance, two stacks
    return Published(config, "encoder-decoder", relative_positions, printed)


def original(d_model, n_heads, d_ff, printed):
    """Vaswani et al. 2017: post-norm, sinusoidal positions, 37,000 shared tokens, one matrix for all three
    uses.
    """
    config = TransformerConfig(
        vocab_size=37_000, d_model=d_model, n_heads=n_heads, n_layers=6, d_ff=d_ff, max_len=512,
        norm_first=False, activation="relu", tie_embeddings=True, scale_embedding=True, dropout=0.1,
    )  # fmt: skip
    note = "with all biases; no vocabulary size gives both printed totals, of base and of big"
    return Published(config, "encoder-decoder", printed=printed, note=note)


BERT_BASE = TransformerConfig(  # Devlin et al. 2019
    vocab_size=30_522, d_model=768, n_heads=12, n_layers=12, d_ff=3072, max_len=512, norm_first=False,
    positions="learned", embedding_norm=True, n_token_types=2, norm_eps=1e-12,
)  # fmt: skip
MINILM = replace(BERT_BASE, d_model=384, n_layers=6, d_ff=1536)  # Wang et al. 2020
VIT_B16 = TransformerConfig(  # Dosovitskiy et al. 2021: 14 × 14 patches and [CLS]
    vocab_size=0, d_model=768, n_heads=12, n_layers=12, d_ff=3072, max_len=197, positions="learned",
    norm_eps=1e-6,
)  # fmt: skip
VIT_PARTS = {"patches": linear_count(3 * 16 * 16, 768), "[CLS]": 768, "classes": linear_count(768, 1000)}
SMOLLM2 = TransformerConfig(  # Ben Allal et al. 2025
    vocab_size=49_152, d_model=576, n_heads=9, n_kv_heads=3, n_layers=30, d_ff=1536, max_len=8192, norm="rms",
    activation="swiglu", positions="rotary", rotary_base=100_000.0, tie_embeddings=True, bias=False,
)  # fmt: skip

PUBLISHED = {
    "original base": original(512, 8, 2048, "65 M"),
    "original big": original(1024, 16, 4096, "213 M"),
    "BERT-base": Published(BERT_BASE, "encoder", {"pooler": linear_count(768, 768)}, "110 M"),
    "all-MiniLM-L6-v2": Published(MINILM, "encoder", {"pooler": linear_count(384, 384)}, "22.7 M"),
    "GPT-2 small": gpt2(768, 12, 12, "124 M", "the paper prints 117 M"),
    "GPT-2 medium": gpt2(1024, 16, 24, "355 M", "the paper prints 345 M"),
    "GPT-2 large": gpt2(1280, 20, 36, "774 M", "the paper prints 762 M"),
    "GPT-2 XL": gpt2(1600, 25, 48, "1.5 B"),
    "T5-small": t5(512, 8, 6, 2048, "60 M"),
    "T5-base": t5(768, 12, 12, 3072, "220 M"),
    "ViT-B/16": Published(VIT_B16, "encoder", VIT_PARTS, "86 M"),
    "SmolLM2-135M": Published(SMOLLM2, "decoder", printed="135 M"),
}
