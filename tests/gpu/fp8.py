#!/usr/bin/env python3
"""Decode steps of a feed-forward network as CUDA graphs, its products in bf16 or in fp8."""

from __future__ import annotations

import argparse
import os
from typing import Callable

import torch
from torch.nn import functional as F

EIGHT = torch.float8_e4m3fn


class Product:
    """One matrix; in fp8 it and what it is multiplied with have a scale each."""

    def __init__(self, wide: int, narrow: int, eight: bool):
        self.weights = torch.randn(wide, narrow, device="cuda", dtype=torch.bfloat16) * 0.02
        self.one = torch.ones((), device="cuda")
        if eight:
            self.weights = self.weights.to(EIGHT)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if self.weights.dtype != EIGHT:
            return F.linear(x, self.weights)
        return torch._scaled_mm(x.to(EIGHT), self.weights.t(), scale_a=self.one,
                                scale_b=self.one, out_dtype=torch.bfloat16)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, usual in (("fp8", "off"), ("graph", "on"), ("casts", "off")):
        parser.add_argument("--" + name, choices=["off", "on"], default=usual)
    for name, default in (("repeats", 3), ("layers", 16), ("batch", 64), ("hidden", 4096),
                          ("width", 14336), ("steps", 24)):
        parser.add_argument("--" + name, type=int, default=default)
    args = parser.parse_args()
    eight = args.fp8 == "on"
    layers = [(Product(args.width, args.hidden, eight), Product(args.hidden, args.width, eight))
              for _ in range(args.layers)]
    states = torch.randn(args.batch, args.hidden, device="cuda", dtype=torch.bfloat16)

    def step() -> None:
        x = states
        for up, down in layers:
            wide = F.silu(up(F.layer_norm(x, (args.hidden,))))
            if args.casts == "on":
                wide = wide.float().to(torch.bfloat16)  # there and back
            x = x + down(wide)
        states.copy_(F.layer_norm(x, (args.hidden,)))

    def capture() -> torch.cuda.CUDAGraph:
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        return graph

    def decode(one: Callable[[], None]) -> None:
        torch.cuda.nvtx.range_push("decode")
        for _ in range(args.steps):
            torch.cuda.nvtx.range_push("decode_step")
            one()
            torch.cuda.synchronize()
            torch.cuda.nvtx.range_pop()
        torch.cuda.nvtx.range_pop()

    with torch.no_grad():
        graph = capture()
        for _ in range(args.repeats):
            decode(graph.replay if args.graph == "on" else step)
        if args.graph == "on" and os.environ.get("LLMPROF_EAGER_REPEAT", "0") != "0":
            torch.cuda.nvtx.range_push("eager")  # for counters, which graphs have none of
            decode(step)
            torch.cuda.nvtx.range_pop()


if __name__ == "__main__":
    main()
