"""DeepSeek-OCR from a checkpoint.

transformers  the checkpoint's own code (it must be trusted), as its users run
              it; hooks mark the parts of prefill
native        its weights in the architecture of deepseek_ocr_model.py: needs no
              other code, and can be captured and compiled
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from workload_checkpoint import fill, load_pretrained, refuse_own_options
from workload_common import USAGE, WorkloadError
from workload_decoder import count_parameters
from workload_engine import Session
from deepseek_ocr_model import DeepseekOcr, OcrInputs
from workload_models import OcrConfig, read_config

# What stands in the prompt for an image's features.
IMAGE_TOKEN = 128815

# Part of prefill -> the checkpoint's module.
PARTS = {"sam": "sam_model", "clip": "vision_model", "projector": "projector"}


class RemoteSession(Session):
    """The published model code, driven by hand instead of by its infer()."""

    def __init__(self, args: argparse.Namespace, model: Any, image_tokens: int):
        super().__init__(args)
        refuse_own_options(args)
        if args.kv_cache == "static":
            raise WorkloadError("a checkpoint's own code has no static cache: --compile, "
                                "--cuda-graph and --kv-cache static need --loader native", USAGE)
        self.model, self.image_tokens = model, image_tokens
        self.past: Any = None
        self.stage: Callable = None  # type: ignore[assignment]
        self.open: List[Any] = []
        for name, attribute in PARTS.items():
            self.watch(name, attribute)

    def watch(self, name: str, attribute: str) -> None:
        module = getattr(getattr(self.model, "model", None), attribute, None)
        if not isinstance(module, torch.nn.Module):
            raise WorkloadError(f"{self.args.model_path}: {type(self.model).__name__} has no "
                                f"model.{attribute}: it is not DeepSeek-OCR", USAGE)

        def enter(*_: Any) -> None:
            self.open.append(self.stage(name))
            self.open[-1].__enter__()

        def leave(*_: Any) -> None:
            self.open.pop().__exit__(None, None, None)

        module.register_forward_pre_hook(enter)
        module.register_forward_hook(leave)

    def restart(self) -> None:
        self.past = None

    def first(self, inputs: OcrInputs, stage: Callable) -> torch.Tensor:
        self.stage = stage
        return self.forward(**self.prompt(inputs))

    def prompt(self, inputs: OcrInputs) -> Dict[str, Any]:
        """What the model's forward takes: image tokens after the first token of the text."""
        device, dtype = self.model.device, self.model.dtype
        batch, text = len(inputs.pixels), inputs.text.to(device)
        image = torch.full((batch, self.image_tokens), IMAGE_TOKEN, device=device)
        ids = torch.cat((text[:, :1], image, text[:, 1:]), dim=1)
        pixels = inputs.pixels.to(device, dtype)
        tiles = torch.zeros_like(pixels) if inputs.tiles is None \
            else inputs.tiles.to(device, dtype)
        views = list(zip(tiles.chunk(batch), pixels.chunk(batch)))
        crops = torch.tensor([[max(inputs.columns, 1), max(inputs.rows, 1)]] * batch)
        return {"input_ids": ids, "images": views, "images_seq_mask": ids == IMAGE_TOKEN,
                "images_spatial_crop": crops}

    def compute(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.forward(input_ids=tokens)

    def forward(self, **inputs: Any) -> torch.Tensor:
        out = self.model(past_key_values=self.past, use_cache=True, return_dict=True, **inputs)
        self.past = out.past_key_values
        return out.logits[:, -1:].argmax(-1)


def describe_loaded(model: Any, folder: Path, known: Dict[str, Any],
                    config: OcrConfig) -> Dict[str, Any]:
    """The identity of a loaded model: counted, and what is known only if it is the same."""
    parameters = dict(known["parameters"], total=count_parameters(model))
    if mismatch(folder, config) is None:
        return dict(known, parameters=parameters)
    parameters.update(active=None, decoder=None)
    declared = dict(read_config(folder / "config.json").get("language_config") or {})
    declared["vocab_size"] = model.get_input_embeddings().num_embeddings
    return dict(known, variant="", parameters=parameters, architecture=declared)


def load_remote(args: argparse.Namespace, device: torch.device, dtype: torch.dtype) -> Any:
    try:
        return load_pretrained("AutoModel", args, device, dtype)
    except WorkloadError as error:
        raise WorkloadError(f"{error}. --loader native reads the weights without that code",
                            error.status) from error


# ---- native ----

def place(name: str) -> Tuple[str, Any]:
    """Where a tensor of the published checkpoint goes in DeepseekOcr."""
    name = name[len("model."):] if name.startswith("model.") else name
    expert = re.fullmatch(r"(layers\.\d+\.mlp\.experts)\.(\d+)\.(\w+)\.weight", name)
    if expert:
        return f"decoder.{expert.group(1)}.{expert.group(3)}", int(expert.group(2))
    if name.split(".")[0] in ("layers", "norm", "embed_tokens", "lm_head"):
        return f"decoder.{name}", None
    return name, None


def load_native(args: argparse.Namespace, model: DeepseekOcr) -> None:
    """Fill a model that has memory with the checkpoint's weights."""
    fill(model, args.model_path, place)


def mismatch(folder: Path, config: OcrConfig) -> Optional[str]:
    """The first dimension in which the checkpoint's decoder is another; None when none is."""
    path = folder / "config.json"
    declared = read_config(path).get("language_config")
    if not isinstance(declared, dict):
        return f"{path}: language_config: missing; it is not DeepSeek-OCR"
    for key in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
                "intermediate_size", "moe_intermediate_size", "n_routed_experts",
                "n_shared_experts", "num_experts_per_tok", "first_k_dense_replace"):
        wanted = getattr(config.decoder, key)
        if declared.get(key) != wanted:
            return (f"{path}: language_config.{key}: {declared.get(key)!r}, where the built-in "
                    f"architecture has {wanted}")
    return None


def check_native(folder: Path, config: OcrConfig) -> None:
    problem = mismatch(folder, config)
    if problem:
        raise WorkloadError(problem, USAGE)
