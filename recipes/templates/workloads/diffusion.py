#!/usr/bin/env python3
"""@NAME@: a small diffusion model that makes pictures of texts, to be replaced by your model.

Model is the part to replace: all else is what llmprof asks of a workload (NVTX
ranges, metrics.json), as docs/workload.md describes. Exit status: 1 failed, 2
usage, 3 PyTorch is missing.
"""

import argparse
import contextlib
import json
import os
import sys
import time

try:
    import torch
    from torch.nn import functional
except ImportError:
    sys.stderr.write("@NAME@: PyTorch is missing: python=PATH names a Python that has it\n")
    sys.exit(3)

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
WIDTH, HEADS, VOCABULARY = 1024, 16, 32000
TEXT_LAYERS, LAYERS, CHANNELS, PATCH = 6, 12, 4, 2
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Model:
    """Yours goes here: read(ids) to a context, step(latents, context) to a noise, and
    show(latents) to pictures."""

    def __init__(self, dtype):
        def weight(*shape):
            fan = torch.Size(shape[1:]).numel()
            return torch.randn(*shape, device=DEVICE, dtype=dtype) / fan ** 0.5

        def layers(count):
            return [{name: weight(*shape) for name, shape in {
                "qkv": (3 * WIDTH, WIDTH), "out": (WIDTH, WIDTH), "query": (WIDTH, WIDTH),
                "context": (2 * WIDTH, WIDTH), "cross": (WIDTH, WIDTH),
                "up": (4 * WIDTH, WIDTH), "down": (WIDTH, 4 * WIDTH)}.items()}
                for _ in range(count)]

        self.embedding = weight(VOCABULARY, WIDTH)
        self.text, self.blocks = layers(TEXT_LAYERS), layers(LAYERS)
        self.into = weight(WIDTH, CHANNELS * PATCH * PATCH)
        self.out = weight(CHANNELS * PATCH * PATCH, WIDTH)
        self.convolutions = [weight(128, CHANNELS, 3, 3), weight(128, 128, 3, 3),
                             weight(128, 128, 3, 3), weight(3, 128, 3, 3)]

    @staticmethod
    def attend(query, key, value):
        query, key, value = (part.unflatten(2, (HEADS, -1)).transpose(1, 2)
                             for part in (query, key, value))
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return mixed.transpose(1, 2).flatten(2)

    def block(self, layer, x, context=None):
        qkv = functional.linear(functional.layer_norm(x, (WIDTH,)), layer["qkv"])
        x = x + functional.linear(self.attend(*qkv.chunk(3, dim=-1)), layer["out"])
        if context is not None:
            query = functional.linear(functional.layer_norm(x, (WIDTH,)), layer["query"])
            pair = functional.linear(context, layer["context"]).chunk(2, dim=-1)
            x = x + functional.linear(self.attend(query, *pair), layer["cross"])
        up = functional.linear(functional.layer_norm(x, (WIDTH,)), layer["up"])
        return x + functional.linear(functional.gelu(up), layer["down"])

    def read(self, ids):
        x = functional.embedding(ids, self.embedding)
        for layer in self.text:
            x = self.block(layer, x)
        return x

    def step(self, latents, context):
        height, width = latents.shape[2:]
        x = functional.pixel_unshuffle(latents, PATCH).flatten(2).transpose(1, 2)
        x = functional.linear(x, self.into)
        for layer in self.blocks:
            x = self.block(layer, x, context)
        x = functional.linear(x, self.out).transpose(1, 2)
        x = x.unflatten(2, (height // PATCH, width // PATCH))
        return functional.pixel_shuffle(x, PATCH)

    def show(self, latents):
        x = latents
        for kernel in self.convolutions[:-1]:
            x = functional.silu(functional.conv2d(x, kernel, padding=1))
            x = functional.interpolate(x, scale_factor=2)
        return functional.conv2d(x, self.convolutions[-1], padding=1)


# ---- what llmprof asks for ----

def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


@contextlib.contextmanager
def span(name, times=None):
    """An NVTX range; with times, its length in ms, the GPU's work included."""
    if DEVICE == "cuda":
        torch.cuda.nvtx.range_push(name)
    start = time.perf_counter()
    try:
        yield
        if times is not None:
            wait()
            times[name] = (time.perf_counter() - start) * 1e3
    finally:
        if DEVICE == "cuda":
            torch.cuda.nvtx.range_pop()


def paint(model, ids, latents, steps):
    """One repeat: the record of its stages for metrics.json."""
    times = {}
    with span("text_encoder", times):
        context = model.read(ids)
    with span("denoise", times):
        for _ in range(steps):
            with span("denoise_step"):
                latents = latents - model.step(latents, context) / steps
    with span("vae", times):
        model.show(latents).cpu()
    return {"text_encoder": {"ms": times["text_encoder"], "tokens": ids.numel()},
            "denoise": {"ms": times["denoise"], "steps": steps},
            "vae": {"ms": times["vae"]}}


def write_metrics(metrics):
    folder = os.environ.get("LLMPROF_WORKLOAD_DIR")
    if not folder:
        return
    path = os.path.join(folder, "metrics.json")
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(metrics, file, indent=2)
    os.replace(path + ".part", path)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--dtype", choices=sorted(DTYPES), default="bf16")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--prompt-tokens", type=int, default=77)
    parser.add_argument("--size", type=int, default=512, help="pixels of a side")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    return parser.parse_args()


@torch.no_grad()
def main():
    args = parse()
    if os.environ.get("LLMPROF_OPERATORS") == "1":
        return  # the pass for operators.json, which this program does not write
    torch.manual_seed(0)
    dtype = DTYPES[args.dtype]
    model = Model(dtype)
    ids = torch.randint(VOCABULARY, (args.batch, args.prompt_tokens), device=DEVICE)
    side = args.size // 8 // PATCH * PATCH
    latents = torch.randn(args.batch, CHANNELS, side, side, device=DEVICE, dtype=dtype)
    model.show(model.step(latents, model.read(ids)))  # warm-up, outside the ranges
    wait()
    repeats = [{"index": i + 1, "stages": paint(model, ids, latents, args.steps)}
               for i in range(args.repeats)]
    write_metrics({
        "schema_version": 1, "workload": "@NAME@",
        "model": {"name": "@NAME@", "dtype": args.dtype, "weights": "random"},
        "batch": args.batch, "prompt_tokens": args.prompt_tokens, "repeats": repeats,
    })


if __name__ == "__main__":
    main()
