#!/usr/bin/env python3
"""Runs one of the programs of runs.py, healthy and with its fault, and times both.

    tests/diagnosis/make/program.py NAME [--label FILE] [--torch FILE]

The process first runs both without a profiler, in turn, so that what the fault costs is known;
then the run that is to be recorded, between cudaProfilerStart and Stop. --label writes the times;
--torch records with torch.profiler instead. Of a program of several ranks each process is one, by
RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as under torchrun.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime
import faulthandler
import fcntl
import gc
import json
import os
import pathlib
import signal
import statistics
import sys
import threading
import time
from typing import Any, Dict, Iterator, List, Optional

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import torch
from model import Decoder, Shape
from runs import RUNS, Run
from scenarios import SCENARIOS

PLAIN, RECORDED = 3, 2  # repeats without a profiler, of each kind; and in the recording
LONGEST_S, END_S = 25, 6  # of a program that has the GPU, and of its end
# Programs take turns on each GPU, and import in parallel.
TURN = f"/tmp/llmprof-diagnosis-{os.getuid()}"


@contextlib.contextmanager
def turn(ranks: int) -> Iterator[None]:
    """This process's GPU, or that of all ranks, is its alone."""
    first = int(os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0])
    with contextlib.ExitStack() as held:
        if int(os.environ.get("RANK", "0")) == 0:  # the others wait for it to set out
            for gpu in range(first, first + min(ranks, torch.cuda.device_count())):
                file = held.enter_context(open(f"{TURN}.{gpu}", "w", encoding="utf-8"))
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def end_after(seconds: int) -> None:
    """Ends this process then, so that what it recorded is kept, and says where it was."""
    faulthandler.dump_traceback_later(seconds + 1, exit=True)
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGTERM))
    timer.daemon = True
    timer.start()


@contextlib.contextmanager
def marked(name: str) -> Iterator[None]:
    torch.cuda.nvtx.range_push(name)
    with torch.profiler.record_function(name):
        yield
    torch.cuda.nvtx.range_pop()


def meet(run: Run) -> int:
    """Joins the other ranks; returns this one's number."""
    rank = int(os.environ.get("RANK", "0"))
    shared = torch.cuda.device_count() < run.shape.ranks  # NCCL wants a GPU for each rank
    device = torch.device("cuda", 0 if shared else rank)
    if run.shape.ranks > 1:
        torch.distributed.init_process_group(
            "gloo" if shared else "cpu:gloo,cuda:nccl", device_id=None if shared else device,
            timeout=datetime.timedelta(seconds=120))
    torch.cuda.set_device(device)
    end_after(LONGEST_S)
    return rank


class Program:
    """A model that answers a prompt: `prefill`, then `decode` of one token after another."""

    def __init__(self, run: Run):
        self.run, self.shape = run, run.shape
        torch.manual_seed(0)
        self.rank = meet(run)
        self.model = Decoder(self.own_shape(), self.rank).eval()
        if self.model.shape.ranks > 1:
            self.model.joined = self.all_reduce
        self.ids = torch.zeros(run.shape.batch, 1 + run.shape.drafts, device="cuda",
                               dtype=torch.long)
        self.prompt = torch.randint(0, run.shape.vocabulary, (run.shape.batch, run.shape.prompt),
                                    device="cuda")
        self.faulty = False
        self.graphs: List[Any] = []
        self.other: Dict[str, Any] = {}  # what a fault keeps from step to step
        self.side = torch.cuda.Stream()

    def own_shape(self) -> Shape:
        """Of this rank's model."""
        return self.shape

    def all_reduce(self, tensor: torch.Tensor, number: int) -> torch.Tensor:
        if self.faulty and self.run.rank_work and self.rank == 1:
            self.run.rank_work(self, number, tensor)
        if self.faulty and "small_all_reduces" in self.run.switches:
            for part in tensor.view(-1).chunk(16):
                torch.distributed.all_reduce(part)
            return tensor
        torch.distributed.all_reduce(tensor)
        return tensor

    # ---- steps ----

    def eager(self) -> None:
        """One token more for each sequence."""
        self.ids.copy_(self.model(self.ids))

    def capture(self) -> None:
        """The decode step as a CUDA graph."""
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(2):
                self.eager()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
            self.eager()
        self.graphs.append(graph)

    def capture_layers(self) -> None:
        """The decode step as a graph for each layer, with operations between them."""
        model, first = self.model, torch.zeros_like(self.model.embedding[self.ids])
        residual, added = torch.zeros_like(first), torch.zeros_like(first)
        torch.cuda.synchronize()
        side = torch.cuda.Stream()
        for layer in model.layers:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
                added.copy_(model.layer(layer, residual, added))
            self.graphs.append(graph)
        self.other["residual"], self.other["added"] = residual, added

    def broken_step(self) -> None:
        residual, added = self.other["residual"], self.other["added"]
        residual.copy_(self.model.embedding[self.ids])
        added.zero_()
        for graph in self.graphs:
            graph.replay()
            for _ in range(8):  # what a graph could not hold: a debugging check of the values
                torch.isfinite(added).all()
        states = self.model.norm(residual, added, self.model.layers[0].norm_1)[:, -1]
        self.ids.copy_((states @ self.model.head).argmax(-1, keepdim=True))

    def prepare(self, faulty: bool) -> None:
        """Sets the switches, and captures anew where the step is replayed."""
        run = self.run
        self.faulty = faulty
        self.graphs = []
        self.model.on = set(run.switches) if faulty else set()
        self.model.hook = lambda place, number: None
        self.model.caches = self.model.new_caches()
        for _ in range(2):
            self.eager()
        broken = faulty and "broken_graph" in self.model.on
        if broken:
            self.capture_layers()
        elif self.shape.graph and not (faulty and run.eager):
            self.capture()
        if faulty and run.prepare:
            run.prepare(self)
        if faulty and run.layer:
            self.model.hook = lambda place, number: run.layer(self, number)
        self.step = self.broken_step if broken else (
            self.graphs[0].replay if self.graphs else self.eager)

    def decode(self) -> None:
        run = self.run
        with marked(run.names[1]):
            for number in range(self.shape.steps):
                with marked(run.names[2]):
                    if run.always:
                        run.always(self, number)
                    if self.faulty and run.before:
                        run.before(self, number)
                    self.step()
                    if self.faulty and run.after:
                        run.after(self, number)
                if self.faulty and run.between:
                    run.between(self, number)
            torch.cuda.synchronize()

    def prefill(self) -> None:
        with marked(self.run.names[0]):
            self.ids.copy_(self.model(self.prompt))
            torch.cuda.synchronize()

    def repeat(self) -> Dict[str, float]:
        """Milliseconds of each stage."""
        taken = {}
        for name, stage in zip(self.run.names, (self.prefill, self.decode)):
            if self.shape.ranks > 1:
                torch.distributed.barrier()
            begun = time.perf_counter()
            stage()
            taken[name] = (time.perf_counter() - begun) * 1e3
        return taken


class Halves(Program):
    """Prefill of two halves of a batch: while the ranks sum one half up they compute the other;
    at fault, they wait for each sum."""

    def prefill(self) -> None:
        with marked("prefill"):
            made = [self.model.parts(ids) for ids in self.prompt.chunk(2)]
            sums: List[Any] = [None, None]
            for _ in range(2 * self.shape.layers):
                for number, half in enumerate(made):
                    if sums[number]:
                        sums[number].wait()
                    sums[number] = torch.distributed.all_reduce(next(half), async_op=True)
                    if self.faulty:
                        sums[number].wait()
            for one in sums:
                one.wait()
            torch.cuda.synchronize()


class Pipeline(Program):
    """The first rank has the first half of the layers, the second the rest; prompts follow each
    other, or, at fault, each begins when the one before it is done."""

    def own_shape(self) -> Shape:
        return dataclasses.replace(self.shape, ranks=1, layers=self.shape.layers // 2)

    def repeat(self) -> Dict[str, float]:
        states = torch.empty(1, self.shape.prompt, self.shape.hidden, device="cuda",
                             dtype=self.model.embedding.dtype)
        token = torch.zeros(1, 1, device="cuda", dtype=torch.long)
        torch.distributed.barrier()
        begun = time.perf_counter()
        with marked("prefill"):
            for number in range(self.shape.batch):
                if self.rank == 0:
                    ids = self.prompt[number:number + 1]
                    torch.distributed.send(self.model.through(self.model.embedding[ids]), 1)
                else:
                    torch.distributed.recv(states, 0)
                    token = self.model.token_of(self.model.through(states))
                if self.faulty and self.rank == 0:
                    torch.distributed.recv(token, 1)
                elif self.faulty:
                    torch.distributed.send(token, 0)
            torch.cuda.synchronize()
        return {"prefill": (time.perf_counter() - begun) * 1e3}


class Engine(Program):
    """A server's loop: requests arrive, and each step is of all that run. Ranges are named as
    vLLM names them."""

    def repeat(self) -> Dict[str, float]:
        load, begun = self.run.load, time.perf_counter()
        assert load
        for number in range(self.shape.steps):
            prompt, running = load(number, self.faulty)
            with marked(f"execute_context_{1 if prompt else 0}({prompt})"
                        f"_generation_{running}({running})"):
                if prompt:
                    self.model(self.prompt[:1, :prompt])
                if self.faulty and self.run.before:
                    self.run.before(self, number)
                if running:
                    self.step()
                self.ids.tolist()
            if self.faulty and self.run.between:
                self.run.between(self, number)
        return {"decode": (time.perf_counter() - begun) * 1e3}


class Generate(Program):
    """`generate` of Hugging Face's transformers, which marks nothing."""

    def __init__(self, run: Run):
        from transformers import LlamaConfig, LlamaForCausalLM
        self.run, self.shape, self.faulty, self.rank = run, run.shape, False, meet(run)
        self.other, self.graphs = {}, []
        shape = run.shape
        torch.manual_seed(0)
        torch.set_default_dtype(torch.bfloat16)
        with torch.device("cuda"):
            self.hf = LlamaForCausalLM(LlamaConfig(
                hidden_size=shape.hidden, intermediate_size=shape.ffn,
                num_hidden_layers=shape.layers, num_attention_heads=shape.heads,
                num_key_value_heads=shape.heads, vocab_size=shape.vocabulary)).eval()
        self.prompt = torch.randint(0, shape.vocabulary, (shape.batch, shape.prompt),
                                    device="cuda")

    def prepare(self, faulty: bool) -> None:
        self.faulty = faulty
        if faulty and self.run.prepare:
            self.run.prepare(self)

    def repeat(self) -> Dict[str, float]:
        begun = time.perf_counter()
        with torch.inference_mode():
            self.hf.generate(self.prompt, attention_mask=torch.ones_like(self.prompt),
                             max_new_tokens=self.shape.steps, min_new_tokens=self.shape.steps,
                             do_sample=False, pad_token_id=0)
        torch.cuda.synchronize()
        return {"decode": (time.perf_counter() - begun) * 1e3}


class Scenario(Program):
    """One of PerfAdvisor's, of scenarios.py: passes of one kind."""

    def __init__(self, run: Run):
        self.run, self.shape, self.faulty, self.rank = run, run.shape, False, meet(run)
        self.graphs = []
        self.made = SCENARIOS[run.name](self.rank)

    def prepare(self, faulty: bool) -> None:
        self.faulty = faulty
        self.made.prepare(faulty)

    def repeat(self) -> Dict[str, float]:
        taken = []
        for _ in range(8):
            begun = time.perf_counter()
            with marked("pass"):
                self.made.work(self.faulty)
                torch.cuda.synchronize()
            taken.append((time.perf_counter() - begun) * 1e3)
        return {"pass": statistics.median(taken)}


PROGRAMS = {"model": Program, "engine": Engine, "generate": Generate, "halves": Halves,
            "pipeline": Pipeline, "scenario": Scenario}


def medians(repeats: List[Dict[str, float]]) -> Dict[str, float]:
    return {name: statistics.median(one[name] for one in repeats) for name in repeats[0]}


def plain(program: Program, kinds: List[bool]) -> Dict[str, Any]:
    """Milliseconds of the stages by kind, medians of repeats after one that warms up."""
    taken = {}
    for faulty in kinds:
        program.prepare(faulty)
        program.repeat()
        taken["faulty_ms" if faulty else "healthy_ms"] = medians(
            [program.repeat() for _ in range(PLAIN)])
    return taken


def record(program: Program, trace: Optional[pathlib.Path]) -> None:
    if trace:
        with torch.profiler.profile(record_shapes=True) as profiler:
            for _ in range(RECORDED):
                program.repeat()
        profiler.export_chrome_trace(str(trace))
        return
    torch.cuda.synchronize()
    # One profiler of all ranks begins with the first and ends with the first to stop.
    if program.shape.ranks > 1:
        torch.distributed.barrier()
    torch.cuda.profiler.start()
    for _ in range(RECORDED):
        program.repeat()
    torch.cuda.synchronize()
    if program.shape.ranks > 1:
        torch.distributed.barrier()
    torch.cuda.profiler.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", choices=[run.name for run in RUNS])
    parser.add_argument("--label", type=pathlib.Path, help="write what was timed here")
    parser.add_argument("--torch", type=pathlib.Path, help="record with torch.profiler, to here")
    args = parser.parse_args()
    run = next(run for run in RUNS if run.name == args.name)
    if run.start:
        run.start()
    with turn(run.shape.ranks), torch.no_grad():
        gc.disable()
        program = PROGRAMS[run.program](run)
        taken = plain(program, ([False] if run.timed else []) + [True] if run.kind else [False])
        record(program, args.torch)
        if args.label and program.rank == 0:
            label = {"run": run.name, "gpu": torch.cuda.get_device_name(), **taken}
            args.label.write_text(json.dumps(label, indent=1), "utf-8")
        end_after(END_S)
        if run.shape.ranks > 1:
            for graph in program.graphs:
                graph.reset()
            del program  # a communicator ends once no graph holds it
            gc.collect()
            torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
