"""What is recorded: healthy programs, and programs with one fault each.

`kind` is the fault, `stage` and `place` say where it is. What a fault costs is timed by program.py.
Which findings name a fault, and which are true as well, is in ../mapping.json.
"""

from __future__ import annotations

import atexit
import dataclasses
import gc
import os
import subprocess
import sys
import threading
import time
from typing import Any, Callable, List, Optional, Tuple

import torch
from model import Shape
from torch.nn import functional as F


@dataclasses.dataclass(frozen=True)
class Run:
    name: str
    shape: Shape
    kind: str = ""  # healthy if empty
    stage: str = "decode"  # where it is; empty: in all
    place: str = ""
    switches: Tuple[str, ...] = ()
    eager: bool = False  # the fault is that no graph is replayed, or cannot be in one
    always: Optional[Callable[[Any, int], None]] = None  # in a step, of a healthy program too
    before: Optional[Callable[[Any, int], None]] = None  # in a step, before its forward pass
    after: Optional[Callable[[Any, int], None]] = None  # in a step, after it
    between: Optional[Callable[[Any, int], None]] = None  # between two steps
    layer: Optional[Callable[[Any, int], None]] = None  # in each layer
    start: Optional[Callable[[], None]] = None  # before the program has the GPU
    prepare: Optional[Callable[[Any], None]] = None
    rank_work: Optional[Callable[[Any, int, torch.Tensor], None]] = None  # rank 1, each all-reduce
    load: Optional[Callable[[int, bool], Tuple[int, int]]] = None  # prompt tokens, requests
    timed: bool = True  # the difference of both times is what the fault costs
    names: Tuple[str, str, str] = ("prefill", "decode", "decode_step")  # of its ranges
    one_gpu: bool = False  # its ranks can share one
    program: str = "model"
    tool: str = "collector"  # or nsys, torch


# ---- shapes ----

GRAPH = Shape()
BATCH = Shape(batch=16, prompt=256)
WIDE = Shape(hidden=8192, layers=4, ffn=28672, batch=64, prompt=64, steps=24, graph=False)
SMALL = Shape(hidden=1024, ffn=2816, prompt=128, steps=32, graph=True)
LONG = Shape(hidden=4096, layers=4, ffn=11008, batch=4, prompt=2048, steps=8)
EXPERTS = Shape(hidden=2048, layers=4, ffn=1408, batch=16, prompt=64, experts=16)
ENGINE = Shape(hidden=4096, layers=6, ffn=11008, batch=16, prompt=2048, steps=48)
PAIR = Shape(hidden=4096, layers=6, ffn=11008, batch=8, prompt=512, ranks=2,
             graph="NO_GRAPH" not in os.environ)  # where NCCL is in no graph
EAGER_PAIR = dataclasses.replace(PAIR, graph=False)
HALVES = dataclasses.replace(PAIR, batch=16, prompt=1024, ffn=5632, steps=16)
EXPERT_PAIR = Shape(hidden=2048, layers=4, ffn=5632, batch=16, prompt=1024, steps=16, experts=16,
                    ranks=2, graph=False)
EXPERT_GRAPHS = dataclasses.replace(EXPERT_PAIR, graph=PAIR.graph)
STAGES = Shape(hidden=4096, layers=8, ffn=11008, batch=8, prompt=2048, steps=1, ranks=2,
               graph=False)
ONE, TWO = Shape(), Shape(ranks=2)
HF = Shape(hidden=2048, layers=8, ffn=5632, batch=4, prompt=256, steps=6)
FEW = Shape(hidden=3072, layers=5, ffn=8192, batch=4, prompt=384, steps=20)
MANY = dataclasses.replace(WIDE, batch=48, steps=16)
CONTEXT = Shape(hidden=4096, layers=4, ffn=11008, batch=16, prompt=4096, steps=12)


# ---- faults of the CPU and of copies ----

def busy(ms: float) -> None:
    """The CPU works in Python."""
    end = time.perf_counter() + ms / 1e3
    while time.perf_counter() < end:
        pass


def every(period: int, fault: Callable[[Any], None]) -> Callable[[Any, int], None]:
    def step(program: Any, number: int) -> None:
        if number % period == period - 1:
            fault(program)
    return step


def collect_garbage(program: Any) -> None:
    if "garbage" not in program.other:
        program.other["garbage"] = [[index] for index in range(600000)]
    gc.collect()


def wait(program: Any, number: int) -> None:
    torch.cuda.synchronize()


def read_each(program: Any, number: int) -> None:
    """Reads the tokens one by one."""
    for row in range(program.shape.batch):
        program.ids[row].item()


def pageable_copy(program: Any, number: int) -> None:
    if "pageable" not in program.other:
        program.other["pageable"] = torch.ones(2 << 20)
    program.other["pageable"].to("cuda")


def offloaded(program: Any, number: int) -> None:
    """Weights that are kept on the host arrive before each step, by the same stream."""
    if "pinned" not in program.other:
        program.other["pinned"] = torch.ones(16 << 20).pin_memory()
        program.other["arrived"] = torch.empty(16 << 20, device="cuda")
    program.other["arrived"].copy_(program.other["pinned"], non_blocking=True)


def churn(program: Any, number: int) -> None:
    """Memory goes back to the driver, and is asked for again, in each step."""
    torch.cuda.empty_cache()
    kept = [torch.empty(64 << 20, device="cuda", dtype=torch.uint8) for _ in range(2)]
    del kept


def compile_once(program: Any) -> None:
    """A kernel is compiled when it is first used: in the middle of the steps, each repeat."""
    count = program.other["compiled"] = program.other.get("compiled", 0) + 1
    made = torch.cuda._compile_kernel(
        'extern "C" __global__ void late_%d(float *out) { out[threadIdx.x] *= %d.5f; }'
        % (count, count), "late_%d" % count)
    made((1, 1, 1), (32, 1, 1), (torch.ones(32, device="cuda"),))


def in_the_middle(program: Any, number: int) -> None:
    if number == 17:
        compile_once(program)


def recompile(program: Any, number: int) -> None:
    """Compiled for each length anew, for eight lengths."""
    if number % 4 == 0:
        compile_once(program)


def draft(program: Any, number: int) -> None:
    """A drafter proposes four tokens: of those of a step that verifies one, none is accepted."""
    states = program.model.embedding[program.ids[:, :1]]
    for _ in range(4):
        with_range(program, states)


def propose(program: Any, number: int) -> None:
    """A drafter proposes four tokens, in one graph; the step verifies them."""
    if "drafts" not in program.other:
        side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        with torch.cuda.stream(side):
            draft(program, number)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
            draft(program, number)
        program.other["drafts"] = graph
    torch.cuda.nvtx.range_push("draft")
    program.other["drafts"].replay()
    torch.cuda.nvtx.range_pop()


def with_range(program: Any, states: torch.Tensor) -> None:
    torch.cuda.nvtx.range_push("draft")
    layer = program.model.layers[0]
    made = program.model.network(layer, program.model.attend(layer, states))
    (made[:, -1] @ program.model.head).argmax(-1)
    torch.cuda.nvtx.range_pop()


def hold_the_gil(program: Any) -> None:
    """A thread of the process works in Python all the time."""
    def work() -> None:
        while True:
            sum(range(1000))
    threading.Thread(target=work, daemon=True).start()


def pin(program: Any, number: int) -> None:
    """Memory of the host is pinned for each step."""
    memory = program.other.setdefault("host", torch.ones(1 << 20))
    torch.cuda.cudart().cudaHostRegister(memory.data_ptr(), memory.nbytes, 0)
    torch.cuda.cudart().cudaHostUnregister(memory.data_ptr())


def log_logits(program: Any, number: int) -> None:
    """All logits go to pageable memory, for a log."""
    if "logits" not in program.other:
        program.other["logits"] = torch.ones(program.shape.batch, program.shape.vocabulary,
                                             device="cuda")
    program.other["logits"].cpu()


def event_wait(program: Any, number: int) -> None:
    event = torch.cuda.Event()
    event.record()
    event.synchronize()


def block_launches() -> None:
    """Each launch returns when its kernel has ended."""
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"


def one_core(program: Any) -> None:
    """The process shares one core with another that never sleeps."""
    core = sorted(os.sched_getaffinity(0))[0]
    os.sched_setaffinity(0, {core})
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    os.sched_setaffinity(child.pid, {core})
    atexit.register(child.kill)


def same_core(program: Any) -> None:
    """The processes of all ranks share one core."""
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})


NEIGHBOUR = """
import os, sys, torch
parent = os.getppid()
sys.stdin.readline()
large = torch.ones(4096, 4096, device="cuda", dtype=torch.bfloat16)
torch.cuda.synchronize()
print("on", flush=True)
while os.getppid() == parent:
    for _ in range(20):
        large @ large
    torch.cuda.synchronize()
"""
neighbours: List[Any] = []


def start_neighbour() -> None:
    """Another process, that is not recorded, and uses the GPU once it is told."""
    environment = {name: value for name, value in os.environ.items()
                   if "INJECTION" not in name and "LLMPROF" not in name}
    child = subprocess.Popen([sys.executable, "-c", NEIGHBOUR], env=environment, text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(child.kill)
    neighbours.append(child)


def neighbour_on(program: Any) -> None:
    child = neighbours[0]
    child.stdin.write("on\n")
    child.stdin.flush()
    child.stdout.readline()


def prefetch(program: Any, number: int) -> None:
    """Weights that are kept on the host arrive by a stream of their own, for the next step."""
    if "pinned" not in program.other:
        program.other["pinned"] = torch.ones(1 << 20).pin_memory()
        program.other["arrived"] = torch.empty(1 << 20, device="cuda")
    with torch.cuda.stream(program.side):
        program.other["arrived"].copy_(program.other["pinned"], non_blocking=True)


def on_the_side(program: Any, number: int) -> None:
    """Another stream multiplies large matrices meanwhile."""
    if number:
        return
    if "large" not in program.other:
        program.other["large"] = torch.ones(8192, 8192, device="cuda", dtype=torch.bfloat16)
    with torch.cuda.stream(program.side):
        for _ in range(16):
            torch.mm(program.other["large"], program.other["large"])


def copy_ids(program: Any, number: int) -> None:
    """The tokens go to pinned memory, and are read one step late, as engines do it."""
    kept = program.other.setdefault("late", [
        (torch.empty_like(program.ids, device="cpu").pin_memory(), torch.cuda.Event())
        for _ in range(2)])
    ids, copied = kept[number % 2]
    if number > 1:
        copied.synchronize()
        ids.tolist()
    ids.copy_(program.ids, non_blocking=True)
    copied.record()


def small_pageable(program: Any, number: int) -> None:
    """Sampling's parameters come from pageable memory, each by itself."""
    for _ in range(12):
        torch.ones(program.shape.batch).to("cuda")


def norm_on_one_block(program: Any, number: int) -> None:
    """Rows of the head are normalised on one block: a kernel written for one sequence."""
    program.model.kernels.row_norms(program.model.head.view(-1, program.shape.hidden)[:256], 1)


def offloaded_layers(program: Any, number: int) -> None:
    """Each layer's weights arrive from the host before it begins."""
    if "layers" not in program.other:
        program.other["layers"] = torch.ones(4 << 20).pin_memory()
        program.other["place"] = torch.empty(4 << 20, device="cuda")
    program.other["place"].copy_(program.other["layers"], non_blocking=True)


# ---- faults of a rank ----

def late_by_cpu(program: Any, number: int) -> None:
    if program.rank == 1:
        busy(1.5)


def first_late(program: Any, number: int) -> None:
    """The first rank does for all what each could do for itself."""
    if program.rank == 0:
        busy(2)


def late_by_gpu(program: Any, number: int, tensor: torch.Tensor) -> None:
    for _ in range(2):
        F.gelu(tensor @ program.model.layers[0].out.T @ program.model.layers[0].out)


def late_by_layer(program: Any, number: int, tensor: torch.Tensor) -> None:
    if number == 3:
        for _ in range(12):
            F.gelu(tensor @ program.model.layers[0].out.T @ program.model.layers[0].out)


# ---- loads of the engine ----

def steady(number: int, faulty: bool) -> Tuple[int, int]:
    return 0, 16


def long_prompts(number: int, faulty: bool) -> Tuple[int, int]:
    return (2048, 16) if faulty and number % 6 == 5 else (0, 16)


def one_by_one(number: int, faulty: bool) -> Tuple[int, int]:
    return 0, 1


def small_chunks(number: int, faulty: bool) -> Tuple[int, int]:
    return (32, 16) if faulty else (0, 16)


def five(number: int, faulty: bool) -> Tuple[int, int]:
    return 0, 5


def sound_chunks(number: int, faulty: bool) -> Tuple[int, int]:
    return 512, 16


RUNS = (
    # healthy
    Run("graph", GRAPH),
    Run("graph_nsys", GRAPH, tool="nsys"),
    Run("batch", BATCH),
    Run("batch_torch", BATCH, tool="torch"),
    Run("wide", WIDE),
    Run("long", LONG),
    Run("experts", EXPERTS),
    Run("experts_nsys", EXPERTS, tool="nsys"),
    Run("engine", ENGINE, program="engine", load=steady),
    Run("engine_torch", ENGINE, program="engine", load=steady, tool="torch"),
    Run("pair", PAIR),
    Run("pair_nsys", PAIR, tool="nsys"),
    Run("halves", HALVES, program="halves"),
    Run("stages", STAGES, program="pipeline"),
    Run("expert_pair", EXPERT_GRAPHS),
    Run("sound_chunks", ENGINE, program="engine", load=sound_chunks),
    Run("prefetch", WIDE, always=prefetch),
    Run("long_nsys", LONG, tool="nsys"),
    # the GPU waits for the CPU
    Run("launches", SMALL, "launch_bound", eager=True),
    Run("no_graph", BATCH, "missing_graph", eager=True, tool="nsys"),
    Run("broken", GRAPH, "broken_graph", switches=("broken_graph",)),
    Run("sync_token", WIDE, "sync_per_token", after=wait),
    Run("sync_layer", WIDE, "sync_per_layer", "", layer=wait, place="layer"),
    Run("items", BATCH, "item_in_loop", after=read_each, tool="nsys"),
    Run("sleep", GRAPH, "slow_every_nth", before=every(8, lambda program: time.sleep(0.005))),
    Run("garbage", BATCH, "garbage_collection", between=every(8, collect_garbage)),
    Run("tokenizer", GRAPH, "slow_between_steps", between=lambda program, number: busy(1.5)),
    Run("churn", GRAPH, "allocator_churn", before=churn),
    Run("recompile", BATCH, "recompilation", before=recompile),
    Run("first_use", GRAPH, "compile_in_the_middle", before=in_the_middle),
    Run("core", SMALL, "slow_core", eager=True, prepare=one_core),
    # copies
    Run("pageable", BATCH, "pageable_copies", before=pageable_copy),
    Run("offload", GRAPH, "copies_not_overlapped", before=offloaded, tool="torch"),
    # work on the GPU that need not be
    Run("loop", dataclasses.replace(EXPERTS, graph=False, steps=8), "experts_in_a_loop", "",
        switches=("experts_loop",)),
    Run("cat", dataclasses.replace(WIDE, prompt=256), "kv_cache_by_cat", switches=("cat_cache",)),
    Run("fp32", BATCH, "fp32_matmul", "", switches=("fp32_matmul",)),
    Run("casts", BATCH, "casts", "", switches=("casts",)),
    Run("unfused", LONG, "unfused_attention", "prefill", switches=("unfused_attention",)),
    Run("layout", BATCH, "layout_copies", switches=("layout_copies",)),
    Run("elementwise", BATCH, "small_elementwise", "", switches=("small_elementwise",),
        tool="nsys"),
    Run("blocks", GRAPH, "low_occupancy", "", switches=("low_occupancy",)),
    Run("tail", GRAPH, "tail_effect", "", switches=("tail",), timed=False),
    Run("process", BATCH, "other_process_on_the_gpu", "", start=start_neighbour,
        prepare=neighbour_on),
    Run("neighbour", BATCH, "other_stream_in_the_way", before=on_the_side),
    # ranks
    Run("rank_cpu", PAIR, "late_rank_by_cpu", before=late_by_cpu, place="rank 1"),
    Run("rank_gpu", PAIR, "late_rank_by_gpu", "", rank_work=late_by_gpu, place="rank 1"),
    Run("rank_layer", PAIR, "late_rank_by_layer", "", rank_work=late_by_layer,
        place="rank 1, layer 3"),
    Run("rank_core", EAGER_PAIR, "slow_core", prepare=same_core),
    Run("reduces", PAIR, "small_all_reduces", "", switches=("small_all_reduces",)),
    Run("exposed", HALVES, "exposed_communication", "prefill", program="halves"),
    Run("bubbles", STAGES, "pipeline_bubbles", "prefill", program="pipeline"),
    Run("busy_experts", EXPERT_PAIR, "expert_imbalance", "prefill", switches=("imbalance",),
        place="rank 1"),
    # engines
    Run("stalls", ENGINE, "prefill_stalls_decode", "", program="engine", load=long_prompts),
    Run("single", dataclasses.replace(ENGINE, batch=1), "batch_too_small", program="engine",
        load=one_by_one, timed=False),
    Run("chunks", ENGINE, "chunk_too_small", "", program="engine", load=small_chunks, timed=False),
    Run("draft", GRAPH, "low_acceptance", before=draft),
    # other programs, names and sizes
    Run("late_ids", FEW, always=copy_ids, names=("context", "generation", "token")),
    Run("many", MANY, always=copy_ids),
    Run("sleep_rare", FEW, "slow_every_nth", "generation", names=("context", "generation", "token"),
        before=every(5, lambda program: time.sleep(0.012))),
    Run("garbage_inside", MANY, "garbage_collection", before=every(4, collect_garbage)),
    Run("pageable_small", FEW, "pageable_copies", "generation", before=small_pageable,
        names=("context", "generation", "token")),
    Run("one_block", FEW, "low_occupancy", "generation", after=norm_on_one_block,
        names=("context", "generation", "token")),
    Run("offload_layers", MANY, "copies_not_overlapped", "", layer=offloaded_layers),
    Run("casts_many", MANY, "casts", "", switches=("casts",)),
    Run("unfused_few", dataclasses.replace(FEW, prompt=1536), "unfused_attention", "prefill",
        switches=("unfused_attention",)),
    Run("efficient", LONG, "older_attention", "prefill", switches=("efficient_attention",)),
    Run("two_waits", MANY, "sync_per_token", after=lambda program, number: program.ids.tolist()),
    Run("graph_padding", ENGINE, "padding_waste", program="engine", load=five, timed=False),
    # other causes
    Run("verified", dataclasses.replace(FEW, drafts=4, batch=8), always=propose),
    Run("context", CONTEXT, always=copy_ids),
    Run("gil", FEW, "gil_contention", always=copy_ids, prepare=hold_the_gil),
    Run("pinning", MANY, "allocator_churn", before=pin),
    Run("pinning_nsys", MANY, "allocator_churn", before=pin, tool="nsys", timed=False),
    Run("log_logits", EXPERTS, "pageable_copies", after=log_logits, tool="nsys"),
    Run("event_wait", MANY, "sync_per_layer", "", layer=event_wait, place="layer", tool="torch"),
    Run("blocking", MANY, "blocking_launches", "", start=block_launches, timed=False),
    Run("beams", dataclasses.replace(MANY, prompt=256), "kv_cache_reordered",
        switches=("cache_reorder",)),
    Run("odd_vocabulary", dataclasses.replace(FEW, vocabulary=64000), "unaligned_matmul", "",
        switches=("odd_vocabulary",)),
    Run("sorted_vocabulary", MANY, "sampling_by_sort", "", switches=("sorted_vocabulary",),
        timed=False),
    Run("detokenizer", ENGINE, "slow_between_steps", program="engine", load=steady,
        between=lambda program, number: busy(3)),
    Run("rank_first", EXPERT_GRAPHS, "late_rank_by_cpu", before=first_late, place="rank 0"),
    # PerfAdvisor's
    Run("tiny_kernels", ONE, "kernel_launch_overhead", "pass", program="scenario"),
    Run("sync_stall", ONE, "cpu_sync_stall", "pass", program="scenario"),
    Run("transfer_bound", ONE, "pcie_transfer_bound", "pass", program="scenario"),
    Run("overlap_missing", ONE, "cpu_gpu_overlap_missing", "pass", program="scenario"),
    Run("p2p_staged", TWO, "unnecessary_host_staging_intranode", "pass", program="scenario"),
    Run("mpi_barrier_stall", TWO, "mpi_load_imbalance", "pass", program="scenario",
        place="rank 1"),
    Run("mpi_allreduce", TWO, "host_staged_collective", "pass", program="scenario", timed=False,
        one_gpu=True),
    # transformers
    Run("generate", HF, "launch_bound", "", program="generate", tool="torch", timed=False),
)
