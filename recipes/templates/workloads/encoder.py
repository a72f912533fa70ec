#!/usr/bin/env python3
"""@NAME@: a small encoder that turns texts into vectors, to be replaced by your model.

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
WIDTH, LAYERS, HEADS, VOCABULARY = 1024, 12, 16, 32000
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Model:
    """Yours goes here: encode(ids), to a vector for each sequence."""

    def __init__(self, dtype):
        def weight(*shape):
            return torch.randn(*shape, device=DEVICE, dtype=dtype) / shape[-1] ** 0.5

        self.embedding = weight(VOCABULARY, WIDTH)
        self.layers = [{"qkv": weight(3 * WIDTH, WIDTH), "out": weight(WIDTH, WIDTH),
                        "up": weight(4 * WIDTH, WIDTH), "down": weight(WIDTH, 4 * WIDTH)}
                       for _ in range(LAYERS)]

    @staticmethod
    def attend(layer, x):
        batch, length, _ = x.shape
        qkv = functional.linear(functional.layer_norm(x, (WIDTH,)), layer["qkv"])
        query, key, value = (part.view(batch, length, HEADS, -1).transpose(1, 2)
                             for part in qkv.chunk(3, dim=-1))
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return functional.linear(mixed.transpose(1, 2).flatten(2), layer["out"])

    def encode(self, ids):
        x = functional.embedding(ids, self.embedding)
        for layer in self.layers:
            x = x + self.attend(layer, x)
            up = functional.linear(functional.layer_norm(x, (WIDTH,)), layer["up"])
            x = x + functional.linear(functional.gelu(up), layer["down"])
        return functional.normalize(x.mean(dim=1), dim=-1)


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


def encode(model, ids):
    """One repeat: the record of its stage for metrics.json."""
    times = {}
    with span("encode", times):
        model.encode(ids).cpu()
    return {"encode": {"ms": times["encode"], "tokens": ids.numel()}}


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
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=3)
    return parser.parse_args()


@torch.no_grad()
def main():
    args = parse()
    if os.environ.get("LLMPROF_OPERATORS") == "1":
        return  # the pass for operators.json, which this program does not write
    torch.manual_seed(0)
    model = Model(DTYPES[args.dtype])
    ids = torch.randint(VOCABULARY, (args.batch, args.tokens), device=DEVICE)
    model.encode(ids)  # warm-up, outside the ranges
    wait()
    repeats = [{"index": i + 1, "stages": encode(model, ids)} for i in range(args.repeats)]
    write_metrics({
        "schema_version": 1, "workload": "@NAME@",
        "model": {"name": "@NAME@", "dtype": args.dtype, "weights": "random"},
        "batch": args.batch, "prompt_tokens": args.tokens, "repeats": repeats,
    })


if __name__ == "__main__":
    main()
