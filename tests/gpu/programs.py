#!/usr/bin/env python3
"""Programs as people run them, for overhead.py, which says when a round begins.

    tests/gpu/programs.py SOCKET NUMBER PROGRAM[,PROGRAM...] --tokens N [--torch]

hf is `generate` of Hugging Face, a Llama of 1.5 B with random weights; eager1, eager16 and graph1
are causal_lm.py (alt_llm.lua) of the same dimensions at those batches, eager and as CUDA graphs;
deepseek_ocr is the workload of that name; vllm_eager and vllm_graph are vLLM in this process, with
the model that PROGRAMS_MODEL names (random_model.py): four prompts without and two with graphs.
A round is the prompt and N tokens. --torch: under torch.profiler, with CPU and CUDA.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import pathlib
import runpy
import socket
import sys
import tempfile
import time
from typing import Any, Callable, Dict, Iterator, List

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENGINE: List[Any] = []  # vLLM's
LLAMA = {"model_type": "llama", "vocab_size": 128256, "hidden_size": 2048,
         "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32,
         "num_key_value_heads": 8, "max_position_embeddings": 4096}


class Turns:
    """The other end of the socket says when a round begins, and hears what it took."""

    def __init__(self, path: str, number: str):
        self.at = socket.socket(socket.AF_UNIX)
        self.at.connect(path)
        self.lines = self.at.makefile("r")
        self.say(number)

    def say(self, word: str) -> None:
        self.at.sendall((word + "\n").encode())

    def rounds(self, program: str) -> Iterator[None]:
        self.say("ready")
        while self.lines.readline() == "go\n":
            torch.cuda.nvtx.range_push(f"round {program}")
            begun = time.perf_counter()
            yield
            torch.cuda.synchronize()
            took = time.perf_counter() - begun
            torch.cuda.nvtx.range_pop()
            self.say(f"{took:.6f}")


Rounds = Iterator[None]
Program = Callable[[Rounds, int], None]  # with as many tokens


def hf(rounds: Rounds, tokens: int) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = LlamaForCausalLM(LlamaConfig(**LLAMA)).eval()
    torch.set_default_dtype(torch.float32)
    ids = torch.randint(0, 128000, (4, 512), device="cuda")

    def once() -> None:
        with torch.inference_mode():
            model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens,
                           min_new_tokens=tokens, do_sample=False, pad_token_id=0)

    once()
    for _ in rounds:
        once()


def workload(script: str, *words: str) -> Program:
    def run(rounds: Rounds, tokens: int) -> None:
        path = ROOT / "recipes/workloads" / script
        sys.path.insert(0, str(path.parent))
        import workload_engine as engine

        def each(loop: Any) -> Iterator[Any]:
            batch = loop.batches[0]
            inputs, identities = loop.load(batch)
            for number, _ in enumerate(rounds, 1):
                yield batch, number, inputs, identities

        engine.Loop.each = each
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder, "config.json")
            config.write_text(json.dumps(LLAMA), encoding="utf-8")
            sys.argv = [str(path), "--device", "cuda:0", "--dtype", "bf16", "--warmup", "1",
                        "--max-new-tokens", str(tokens), *words]
            if script == "causal_lm.py":
                sys.argv += ["--model-config", str(config), "--prompt-tokens", "512"]
            try:
                runpy.run_path(str(path), run_name="__main__")
            except SystemExit as done:
                if done.code:
                    raise
    return run


def vllm(prompts: int) -> Program:
    """Of one engine, which has graphs of the decode of two."""
    def run(rounds: Rounds, tokens: int) -> None:
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        from vllm import LLM, SamplingParams
        if not ENGINE:
            ENGINE.append(LLM(
                model=os.environ["PROGRAMS_MODEL"], load_format="dummy", max_model_len=512,
                max_num_seqs=4, max_num_batched_tokens=1024, gpu_memory_utilization=0.025,
                kv_cache_memory_bytes=200_000_000, enable_prefix_caching=False,
                compilation_config={"mode": 0, "cudagraph_mode": "FULL_DECODE_ONLY",
                                    "cudagraph_capture_sizes": [1, 2]}))
        asked: List[Any] = [{"prompt_token_ids": [3 + n] * 128} for n in range(prompts)]
        how = SamplingParams(max_tokens=tokens, temperature=0, ignore_eos=True)
        ENGINE[0].generate(asked, how, use_tqdm=False)
        for _ in rounds:
            ENGINE[0].generate(asked, how, use_tqdm=False)
    return run


PROGRAMS: Dict[str, Program] = {
    "hf": hf,
    "eager1": workload("causal_lm.py", "--batch", "1"),
    "eager16": workload("causal_lm.py", "--batch", "16"),
    "graph1": workload("causal_lm.py", "--batch", "1", "--cuda-graph", "on"),
    "deepseek_ocr": workload("deepseek_ocr.py", "--batch", "1"),
    "vllm_eager": vllm(4),
    "vllm_graph": vllm(2),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("socket")
    parser.add_argument("number")
    parser.add_argument("programs", type=lambda words: words.split(","))
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--torch", action="store_true")
    args = parser.parse_args()
    turns = Turns(args.socket, args.number)
    if args.torch:
        from torch.profiler import ProfilerActivity, profile
        profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]).__enter__()
    for name in args.programs:
        PROGRAMS[name](turns.rounds(name), args.tokens)
        gc.collect()
        torch.cuda.empty_cache()
    if args.torch:
        os._exit(0)  # what it recorded is of no use


if __name__ == "__main__":
    main()
