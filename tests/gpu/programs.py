#!/usr/bin/env python3
"""A program as people run it, for overhead.py: it prints `round SECONDS` for each of its rounds.

    tests/gpu/programs.py hf|eager1|eager16|graph1|deepseek_ocr [--torch]

hf is `generate` of Hugging Face, with random weights; eager1, eager16 and graph1 are the decode
of recipes/workloads/causal_lm.py at those batches, eager and as CUDA graphs. --torch: under
torch.profiler, with CPU and CUDA.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import runpy
import sys
import tempfile
import time
from typing import Callable, ContextManager, List

import torch
from torch.profiler import ProfilerActivity, profile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROUNDS, TOKENS = 4, 32


def under(profiled: bool) -> ContextManager[object]:
    if not profiled:
        return contextlib.nullcontext()
    return profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])


def hf(profiled: bool) -> List[float]:
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    config = LlamaConfig(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
                         num_attention_heads=32, num_key_value_heads=8, vocab_size=128256,
                         max_position_embeddings=4096)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config).eval()
    ids = torch.randint(0, 128000, (4, 512), device="cuda")

    def once() -> float:
        begun = time.perf_counter()
        with torch.inference_mode():
            model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=TOKENS,
                           min_new_tokens=TOKENS, do_sample=False, pad_token_id=0)
        torch.cuda.synchronize()
        return time.perf_counter() - begun

    once()
    with under(profiled):
        once()
        return [once() for _ in range(ROUNDS)]


def workload(script: str, *words: str) -> Callable[[bool], List[float]]:
    def run(profiled: bool) -> List[float]:
        path = ROOT / "recipes/workloads" / script
        sys.path.insert(0, str(path.parent))
        with tempfile.TemporaryDirectory() as folder:
            os.environ["LLMPROF_WORKLOAD_DIR"] = folder
            sys.argv = [str(path), "--device", "cuda:0", "--dtype", "bf16", "--repeats",
                        str(ROUNDS), "--warmup", "1", "--max-new-tokens", str(TOKENS), *words]
            with under(profiled), contextlib.suppress(SystemExit):
                runpy.run_path(str(path), run_name="__main__")
            metrics = json.loads(pathlib.Path(folder, "metrics.json").read_text("utf-8"))
        return [one["stages"]["decode"]["ms"] / 1e3 for one in metrics["repeats"]]
    return run


def causal_lm(batch: int, graph: str) -> Callable[[bool], List[float]]:
    return workload("causal_lm.py", "--batch", str(batch), "--prompt-tokens", "512", "--attention",
                    "sdpa", "--experts", "loop", "--compile", "off", "--cuda-graph", graph,
                    "--sync-per-token", "on", "--preset", "qwen3_8b")


PROGRAMS = {
    "hf": hf,
    "eager1": causal_lm(1, "off"),
    "eager16": causal_lm(16, "off"),
    "graph1": causal_lm(1, "on"),
    "deepseek_ocr": workload("deepseek_ocr.py", "--batch", "1"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--torch", action="store_true")
    args = parser.parse_args()
    for seconds in PROGRAMS[args.program](args.torch):
        print(f"round {seconds:.6f}", flush=True)


if __name__ == "__main__":
    main()
