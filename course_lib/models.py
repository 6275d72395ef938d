"""Three assemblies of the same parts: encoder, decoder, encoder–decoder. heads.py puts labels on them."""

import math
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from course_lib import positions
from course_lib.blocks import ACTIVATIONS, DecoderBlock, EncoderBlock, make_dropout, make_norm

NORMS = ("layer", "rms")
POSITIONS = ("sinusoidal", "learned", "rotary", "alibi", "none")
PAIRS = ("interleaved", "halves")


@dataclass
class TransformerConfig:
    """What distinguishes one Transformer from another. Raises ValueError for what does not exist or fit."""

    vocab_size: int  # tokens known; 0 where the input is always embedded already
    d_model: int  # width of the residual stream
    n_heads: int
    n_layers: int
    d_ff: int  # hidden width of the feed-forward
    max_len: int  # rows of the learned positions; the other kinds have no limit
    n_kv_heads: int | None = None  # fewer key-value heads than query heads: grouped queries
    norm_first: bool = True  # pre-norm; False: post-norm, as in the original and in BERT
    norm: str = "layer"  # or "rms"
    activation: str = "gelu"  # or "relu", "gelu_tanh", "swiglu"
    positions: str = "sinusoidal"  # or "learned", "rotary", "alibi", "none"
    tie_embeddings: bool = False  # the output head is the embedding matrix
    dropout: float = 0.0  # after the embedding and after each sublayer
    bias: bool = True  # in the linear layers and the norms
    norm_eps: float = 1e-5
    rotary_base: float = 10000.0
    rotary_pairs: str = "interleaved"  # or "halves"
    scale_embedding: bool = False  # times √d_model, as in the original
    embedding_norm: bool = False  # a norm right after the embedding, as in BERT
    n_token_types: int = 0  # BERT's segments

    def __post_init__(self):
        n_kv_heads = self.n_heads if self.n_kv_heads is None else self.n_kv_heads
        if self.d_model % self.n_heads or self.n_heads % n_kv_heads:
            raise ValueError(
                "n_heads must divide d_model, and n_kv_heads must divide n_heads; "
                f"got d_model = {self.d_model}, n_heads = {self.n_heads}, n_kv_heads = {n_kv_heads}"
            )
        known = {"norm": NORMS, "activation": ACTIVATIONS, "positions": POSITIONS, "rotary_pairs": PAIRS}
        for field, values in known.items():
            if getattr(self, field) not in values:
                raise ValueError(f"{field} must be one of {', '.join(values)}; got {getattr(self, field)!r}")


class Stack(nn.Module):
    """Embedding, positions, blocks, final norm: what the models below have in common."""

    def __init__(self, config, block, causal):
        super().__init__()
        self.config, self.causal = config, causal
        self.embedding = nn.Embedding(config.vocab_size, config.d_model) if config.vocab_size else None
        n_types = config.n_token_types
        self.token_types = nn.Embedding(n_types, config.d_model) if n_types else None
        self.positions = make_positions(config, causal)
        self.embedding_norm = make_norm(config) if config.embedding_norm else nn.Identity()
        self.dropout = make_dropout(config)
        self.blocks = nn.ModuleList(block(config) for _ in range(config.n_layers))
        self.final_norm = make_norm(config) if config.norm_first else nn.Identity()
        self.init_embeddings()

    def init_embeddings(self):
        """Token vectors of size 1 a feature; small where they are the head too: the loss starts at ln V."""
        std = embedding_std(self.config)
        learned = [self.positions.table] if self.config.positions == "learned" else []
        for table in [self.embedding, self.token_types, *learned]:
            if table is not None:
                nn.init.normal_(table.weight, std=std)

    def embed(self, tokens, padding=None, start=0, token_types=None):
        """Ids (B, T), or vectors (B, T, d_model) already embedded, -> the residual stream, positions added.

        padding (B, S) covers the tokens before these as well. Returns (x, positions for attention or None).
        """
        x = tokens if tokens.is_floating_point() else self.look_up(tokens)
        if self.token_types is not None:
            x = x + (self.token_types.weight[0] if token_types is None else self.token_types(token_types))
        at = positions.position_ids(x.shape[1], start, padding)
        x = self.positions.add(x, at)
        return self.dropout(self.embedding_norm(x)), self.positions.inside(at, x)

    def look_up(self, tokens):
        """Ids (B, T) -> their vectors (B, T, d_model), scaled where the config says so."""
        if self.embedding is None:
            raise ValueError("vocab_size = 0: this model takes embedded input (B, T, d_model), not token ids")
        x = self.embedding(tokens)
        return x * math.sqrt(self.config.d_model) if self.config.scale_embedding else x

    def hidden(self, tokens, padding=None, need_weights=False, edit_weights=None, cache=None,
               token_types=None):  # fmt: skip
        """The last hidden states (B, T, d_model), final norm included; the options are those of `Encoder`."""
        start = 0 if cache is None else cache.length
        if cache is not None:
            padding = cache.extend_padding(padding, tokens)
        x, inside = self.embed(tokens, padding, start, token_types)
        weights = []
        for layer, block in enumerate(self.blocks):
            wanted = layer_wanted(need_weights, layer)
            edit = None if edit_weights is None else partial(edit_weights, layer)
            x = block(x, padding=padding, causal=self.causal, need_weights=wanted, positions=inside,
                      cache=None if cache is None else cache.layer(layer), edit=edit)  # fmt: skip
            x, layer_weights = x if wanted else (x, None)
            weights.append(layer_weights)
        x = self.final_norm(x)
        return (x, weights) if need_weights is not False else x


class Encoder(Stack):
    """Every token sees every token: for understanding a sequence that is there as a whole."""

    def __init__(self, config):
        super().__init__(config, EncoderBlock, causal=False)

    def forward(self, tokens, padding=None, need_weights=False, edit_weights=None, token_types=None):
        """tokens (B, T), or (B, T, d_model) already embedded, -> hidden (B, T, d_model), final norm included.

        padding: bool (B, T), True = real token. need_weights=True: (hidden, [weights (B, h, T, T) per
        layer]); a list of layers, counted from 0: None for the others. edit_weights(layer, weights) ->
        weights replaces a layer's weights. token_types (B, T): BERT's segments, 0 where not given. Positions
        are added to embedded input too.
        """
        return self.hidden(tokens, padding, need_weights, edit_weights, token_types=token_types)


class Decoder(Stack):
    """Every token sees itself and the past: for continuing a sequence. `hidden` stops before the head."""

    def __init__(self, config):
        super().__init__(config, EncoderBlock, causal=True)
        self.head = make_head(config, self.embedding)

    def forward(self, tokens, padding=None, cache=None, need_weights=False, edit_weights=None):
        """tokens (B, T) -> logits (B, T, vocab_size); row t is about token t + 1. Causal in train and eval.

        cache: a generation.KVCache with the tokens before these; then padding is that of the new tokens, or
        of all. need_weights, edit_weights: as in `Encoder`; need_weights=True gives (logits, weights).
        """
        result = self.hidden(tokens, padding, need_weights, edit_weights, cache)
        return self.head(result) if need_weights is False else (self.head(result[0]), result[1])


class CrossDecoder(Stack):
    """The decoder half of an encoder–decoder: it sees its own past and all of the encoder's output."""

    def __init__(self, config):
        super().__init__(config, DecoderBlock, causal=True)
        self.head = make_head(config, self.embedding)

    def hidden(self, tokens, memory, padding=None, memory_padding=None, cache=None, need_weights=False):
        """tokens (B, T), memory (B, S, d_model) -> (hidden, [self-attention weights], [cross weights]).

        One entry per layer, None where need_weights does not ask for it.
        """
        start = 0 if cache is None else cache.length
        if cache is not None:
            padding = cache.extend_padding(padding, tokens)
        x, inside = self.embed(tokens, padding, start)
        seen = []
        for layer, block in enumerate(self.blocks):
            wanted = layer_wanted(need_weights, layer)
            x = block(x, memory, padding, memory_padding, need_weights=wanted, positions=inside,
                      cache=None if cache is None else cache.layer(layer),
                      memory_cache=None if cache is None else cache.memory(layer))  # fmt: skip
            x, *layer_weights = x if wanted else (x, None, None)
            seen.append(layer_weights)
        return self.final_norm(x), [own for own, _ in seen], [cross for _, cross in seen]


class EncoderDecoder(nn.Module):
    """An encoder reads the source, a decoder writes the target: for mapping one sequence to another.

    decoder_config: where the target has a vocabulary or a depth of its own. Without it both share config, and
    with tie_embeddings also one embedding matrix, as in the original. Source: Vaswani et al. 2017, section 3.
    """

    def __init__(self, config, decoder_config=None):
        super().__init__()
        self.encoder = Encoder(config)
        self.decoder = CrossDecoder(decoder_config or config)
        if decoder_config is None and config.tie_embeddings:
            self.encoder.embedding = self.decoder.embedding

    def encode(self, source, source_padding=None, need_weights=False):
        """source (B, S) -> memory (B, S, d_model): once for a sequence, however long the target grows."""
        return self.encoder(source, source_padding, need_weights)

    def decode(self, target, memory, source_padding=None, target_padding=None, cache=None):
        """target (B, T), memory from `encode` -> logits (B, T, vocab_size). cache: a generation.KVCache."""
        x, _, _ = self.decoder.hidden(target, memory, target_padding, source_padding, cache)
        return self.decoder.head(x)

    def forward(self, source, target, source_padding=None, target_padding=None, need_weights=False):
        """source (B, S); target (B, T), the decoder's input, already shifted -> logits (B, T, vocab_size).

        Paddings: bool, True = real token. need_weights=True: (logits, {"encoder": [(B, h, S, S) per layer],
        "decoder": [(B, h, T, T)], "cross": [(B, h, T, S)]}); a list of layers as in `Encoder`.
        """
        if need_weights is False:
            return self.decode(target, self.encode(source, source_padding), source_padding, target_padding)
        memory, encoder = self.encode(source, source_padding, need_weights)
        x, own, cross = self.decoder.hidden(
            target, memory, target_padding, source_padding, need_weights=need_weights
        )
        return self.decoder.head(x), {"encoder": encoder, "decoder": own, "cross": cross}


def make_positions(config, causal):
    """The kind of positions that a config asks for."""
    kinds = {
        "none": positions.Positions,
        "sinusoidal": positions.Sinusoidal,
        "learned": lambda: positions.Learned(config.max_len, config.d_model),
        "rotary": lambda: positions.Rotary(config.rotary_base, config.rotary_pairs),
        "alibi": lambda: positions.Alibi(config.n_heads, causal),
    }
    return kinds[config.positions]()


def embedding_std(config):
    """Standard deviation of a new embedding matrix."""
    if config.tie_embeddings:
        return head_std(config)
    return config.d_model**-0.5 if config.scale_embedding else 1.0


def head_std(config):
    """So small that logits start with a standard deviation of 0.2: then the first loss is ln V + 0.02."""
    return 0.2 * config.d_model**-0.5


class Head(nn.Linear):
    """Hidden state -> logits. Those of a half-precision model are float32: rounded ones tie too often."""

    def forward(self, x):
        if self.weight.dtype not in (torch.bfloat16, torch.float16):
            return super().forward(x)
        rows = 256 if x.is_cpu else self.out_features  # few at a time: never the whole matrix in float32
        pieces = [F.linear(x.float(), piece.float()) for piece in self.weight.split(rows)]
        return torch.cat(pieces, dim=-1)


def make_head(config, embedding):
    """A head without bias: the embedding matrix where the config ties them, else a matrix of its own."""
    head = Head(config.d_model, config.vocab_size, bias=False)
    if config.tie_embeddings:
        head.weight = embedding.weight
    else:
        nn.init.normal_(head.weight, std=head_std(config))
    return head


def layer_wanted(need_weights, layer):
    """Whether a layer's weights were asked for: need_weights is True, False or a list of layers from 0."""
    return need_weights if isinstance(need_weights, bool) else layer in need_weights
