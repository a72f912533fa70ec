#!/usr/bin/env python3
"""launches.py [REPEATS [TIMES]]: kernels of PyTorch of many kinds, first in the NVTX range `warm`
and then, once or REPEATS times, in a range `counted` each, TIMES in it: what two profilers measure
of them can be compared launch by launch."""

from __future__ import annotations

import sys

import torch
from torch.nn import functional

GPU, HALF = "cuda", torch.bfloat16


def tensors() -> dict[str, torch.Tensor]:
    """Large ones that no cache holds, weights, activations, and small ones."""
    torch.manual_seed(0)
    return {
        "large": torch.randn(128 << 20, device=GPU),
        "tokens": torch.randn(2048, 4096, device=GPU, dtype=HALF),
        "token": torch.randn(1, 4096, device=GPU, dtype=HALF),
        "up": torch.randn(11008, 4096, device=GPU, dtype=HALF) * 0.02,
        "square": torch.randn(4096, 4096, device=GPU, dtype=HALF) * 0.02,
        "single": torch.randn(1024, 1024, device=GPU),
        "heads": torch.randn(1, 32, 1024, 128, device=GPU, dtype=HALF),
        "small": torch.randn(4096, device=GPU),
        "table": torch.randn(50000, 1024, device=GPU, dtype=HALF),
        "rows": torch.randint(0, 50000, (4096,), device=GPU),
    }


def work(t: dict[str, torch.Tensor], out: torch.Tensor) -> None:
    torch.add(t["large"], 1.0, out=out)
    out.copy_(t["large"])
    t["large"].sum()
    functional.linear(t["tokens"], t["up"])
    functional.linear(t["token"], t["up"])
    functional.linear(t["token"], t["square"])
    torch.mm(t["single"], t["single"])
    functional.gelu(t["tokens"])
    functional.silu(t["tokens"])
    torch.softmax(t["tokens"].float(), -1)
    functional.layer_norm(t["tokens"], (4096,))
    functional.scaled_dot_product_attention(t["heads"], t["heads"], t["heads"], is_causal=True)
    functional.embedding(t["rows"], t["table"])
    t["small"].add_(1.0)
    torch.topk(t["small"], 8)
    torch.cumsum(t["small"], 0)
    torch.sort(t["small"])
    t["tokens"].view(2048, 32, 128).transpose(0, 1).contiguous()


def main() -> None:
    with torch.no_grad():
        t = tensors()
        out = torch.empty_like(t["large"])
        repeats, times = (*map(int, sys.argv[1:]), *(1, 1)[len(sys.argv) - 1:])
        for name in ["warm"] + ["counted"] * repeats:
            torch.cuda.synchronize()
            torch.cuda.nvtx.range_push(name)
            for _ in range(times if name == "counted" else 1):
                work(t, out)
            torch.cuda.synchronize()
            torch.cuda.nvtx.range_pop()


if __name__ == "__main__":
    main()
