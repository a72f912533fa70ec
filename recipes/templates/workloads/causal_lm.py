#!/usr/bin/env python3
"""@NAME@: prefill and decode of a small decoder, to be replaced by your model.

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
WIDTH, LAYERS, HEADS, VOCABULARY = 1024, 8, 8, 32000
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Model:
    """Yours goes here: prefill(ids) and step(token), each to logits."""

    def __init__(self, dtype):
        def weight(*shape):
            return torch.randn(*shape, device=DEVICE, dtype=dtype) / shape[-1] ** 0.5

        self.embedding = weight(VOCABULARY, WIDTH)
        self.layers = [{"qkv": weight(3 * WIDTH, WIDTH), "out": weight(WIDTH, WIDTH),
                        "up": weight(4 * WIDTH, WIDTH), "down": weight(WIDTH, 4 * WIDTH)}
                       for _ in range(LAYERS)]
        self.cache = []

    def attend(self, layer, index, x, causal):
        batch, length, _ = x.shape
        qkv = functional.linear(functional.layer_norm(x, (WIDTH,)), layer["qkv"])
        query, key, value = (part.view(batch, length, HEADS, -1).transpose(1, 2)
                             for part in qkv.chunk(3, dim=-1))
        if index < len(self.cache):
            before = self.cache[index]
            key, value = (torch.cat(pair, dim=2) for pair in zip(before, (key, value)))
            self.cache[index] = (key, value)
        else:
            self.cache.append((key, value))
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
        return functional.linear(mixed.transpose(1, 2).flatten(2), layer["out"])

    def forward(self, ids, causal):
        x = functional.embedding(ids, self.embedding)
        for index, layer in enumerate(self.layers):
            x = x + self.attend(layer, index, x, causal)
            up = functional.linear(functional.layer_norm(x, (WIDTH,)), layer["up"])
            x = x + functional.linear(functional.silu(up), layer["down"])
        return functional.linear(x[:, -1], self.embedding)

    def prefill(self, ids):
        self.cache = []
        return self.forward(ids, True)

    def step(self, token):
        return self.forward(token, False)


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


def generate(model, ids, new_tokens):
    """One repeat: the record of its stages for metrics.json."""
    times, batch = {}, ids.shape[0]
    with span("prefill", times):
        token = model.prefill(ids).argmax(-1, keepdim=True)
    with span("decode", times):
        for _ in range(new_tokens - 1):
            with span("decode_step"):
                token = model.step(token).argmax(-1, keepdim=True)
                token.cpu()  # as a real loop, which looks for the end of the text
    return {"prefill": {"ms": times["prefill"], "tokens": ids.numel()},
            "decode": {"ms": times["decode"], "tokens": batch * (new_tokens - 1),
                       "steps": new_tokens - 1}}


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
    parser.add_argument("--prompt-tokens", type=int, default=128)
    parser.add_argument("--max-new-tokens", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=3)
    return parser.parse_args()


@torch.no_grad()
def main():
    args = parse()
    if os.environ.get("LLMPROF_OPERATORS") == "1":
        return  # the pass for operators.json, which this program does not write
    torch.manual_seed(0)
    model = Model(DTYPES[args.dtype])
    ids = torch.randint(VOCABULARY, (args.batch, args.prompt_tokens), device=DEVICE)
    model.step(model.prefill(ids).argmax(-1, keepdim=True))  # warm-up, outside the ranges
    wait()
    repeats = [{"index": i + 1, "stages": generate(model, ids, args.max_new_tokens)}
               for i in range(args.repeats)]
    write_metrics({
        "schema_version": 1, "workload": "@NAME@",
        "model": {"name": "@NAME@", "dtype": args.dtype, "weights": "random"},
        "batch": args.batch, "prompt_tokens": args.prompt_tokens,
        "new_tokens": args.max_new_tokens, "repeats": repeats,
    })


if __name__ == "__main__":
    main()
