"""Greedy decoding, and the loop that runs, measures or profiles it.

A session is what the loop drives: prefill(inputs, stage) and step(tokens), both
of which return the next token of each sequence, [batch, 1], on the device.
`stage(name)` is a context manager that marks a part of prefill.
"""

from __future__ import annotations

import argparse
import hashlib
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

import torch

import workload_common as common
from workload_clock import (Clock, ProfilerClock, QuietClock, capture_range, capture_window,
                            eager_range, operator_ranges, profile, summary)
from workload_common import WorkloadError
from workload_decoder import Decoder, DynamicCache, StaticCache
from workload_inputs import Batch

# A static cache is this much longer, for the steps that warm capture up.
WARM_STEPS = 3
Step = Callable[[torch.Tensor], torch.Tensor]
# What a batch is to a session, and how metrics.json identifies each input.
Loaded = Tuple[Any, List[Dict[str, Any]]]


# ---- ways to run a step ----

class CapturedStep:
    """A step captured into a CUDA graph and replayed."""

    def __init__(self, compute: Step, tokens: torch.Tensor):
        self.eager, self.tokens = compute, tokens.clone()
        current, side = torch.cuda.current_stream(), torch.cuda.Stream()
        side.wait_stream(current)
        with torch.cuda.stream(side):
            for _ in range(WARM_STEPS):
                self.tokens.copy_(compute(self.tokens))
        current.wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(self.graph):
                self.tokens.copy_(compute(self.tokens))
        except RuntimeError as error:
            # Leaving the capture after an error is one more; the first tells why.
            cause = error.__context__ or error
            raise WorkloadError("the decode step cannot be captured into a CUDA graph: "
                                + common.first_line(cause)) from error

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        if tokens is not self.tokens:
            self.tokens.copy_(tokens)
        self.graph.replay()
        return self.tokens


class CompiledStep:
    """A step run by torch.compile."""

    def __init__(self, compute: Step, mode: str, tokens: torch.Tensor):
        self.tokens = tokens.clone()
        self.own_graphs = mode == "reduce-overhead"
        self.compiled = torch.compile(compute, mode=mode, dynamic=False)
        try:
            for _ in range(WARM_STEPS):
                self(self.tokens)
        except RuntimeError as error:
            raise WorkloadError("torch.compile of the decode step failed: "
                                + common.first_line(error)) from error

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        if self.own_graphs:
            torch.compiler.cudagraph_mark_step_begin()
        if tokens is not self.tokens:
            self.tokens.copy_(tokens)
        self.tokens.copy_(self.compiled(self.tokens))
        return self.tokens


class Session:
    """A model with a cache; subclasses say what prefill and a step compute."""

    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.step: Step = self.compute

    def restart(self) -> None:
        """Forget the past."""
        raise NotImplementedError

    def first(self, inputs: Any, stage: Callable) -> torch.Tensor:
        """Prefill after restart."""
        raise NotImplementedError

    def compute(self, tokens: torch.Tensor) -> torch.Tensor:
        """One step."""
        raise NotImplementedError

    def static_tensors(self) -> Sequence[torch.Tensor]:
        """What steps change in place; known after a prefill."""
        return ()

    def prefill(self, inputs: Any, stage: Callable) -> torch.Tensor:
        self.restart()
        return self.first(inputs, stage)

    def prepare(self, inputs: Any) -> None:
        """Compile or capture the step, once, after a prefill of its own."""
        if self.args.compile == "off" and self.args.cuda_graph == "off":
            return
        tokens = self.prefill(inputs, QuietClock().stage)
        if self.args.compile == "reduce-overhead":
            for tensor in self.static_tensors():
                torch._dynamo.mark_static_address(tensor)
        if self.args.compile != "off":
            self.step = CompiledStep(self.compute, self.args.compile, tokens)
            tokens = self.prefill(inputs, QuietClock().stage)
        if self.args.cuda_graph == "on":
            self.step = CapturedStep(self.step, tokens)


class DecoderSession(Session):
    """Our own decoder. embed(inputs, stage) makes the embeddings of the prompt."""

    def __init__(self, args: argparse.Namespace, decoder: Decoder, embed: Callable,
                 prompt_tokens: int):
        super().__init__(args)
        self.decoder, self.embed = decoder, embed
        weight = decoder.embed_tokens.weight
        if args.kv_cache == "dynamic":
            self.cache: Any = DynamicCache(decoder.config.num_hidden_layers)
        else:
            self.cache = StaticCache(decoder.config, args.batch,
                                     cache_length(prompt_tokens, args.new_tokens),
                                     weight.device, weight.dtype)

    def restart(self) -> None:
        self.cache.reset()

    def first(self, inputs: Any, stage: Callable) -> torch.Tensor:
        return self.decoder(self.embed(inputs, stage), self.cache).argmax(-1, keepdim=True)

    def compute(self, tokens: torch.Tensor) -> torch.Tensor:
        embeddings = self.decoder.embed_tokens(tokens)
        return self.decoder(embeddings, self.cache).argmax(-1, keepdim=True)

    def static_tensors(self) -> Sequence[torch.Tensor]:
        return [*self.cache.keys, *self.cache.values, self.cache.slots, self.cache.position]


# New tokens at most in the operators pass, and in the repeat without graphs, whose steps are
# alike.
PROFILED_TOKENS, EAGER_TOKENS = 16, (4, 16)


def cache_length(prompt_tokens: int, new_tokens: int) -> int:
    """Slots of a static cache: a multiple of 64 that holds the run and the warming up."""
    needed = prompt_tokens + max(new_tokens, WARM_STEPS + 1)
    return -(-needed // 64) * 64


# ---- the loop ----

class Loop:
    """Runs a session over the sampling plan."""

    def __init__(self, args: argparse.Namespace, session: Session, batches: List[Batch],
                 load: Callable[[Batch], Loaded], device: torch.device):
        self.args, self.session, self.batches = args, session, batches
        self.load, self.device = load, device
        self.sync = args.sync_per_token == "on"
        self.inputs: List[Dict[str, Any]] = []

    @torch.no_grad()
    def generate(self, inputs: Any, clock: Any) -> torch.Tensor:
        """Prefill and all steps of one batch; the tokens, [batch, new_tokens]."""
        count = self.args.new_tokens
        output = torch.empty(self.args.batch, count, dtype=torch.long, device=self.device)
        with clock.stage("prefill"):
            tokens = self.session.prefill(inputs, clock.stage)
            self.keep(output, 0, tokens)
        if count > 1:
            with clock.stage("decode"):
                for number in clock.steps("decode_step", count - 1):
                    tokens = self.session.step(tokens)
                    self.keep(output, number + 1, tokens)
        return output

    def keep(self, output: torch.Tensor, column: int, tokens: torch.Tensor) -> None:
        output[:, column:column + 1] = tokens
        if self.sync:
            tokens.tolist()  # the CPU waits for the GPU

    def warm_up(self) -> None:
        inputs, _ = self.load(self.batches[0])
        with torch.no_grad():
            self.session.prepare(inputs)
        for _ in range(self.args.warmup):
            self.generate(inputs, QuietClock())

    def each(self) -> Iterator[Tuple[Batch, int, Any, List[Dict[str, Any]]]]:
        """(batch, number of the repeat, inputs, identities) of every run, in order."""
        for batch in self.batches:
            inputs, identities = self.load(batch)
            for repeat in range(1, self.args.repeats + 1):
                yield batch, repeat, inputs, identities

    def measure(self, prompt_tokens: int) -> List[Dict[str, Any]]:
        clock = Clock(torch, self.device, self.sync)
        repeats: List[Dict[str, Any]] = []
        for batch, repeat, inputs, identities in self.each():
            if len(repeats) == common.captures_again():
                self.capture_again(inputs)
            output = self.generate(inputs, clock)
            record = {"index": len(repeats) + 1, "epoch": batch.epoch, "sample": batch.number,
                      "repeat": repeat, "inputs": [self.number_of(entry) for entry in identities],
                      "output_sha256": digest(output),
                      "stages": self.stages_of(clock, prompt_tokens)}
            repeats.append(record)
            print(summary(record), flush=True)
        return repeats

    @torch.no_grad()
    def capture_again(self, inputs: Any) -> None:
        """The step's graph anew, where it has one."""
        captured = self.session.step
        if not isinstance(captured, CapturedStep):
            return
        with capture_range(torch):
            tokens = self.session.prefill(inputs, QuietClock().stage)
            self.session.step = CapturedStep(captured.eager, tokens)

    def number_of(self, entry: Dict[str, Any]) -> int:
        """Where the input is in the list of inputs, from 0."""
        if entry not in self.inputs:
            self.inputs.append(entry)
        return self.inputs.index(entry)

    def stages_of(self, clock: Clock, prompt_tokens: int) -> Dict[str, Any]:
        """The stages of a run, parents before children."""
        taken = clock.take()
        stages = {"prefill": taken.pop("prefill")}
        decode = taken.pop("decode", None)
        stages["prefill"]["tokens"] = self.args.batch * prompt_tokens
        stages.update(taken)
        if decode:
            steps = self.args.new_tokens - 1
            decode.update(tokens=self.args.batch * steps, steps=steps, **clock.take_steps())
            stages["decode"] = decode
        return stages

    def profile(self) -> Dict[str, Any]:
        """The first repeats, of a few tokens, under torch.profiler: it takes minutes for
        what a hundred thousand kernels were launched for, and all steps are alike."""
        self.args.new_tokens = min(self.args.new_tokens, PROFILED_TOKENS)

        def work(clock: ProfilerClock) -> None:
            for _, repeat, inputs, _ in self.each():
                if repeat == 1:
                    self.generate(inputs, clock)

        made = profile(torch, self.device, work, self.args.trace_out)
        made["source"] += f", one repeat of {self.args.new_tokens} tokens"
        return made


    def mark_operators(self) -> None:
        """The same once more, each operator in a range of its own."""
        self.args.new_tokens = min(self.args.new_tokens, PROFILED_TOKENS)
        with operator_ranges(torch):
            for _, repeat, inputs, _ in self.each():
                if repeat == 1:
                    self.generate(inputs, Clock(torch, self.device, self.sync))


    def repeat_eagerly(self) -> None:
        """A few tokens once more, the step without its graph, where it has one; and again,
        more of them, where counters are of several passes."""
        captured, count = self.session.step, self.args.new_tokens
        if not isinstance(captured, CapturedStep):
            return
        self.session.step = captured.eager
        with eager_range(torch):
            for tokens in EAGER_TOKENS[:common.eager_wanted()]:
                self.args.new_tokens = min(count, tokens)
                inputs, _ = self.load(self.batches[0])
                self.generate(inputs, Clock(torch, self.device, self.sync))
        self.session.step, self.args.new_tokens = captured, count


def digest(tokens: torch.Tensor) -> str:
    """Of the generated tokens, to see whether two runs said the same."""
    rows = "\n".join(" ".join(map(str, row)) for row in tokens.tolist())
    return hashlib.sha256(rows.encode()).hexdigest()


# ---- what is written ----

# Options that change what is computed or how: metrics.json repeats them.
REPORTED = ("device", "warmup", "seed", "attention", "experts", "kv_cache", "compile",
            "cuda_graph", "sync_per_token")


def metrics(program: str, args: argparse.Namespace, loop: Loop, model: Dict[str, Any],
            tokens: Dict[str, Any], repeats: List[Dict[str, Any]]) -> Dict[str, Any]:
    return {
        "schema_version": common.SCHEMA_VERSION,
        "workload": program,
        "model": dict(model, dtype=args.dtype),
        "options": {name: getattr(args, name) for name in REPORTED},
        "batch": args.batch,
        **tokens,
        "new_tokens": args.new_tokens,
        "inputs": loop.inputs,
        "repeats": repeats,
        "environment": common.environment(torch, loop.device),
    }


def execute(program: str, args: argparse.Namespace, loop: Loop, model: Dict[str, Any],
            tokens: Dict[str, Any]) -> None:
    """Warm up, then measure or profile, then write what llmprof asked for."""
    output = common.output_folder()
    print(f"{model['name']}: {model['parameters']['total'] / 1e6:.1f} M parameters, "
          f"{model['weights']} weights, {args.dtype}, {args.device}", flush=True)
    loop.warm_up()
    if output and common.operators_wanted():
        common.write_json(output / "operators.json", loop.profile())
        return
    with capture_window(torch, loop.device):
        repeats = loop.measure(tokens["prompt_tokens"])
    if output:
        common.write_json(output / "metrics.json",
                          metrics(program, args, loop, model, tokens, repeats))
    if loop.device.type == "cuda" and common.eager_wanted():
        loop.repeat_eagerly()
    if loop.device.type == "cuda" and common.marks_wanted():
        loop.mark_operators()


def start(args: argparse.Namespace) -> Tuple[torch.device, torch.dtype]:
    """The device and dtype; random numbers seeded."""
    device = common.open_device(torch, args.device)
    torch.manual_seed(args.seed)
    return device, getattr(torch, common.DTYPES[args.dtype])


def check_context(args: argparse.Namespace, prompt_tokens: int, limit: int) -> None:
    """Refuse a context that the model does not have; 0 is no limit."""
    needed = prompt_tokens + args.new_tokens
    if limit and needed > limit:
        raise WorkloadError(f"{prompt_tokens} prompt and {args.new_tokens} new tokens: the model's "
                            f"context is {limit}", common.USAGE)
