"""What other libraries and books call otherwise: the course has one word for each thing, everywhere."""

import re

# names in code -> the course's name
OTHER_NAMES = {
    "num_heads": "n_heads",
    "n_head": "n_heads",
    "nheads": "n_heads",
    "nhead": "n_heads",
    "num_layers": "n_layers",
    "n_layer": "n_layers",
    "embed_dim": "d_model",
    "hidden_dim": "d_model",
    "hidden_size": "d_model",
    "n_embd": "d_model",
    "head_dim": "d_k",
    "d_head": "d_k",
    "dim_feedforward": "d_ff",
    "d_hidden": "d_ff",
    "seq_len": "T",
    "src_len": "S",
    "tgt_len": "T",
    "n_vocab": "vocab_size",
    "attn_mask": "mask",
    "key_padding_mask": "padding",
    "attn_weights": "weights",
    "attention_weights": "weights",
}
# words in prose -> the course's words; small letters only, since titles of papers have capitals
OTHER_WORDS = {
    "positional embedding": "position encoding",
    "hidden size": "d_model",
    "embedding dimension": "d_model",
    "head dimension": "d_k",
    "head size": "d_k",
    "attention scores": "scores",
    "attention matrix": "weights",
    "attention probabilities": "weights",
    "context vector": "output",
    "vocab size": "vocab_size",
    "timestep": "position",
    "skip connection": "residual stream",
}
FOREIGN = OTHER_NAMES | OTHER_WORDS
PATTERN = re.compile(rf"\b((?:{'|'.join(OTHER_NAMES)})\b|(?:{'|'.join(OTHER_WORDS)})(?=s?\b))")


def foreign(text):
    """["num_heads is called n_heads here", …] for each word of `text` that the course calls otherwise."""
    return [f"{word} is called {FOREIGN[word]} here" for word in dict.fromkeys(PATTERN.findall(text))]
