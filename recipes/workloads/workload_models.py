"""Dimensions of the models, and how many parameters they come to.

Field names are those of Hugging Face config.json files, so that a figure can be
looked up where it comes from. Nothing here needs PyTorch.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

from workload_common import USAGE, WorkloadError


@dataclasses.dataclass(frozen=True)
class DecoderConfig:
    """A decoder of the Llama kind, dense or with mixtures of experts."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    intermediate_size: int  # of a dense feed-forward network
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10000.0
    tie_word_embeddings: bool = False
    qkv_bias: bool = False
    o_bias: bool = False
    sliding_window: int = 0  # a limit of the context here: windows are not made; 0 is none
    qk_norm: bool = False  # RMSNorm of each head's query and key
    # Mixture of experts; 0 routed experts is a dense model.
    n_routed_experts: int = 0
    num_experts_per_tok: int = 0
    moe_intermediate_size: int = 0
    n_shared_experts: int = 0  # one network of this many times the width
    first_k_dense_replace: int = 0  # so many first layers are dense
    norm_topk_prob: bool = True  # the chosen experts' weights add up to 1
    router_fp32: bool = False

    def is_moe(self, layer: int) -> bool:
        return self.n_routed_experts > 0 and layer >= self.first_k_dense_replace


@dataclasses.dataclass(frozen=True)
class SamConfig:
    """The SAM image encoder, with the two convolutions DeepSeek-OCR adds."""

    image_size: int = 1024  # what the position table is made for
    patch_size: int = 16
    width: int = 768
    layers: int = 12
    heads: int = 12
    mlp_ratio: int = 4
    window_size: int = 14
    global_attn_indexes: Tuple[int, ...] = (2, 5, 8, 11)
    neck_channels: int = 256
    downsample_channels: Tuple[int, int] = (512, 1024)


@dataclasses.dataclass(frozen=True)
class ClipConfig:
    """CLIP's vision tower; its patches are SAM's features."""

    image_size: int = 224
    patch_size: int = 14
    width: int = 1024
    layers: int = 24
    heads: int = 16
    intermediate_size: int = 4096


@dataclasses.dataclass(frozen=True)
class OcrConfig:
    """DeepSeek-OCR: the encoder, a linear projector, the decoder."""

    decoder: DecoderConfig
    sam: SamConfig = SamConfig()
    clip: ClipConfig = ClipConfig()


# deepseek-ai/DeepSeek-OCR. The decoder: language_config of its config.json
# (vocab_size, hidden_size, num_hidden_layers, num_attention_heads,
# num_key_value_heads, intermediate_size, moe_intermediate_size,
# n_routed_experts, n_shared_experts, num_experts_per_tok,
# first_k_dense_replace; use_mla is false). Not said there, so the defaults of
# its DeepseekV2Config: rms_norm_eps 1e-6, rope_theta 10000, softmax scores that
# are not normalised, no scaling. head_dim is hidden_size / heads. SAM and CLIP:
# vision_config.width of the same file (width, layers, heads, global_attn_indexes,
# downsample_channels, image_size, patch_size) and, for window_size 14, neck 256
# and the widths of the feed-forward networks, its deepencoder.py. The projector:
# projector_config (linear, 2048 to 1280; 2048 is SAM's and CLIP's features side
# by side).
DEEPSEEK_OCR = OcrConfig(decoder=DecoderConfig(
    vocab_size=129280, hidden_size=1280, num_hidden_layers=12, num_attention_heads=10,
    num_key_value_heads=10, head_dim=128, intermediate_size=6848, rms_norm_eps=1e-6,
    rope_theta=10000.0, n_routed_experts=64, num_experts_per_tok=6, moe_intermediate_size=896,
    n_shared_experts=2, first_k_dense_replace=1, norm_topk_prob=False, router_fp32=True))

# The same structure in numbers a CPU gets through in a second: for tests.
TINY_OCR = OcrConfig(
    decoder=DecoderConfig(
        vocab_size=512, hidden_size=64, num_hidden_layers=3, num_attention_heads=2,
        num_key_value_heads=2, head_dim=32, intermediate_size=160, rms_norm_eps=1e-6,
        n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=32, n_shared_experts=2,
        first_k_dense_replace=1, norm_topk_prob=False, router_fp32=True),
    sam=SamConfig(image_size=128, width=32, layers=2, heads=2, window_size=3,
                  global_attn_indexes=(1,), neck_channels=16, downsample_channels=(32, 64)),
    clip=ClipConfig(image_size=28, width=64, layers=2, heads=4, intermediate_size=128))

# Name, what it and its variant are called in reports, dimensions. The figures are
# those of the config.json files of meta-llama/Meta-Llama-3-8B, Qwen/Qwen3-8B and
# mistralai/Mixtral-8x7B-v0.1. conf/model describes the same to llmprof; a test
# compares the two.
PRESETS: Dict[str, Tuple[str, str, DecoderConfig]] = {
    "llama3_8b": ("Llama-3", "8B", DecoderConfig(
        vocab_size=128256, hidden_size=4096, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=8, head_dim=128, intermediate_size=14336, rms_norm_eps=1e-5,
        rope_theta=500000.0)),
    "qwen3_8b": ("Qwen3", "8B", DecoderConfig(
        vocab_size=151936, hidden_size=4096, num_hidden_layers=36, num_attention_heads=32,
        num_key_value_heads=8, head_dim=128, intermediate_size=12288, rms_norm_eps=1e-6,
        rope_theta=1e6, qk_norm=True)),
    "mixtral_8x7b": ("Mixtral", "8x7B", DecoderConfig(
        vocab_size=32000, hidden_size=4096, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=8, head_dim=128, intermediate_size=14336, rms_norm_eps=1e-5,
        rope_theta=1e6, n_routed_experts=8, num_experts_per_tok=2,
        moe_intermediate_size=14336)),
    "tiny": ("tiny decoder", "dense", DecoderConfig(
        vocab_size=512, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, intermediate_size=176)),
    "tiny_moe": ("tiny decoder", "mixture of experts", DecoderConfig(
        vocab_size=512, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, intermediate_size=0, qk_norm=True,
        n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=48)),
}

# ---- config.json ----

# model_type -> the fields in which the family differs from Llama.
FAMILIES: Dict[str, Dict[str, Any]] = {
    "llama": {},
    "mistral": {},
    "qwen2": {"qkv_bias": True},
    "qwen3": {"qk_norm": True},
    "mixtral": {},
    "qwen3_moe": {"qk_norm": True},
}


def read_config(path: Path) -> Dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WorkloadError(f"{path}: {error}", USAGE) from error
    if not isinstance(config, dict):
        raise WorkloadError(f"{path}: an object is expected", USAGE)
    return config


class Fields:
    """Typed look-ups in a config.json; errors name the file and the key."""

    def __init__(self, path: Path, config: Dict[str, Any]):
        self.path, self.config = path, config

    def _error(self, key: str, problem: str) -> WorkloadError:
        return WorkloadError(f"{self.path}: {key}: {problem}", USAGE)

    def whole(self, key: str, default: Optional[int] = None) -> int:
        value = self.config.get(key)
        if value is None and default is not None:
            return default
        if value is None:
            raise self._error(key, "missing")
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._error(key, f"a whole number is expected, not {value!r}")
        return value

    def number(self, key: str, default: float) -> float:
        value = self.config.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
            raise self._error(key, f"a positive number is expected, not {value!r}")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        value = self.config.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self._error(key, f"true or false is expected, not {value!r}")
        return value


def experts_of(fields: Fields) -> Dict[str, Any]:
    """The mixture of experts of a Mixtral or Qwen3-MoE configuration."""
    if fields.config["model_type"] == "mixtral":
        return {"n_routed_experts": fields.whole("num_local_experts", 8),
                "num_experts_per_tok": fields.whole("num_experts_per_tok", 2),
                "moe_intermediate_size": fields.whole("intermediate_size")}
    if fields.whole("decoder_sparse_step", 1) != 1 or fields.config.get("mlp_only_layers"):
        raise WorkloadError(f"{fields.path}: decoder_sparse_step and mlp_only_layers: only models "
                            "with experts in every layer are known", USAGE)
    count = "num_experts" if "num_experts" in fields.config else "num_local_experts"
    return {"n_routed_experts": fields.whole(count),
            "num_experts_per_tok": fields.whole("num_experts_per_tok"),
            "moe_intermediate_size": fields.whole("moe_intermediate_size"),
            "norm_topk_prob": fields.flag("norm_topk_prob", False)}


def rope_theta_of(fields: Fields) -> float:
    """Of rope_parameters (transformers 5) or rope_theta. Scaling changes values, not work."""
    inner = fields.config.get("rope_parameters")
    if isinstance(inner, dict) and "rope_theta" in inner:
        return Fields(fields.path, inner).number("rope_theta", 10000.0)
    return fields.number("rope_theta", 10000.0)


def check_decoder(path: Path, config: DecoderConfig) -> None:
    for key in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
                "num_key_value_heads"):
        if getattr(config, key) < 1:
            raise WorkloadError(f"{path}: {key}: at least 1 is expected", USAGE)
    if config.head_dim < 2 or config.head_dim % 2:
        raise WorkloadError(f"{path}: head_dim: {config.head_dim} is not even", USAGE)
    if config.num_attention_heads % config.num_key_value_heads:
        raise WorkloadError(f"{path}: num_key_value_heads: does not divide num_attention_heads",
                            USAGE)
    if config.n_routed_experts and not 0 < config.num_experts_per_tok <= config.n_routed_experts:
        raise WorkloadError(f"{path}: num_experts_per_tok: not between 1 and the number of experts",
                            USAGE)
    width = config.moe_intermediate_size if config.n_routed_experts else config.intermediate_size
    if width < 1:
        raise WorkloadError(f"{path}: intermediate_size: at least 1 is expected", USAGE)


def decoder_from_file(path: Path) -> Tuple[str, DecoderConfig]:
    """The family's name and the dimensions that a config.json declares."""
    config = read_config(path)
    family = config.get("model_type")
    if family not in FAMILIES:
        raise WorkloadError(f"{path}: model_type: {family!r} is not one of {', '.join(FAMILIES)}; "
                            "--model-path runs others with transformers", USAGE)
    fields = Fields(path, config)
    hidden, heads = fields.whole("hidden_size"), fields.whole("num_attention_heads")
    experts = experts_of(fields) if family in ("mixtral", "qwen3_moe") else {}
    known = dict(FAMILIES[family], **experts)
    if family == "llama":
        known["qkv_bias"] = known["o_bias"] = fields.flag("attention_bias", False)
    if fields.flag("mlp_bias", False):
        raise WorkloadError(f"{path}: mlp_bias: biases in feed-forward networks are not known",
                            USAGE)
    if fields.flag("use_sliding_window", family in ("mistral", "mixtral")):
        known["sliding_window"] = fields.whole("sliding_window", 0)
    decoder = DecoderConfig(
        vocab_size=fields.whole("vocab_size"), hidden_size=hidden,
        num_hidden_layers=fields.whole("num_hidden_layers"), num_attention_heads=heads,
        num_key_value_heads=fields.whole("num_key_value_heads", heads),
        head_dim=fields.whole("head_dim", hidden // max(heads, 1)),
        intermediate_size=fields.whole("intermediate_size", 0),
        rms_norm_eps=fields.number("rms_norm_eps", 1e-6), rope_theta=rope_theta_of(fields),
        tie_word_embeddings=fields.flag("tie_word_embeddings", False), **known)
    check_decoder(path, decoder)
    return family, decoder


# ---- what metrics.json says of a model ----

def inactive_parameters(config: DecoderConfig) -> int:
    """Parameters of the experts that a token does not use."""
    layers = sum(config.is_moe(layer) for layer in range(config.num_hidden_layers))
    idle = config.n_routed_experts - config.num_experts_per_tok
    return layers * idle * 3 * config.hidden_size * config.moe_intermediate_size


def active_parameters(config: DecoderConfig, decoder_parameters: int) -> int:
    """Parameters that one decoded token is multiplied with.

    Not the embedding, of which it reads a row (unless that is also the output
    layer), nor the experts it is not sent to, nor an encoder's.
    """
    lookup = 0 if config.tie_word_embeddings else config.vocab_size * config.hidden_size
    return decoder_parameters - lookup - inactive_parameters(config)
