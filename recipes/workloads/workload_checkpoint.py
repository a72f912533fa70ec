"""Models from a checkpoint: with transformers, or straight from its weights."""

from __future__ import annotations

import argparse
import inspect
import json
import mmap
import struct
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Sequence, Tuple

import torch

import workload_common as common
from workload_common import FAILED, USAGE, WorkloadError
from workload_engine import Session, cache_length

# ---- transformers ----

def load_pretrained(auto_class: str, args: argparse.Namespace, device: torch.device,
                    dtype: torch.dtype) -> Any:
    """transformers.<auto_class>.from_pretrained of --model-path, ready to run."""
    transformers = common.require_transformers()
    keyword = "dtype" if int(transformers.__version__.split(".")[0]) >= 5 else "torch_dtype"
    try:
        model = getattr(transformers, auto_class).from_pretrained(
            str(args.model_path), trust_remote_code=args.trust_remote_code,
            attn_implementation=args.attention, local_files_only=True, **{keyword: dtype})
    except (ImportError, OSError, RuntimeError, ValueError, KeyError, TypeError,
            AttributeError) as error:
        raise WorkloadError(f"{args.model_path}: transformers {transformers.__version__} cannot "
                            f"load it: {reason(error, args)}", FAILED) from error
    return model.to(device).requires_grad_(False).eval()


def reason(error: BaseException, args: argparse.Namespace) -> str:
    text = common.first_line(error)
    if "trust_remote_code" in str(error) and not args.trust_remote_code:
        return ("it brings Python code of its own, which is run only with --trust-remote-code; "
                "read that code first")
    return text


def refuse_own_options(args: argparse.Namespace) -> None:
    if args.experts != "loop":
        raise WorkloadError("--experts is for the built-in decoder; a checkpoint loaded by "
                            "transformers brings its own", USAGE)


class CausalSession(Session):
    """A causal language model of transformers. Inputs are token ids."""

    def __init__(self, args: argparse.Namespace, model: Any, prompt_tokens: int):
        super().__init__(args)
        refuse_own_options(args)
        self.model = model
        self.cache: Any = None
        self.last_only = {"logits_to_keep": 1} if accepts(model.forward, "logits_to_keep") else {}
        if args.kv_cache == "static":
            self.cache = static_cache(model, cache_length(prompt_tokens, args.new_tokens))

    def restart(self) -> None:
        if self.args.kv_cache == "static":
            if self.static_tensors():
                self.cache.reset()
        else:
            self.cache = None

    def first(self, inputs: Any, stage: Callable) -> torch.Tensor:
        return self.compute(inputs.to(self.model.device))

    def compute(self, tokens: torch.Tensor) -> torch.Tensor:
        out = self.model(input_ids=tokens, past_key_values=self.cache, use_cache=True,
                         **self.last_only)
        self.cache = out.past_key_values
        return out.logits[:, -1:].to(torch.float32).argmax(-1)

    def static_tensors(self) -> Sequence[torch.Tensor]:
        layers = [layer for layer in self.cache.layers if layer.is_initialized]
        return [tensor for layer in layers
                for tensor in (layer.keys, layer.values, layer.cumulative_length)]


def accepts(function: Callable, name: str) -> bool:
    return name in inspect.signature(function).parameters


def static_cache(model: Any, length: int) -> Any:
    transformers = common.require_transformers()
    cache = transformers.StaticCache(config=model.config, max_cache_len=length)
    for layer in getattr(cache, "layers", [None]):
        if not isinstance(getattr(layer, "cumulative_length", None), torch.Tensor):
            raise WorkloadError(f"transformers {transformers.__version__}: its static cache does "
                                "not keep its length on the device, as a captured or compiled "
                                "step needs it; 5.10 and newer do", FAILED)
    return cache


# ---- weights, without transformers ----

SAFETENSORS_DTYPES = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32}


def read_safetensors(path: Path) -> Iterator[Tuple[str, torch.Tensor]]:
    """Names and tensors of a .safetensors file, mapped into memory, in its order.

    The format: 8 bytes with the length of a JSON header, the header, the data.
    """
    with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0,
                                               access=mmap.ACCESS_COPY) as data:
        header, first = safetensors_header(path, data)
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            yield name, mapped_tensor(path, name, entry, data, first)


def safetensors_header(path: Path, data: mmap.mmap) -> Tuple[Dict[str, Any], int]:
    size = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else len(data)
    if size > len(data) - 8:
        raise WorkloadError(f"{path}: not a safetensors file, or cut off", USAGE)
    try:
        header = json.loads(data[8:8 + size])
    except ValueError as error:
        raise WorkloadError(f"{path}: its header is not JSON: {error}", USAGE) from error
    if not isinstance(header, dict):
        raise WorkloadError(f"{path}: its header is not an object", USAGE)
    return header, 8 + size


def mapped_tensor(path: Path, name: str, entry: Any, data: mmap.mmap, first: int) -> torch.Tensor:
    try:
        begin, end = entry["data_offsets"]
        dtype, shape = SAFETENSORS_DTYPES[entry["dtype"]], entry["shape"]
        if not 0 <= begin < end <= len(data) - first:
            raise ValueError("its data lies outside the file")
        count = (end - begin) // dtype.itemsize
        flat = torch.frombuffer(data, dtype=dtype, count=count, offset=first + begin)
        return flat.view(shape).clone()
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise WorkloadError(f"{path}: {name}: {common.first_line(error)}", USAGE) from error


def checkpoint_files(folder: Path) -> Sequence[Path]:
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise WorkloadError(f"{folder}: no *.safetensors in it", USAGE)
    return files


@torch.no_grad()
def fill(module: torch.nn.Module, folder: Path,
         place: Callable[[str], Tuple[str, Any]]) -> None:
    """Copy a checkpoint's weights into a module's parameters.

    place(name of a tensor) -> (name of a parameter, index into it or None).
    Every parameter must be filled, by one tensor or by one for each index.
    """
    parameters = dict(module.named_parameters())
    missing = {name: parameter.numel() for name, parameter in parameters.items()}
    for path in checkpoint_files(folder):
        for name, tensor in read_safetensors(path):
            target, index = place(name)
            if target not in parameters:
                raise WorkloadError(f"{path}: {name}: the model has no place for it", USAGE)
            target_tensor = parameters[target] if index is None else parameters[target][index]
            if target_tensor.shape != tensor.shape:
                raise WorkloadError(f"{path}: {name}: has shape {list(tensor.shape)}, the model "
                                    f"{list(target_tensor.shape)}", USAGE)
            target_tensor.copy_(tensor)
            missing[target] -= tensor.numel()
    left = [name for name, count in missing.items() if count != 0]
    if left:
        raise WorkloadError(f"{folder}: nothing in it for {left[0]} and {len(left) - 1} more",
                            USAGE)
