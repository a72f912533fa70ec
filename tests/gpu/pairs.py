#!/usr/bin/env python3
"""Ranks that compute layers with an all-reduce after each, in groups of their own: PyTorch and
NCCL under `llmprof pairs.lua launch.ranks=4`, on as many GPUs as a group has ranks, or more.

Groups take turns, so that ranks on one GPU are not in each other's way. One rank of the first
group does more in one layer from some decode step on, which is what llmprof has to find.
"""

from __future__ import annotations

import argparse
import os
from typing import List, Optional

import torch
import torch.distributed as dist

HALF = torch.bfloat16


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    for name, default in (("group", 2), ("layers", 8), ("width", 2048), ("prompt", 512),
                          ("steps", 24), ("repeats", 3), ("late-rank", 1), ("late-layer", 5),
                          ("late-step", 8), ("late-by", 40), ("tokens", 1)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--beside", action="store_true",
                        help="an all-reduce runs beside the next layer, which does without it")
    return parser.parse_args()


class Rank:
    """One of them: its weights, and the group that it meets."""

    def __init__(self, args: argparse.Namespace):
        self.args = args
        dist.init_process_group("gloo")  # all of them; NCCL wants a GPU for each of a group
        self.number = dist.get_rank()
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        self.turns = [list(range(first, first + args.group))
                      for first in range(0, dist.get_world_size(), args.group)]
        self.group: Optional[dist.ProcessGroup] = None
        for members in self.turns:  # every process takes part in making every group
            group = dist.new_group(members, backend="nccl")
            if self.number in members:
                self.group = group
        torch.manual_seed(self.number)
        self.weights: List[torch.Tensor] = [
            torch.randn(args.width, args.width, device="cuda", dtype=HALF) * 0.02
            for _ in range(args.layers)]

    def layers(self, tokens: torch.Tensor, late: bool) -> None:
        flying = None
        for number, weights in enumerate(self.weights):
            made = torch.nn.functional.gelu(tokens @ weights)
            if late and number == self.args.late_layer:
                for _ in range(self.args.late_by):
                    made = torch.nn.functional.gelu(made @ weights)
            if self.args.beside:
                work = dist.all_reduce(made, group=self.group, async_op=True)
                if flying:
                    tokens = self.add(tokens, *flying)
                flying = made, work
            else:
                dist.all_reduce(made, group=self.group)
                tokens = self.add(tokens, made)
        if flying:
            self.add(tokens, *flying)

    def add(self, tokens: torch.Tensor, made: torch.Tensor,
            work: Optional[dist.Work] = None) -> torch.Tensor:
        if work:
            work.wait()
        return torch.nn.functional.layer_norm(tokens + made, (self.args.width,))

    def step(self, name: str, tokens: int, late: bool = False) -> None:
        """In the range `name` the layers, once it is the group's turn; the range ends when all
        groups have had theirs, so that what profilers do at a range's begin finds all ranks."""
        torch.cuda.nvtx.range_push(name)
        for members in self.turns:
            dist.barrier()
            if self.number in members:
                self.layers(torch.ones(tokens, self.args.width, device="cuda", dtype=HALF), late)
                torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.nvtx.range_pop()

    def repeat(self) -> None:
        """A prompt, then tokens one by one."""
        self.step("prefill", self.args.prompt)
        torch.cuda.nvtx.range_push("decode")
        for step in range(self.args.steps):
            self.step("decode_step", self.args.tokens,
                      self.number == self.args.late_rank and step >= self.args.late_step)
        torch.cuda.nvtx.range_pop()


def main() -> None:
    args = parse()
    rank = Rank(args)
    with torch.no_grad():
        for tokens in (args.prompt, args.tokens):  # NCCL connects, kernels are loaded
            rank.step("warm-up", tokens)
        for _ in range(args.repeats):
            rank.repeat()
    print(f"rank {rank.number} of {dist.get_world_size()}: {torch.cuda.get_device_name()}, "
          f"{len(rank.turns)} groups of {args.group}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
