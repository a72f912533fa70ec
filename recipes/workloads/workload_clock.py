"""Ranges and times of stages, and the operators pass.

Three clocks with the same two methods: the loop of a workload does not know
whether it warms up, is measured or runs under torch.profiler. PyTorch is handed
in, not imported.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from workload_common import (SCHEMA_VERSION, USAGE, WorkloadError, first_line, operators_wanted,
                             output_folder)


class QuietClock:
    """For warm-up: no ranges, no times."""

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        yield

    def steps(self, name: str, count: int) -> Iterator[int]:
        return iter(range(count))


class ProfilerClock:
    """For the operators pass: ranges of torch.profiler, no times."""

    def __init__(self, torch: Any):
        self.record = torch.profiler.record_function
        self.names: Set[str] = set()

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.names.add(name)
        with self.record(name):
            yield

    def steps(self, name: str, count: int) -> Iterator[int]:
        for number in range(count):
            with self.stage(name):
                yield number


class Clock:
    """NVTX ranges and times of the stages of one run after the other.

    A stage ends when the GPU has done its work: the device is synchronised
    inside the range, so wall time is true. Steps are not: unless the loop itself
    waits, their wall time is only how fast the CPU got on.
    """

    def __init__(self, torch: Any, device: Any, steps_are_synced: bool):
        self.cuda = torch.cuda if device.type == "cuda" else None
        self.synced = steps_are_synced or self.cuda is None
        self.stages: Dict[str, Dict[str, Any]] = {}

    def _push(self, name: str) -> None:
        if self.cuda:
            self.cuda.nvtx.range_push(name)

    def _pop(self) -> None:
        if self.cuda:
            self.cuda.nvtx.range_pop()

    def _mark(self) -> Tuple[int, Any]:
        """Now, on the CPU's clock and on the GPU's."""
        event = None
        if self.cuda:
            event = self.cuda.Event(enable_timing=True)
            event.record()
        return time.perf_counter_ns(), event

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self._push(name)
        began, first = self._mark()
        try:
            yield
        finally:
            _, last = self._mark()
            if self.cuda:
                self.cuda.synchronize()
            ended = time.perf_counter_ns()
            self._pop()
        self._add(name, (ended - began) / 1e6, first.elapsed_time(last) if first else None)

    def _add(self, name: str, ms: float, gpu_ms: Optional[float]) -> None:
        stage = self.stages.setdefault(name, {"ms": 0.0, "gpu_ms": None, "count": 0})
        stage["ms"] += ms
        stage["count"] += 1
        if gpu_ms is not None:
            stage["gpu_ms"] = (stage["gpu_ms"] or 0.0) + gpu_ms

    def steps(self, name: str, count: int) -> Iterator[int]:
        """Iterate over the steps of the open stage, each in a range."""
        marks = [self._mark()]
        for number in range(count):
            self._push(name)
            yield number
            self._pop()
            marks.append(self._mark())
        self.marks = marks

    def take_steps(self) -> Dict[str, Any]:
        """Times of the steps last iterated over, once their stage has ended."""
        pairs = list(zip(self.marks, self.marks[1:]))
        wall = [(end[0] - begin[0]) / 1e6 for begin, end in pairs]
        gpu = [begin[1].elapsed_time(end[1]) for begin, end in pairs] if self.cuda else None
        return {"steps_ms": wall if self.synced else None, "steps_gpu_ms": gpu}

    def take(self) -> Dict[str, Dict[str, Any]]:
        """The stages since the last take, by name."""
        stages, self.stages = self.stages, {}
        return stages


# The range around what is measured; the recipes gate the capture on it.
MEASURED = "measured"


@contextlib.contextmanager
def capture_window(torch: Any, device: Any) -> Iterator[None]:
    """The range MEASURED inside cudaProfilerStart and Stop, for nsys
    --capture-range=nvtx and =cudaProfilerApi: loading and warm-up stay outside."""
    if device.type != "cuda":
        yield
        return
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStart()
    torch.cuda.nvtx.range_push(MEASURED)
    yield
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
    torch.cuda.cudart().cudaProfilerStop()


# The range around a repeat whose operators are ranges.
OPERATORS = "operators"


@contextlib.contextmanager
def operator_ranges(torch: Any) -> Iterator[None]:
    """The range OPERATORS, in which PyTorch makes one of each operator: a profiler that
    records launches and ranges then knows which operator launched what."""
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_push(OPERATORS)
    with torch.autograd.profiler.emit_nvtx(record_shapes=True):
        yield
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()


# The range around a repeat without CUDA graphs.
EAGER = "eager"


@contextlib.contextmanager
def eager_range(torch: Any) -> Iterator[None]:
    """The range EAGER: a profiler that cannot measure single kernels of CUDA graphs can do
    so in it."""
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_push(EAGER)
    yield
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()


# The range around a capture of CUDA graphs after others have been replayed.
CAPTURE = "capture"


@contextlib.contextmanager
def capture_range(torch: Any) -> Iterator[None]:
    """The range CAPTURE: a profiler that was not there at the first capture sees this one, and
    knows which lines the graph's kernels come from."""
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_push(CAPTURE)
    yield
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()


def summary(repeat: Dict[str, Any]) -> str:
    """A repeat in one line, for the terminal."""
    parts = [f"repeat {repeat['index']}"]
    for name, stage in repeat["stages"].items():
        parts.append(f"{name} {stage['ms']:.2f} ms")
    decode = repeat["stages"].get("decode")
    if decode:
        parts.append(f"{decode['ms'] / decode['steps']:.3f} ms/step")
    return "  ".join(parts)


# ---- the operators pass ----

def check_environment() -> None:
    """Refuse, before a model is made, what cannot work.

    CUPTI serves one client: beside another profiler, torch.profiler would see no
    GPU work.
    """
    output_folder()
    if not operators_wanted():
        return
    for name in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"):
        if os.environ.get(name):
            raise WorkloadError(f"LLMPROF_OPERATORS=1 under another profiler ({name} is set): "
                                "run the operators pass without nsys and ncu", USAGE)


def profile(torch: Any, device: Any, work: Callable[[ProfilerClock], None],
            trace_out: str) -> Dict[str, Any]:
    """Run `work` under torch.profiler; what operators.json says."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    cuda = device.type == "cuda"
    if cuda:
        activities.append(torch.profiler.ProfilerActivity.CUDA)
        torch.cuda.synchronize()
    clock = ProfilerClock(torch)
    with torch.profiler.profile(activities=activities, record_shapes=True) as profiler:
        began = time.perf_counter_ns()
        work(clock)
        if cuda:
            torch.cuda.synchronize()
        ended = time.perf_counter_ns()
    if trace_out:
        export_trace(profiler, trace_out)
    rows = profiler.key_averages(group_by_input_shape=True)
    operators = operators_of(rows, clock.names, cuda)
    events = profiler.events()
    add_details(operators, events, clock.names, cuda)
    device_ns = device_total(rows, clock.names)
    if cuda and device_ns == 0:
        raise WorkloadError("torch.profiler saw no GPU work: CUPTI is not usable here, or another "
                            "profiler holds it")
    found = {
        "schema_version": SCHEMA_VERSION,
        "source": f"torch.profiler, PyTorch {torch.__version__}",
        "wall_ms": (ended - began) / 1e6,
        "device_ns": device_ns if cuda else None,
        "unattributed_device_ns": max(0, device_ns - sum(
            operator["device_self_ns"] for operator in operators)) if cuda else None,
        "operators": operators,
    }
    launches = launches_of(events, clock.names)
    return {**found, "launches": launches} if launches else found


def export_trace(profiler: Any, path: str) -> None:
    """PyTorch logs that it cannot write, and goes on."""
    try:
        profiler.export_chrome_trace(path)
    except (OSError, RuntimeError) as error:
        raise WorkloadError(f"--trace-out {path}: {first_line(error)}") from error
    if not os.path.exists(path) or os.path.getsize(path) == 0:
        raise WorkloadError(f"--trace-out {path}: PyTorch could not write it")


def device_time(row: Any, which: str) -> float:
    """Microseconds; the attribute is called cuda_time in PyTorch before 2.4."""
    new = f"{which}device_time_total"
    return getattr(row, new) if hasattr(row, new) else getattr(row, f"{which}cuda_time_total")


def on_cpu(row: Any) -> bool:
    return getattr(row.device_type, "name", row.device_type) == "CPU"


def device_total(rows: Sequence[Any], ranges: Set[str]) -> int:
    """Nanoseconds of all kernels and copies, by any process."""
    return sum(round(device_time(row, "self_") * 1000) for row in rows
               if not on_cpu(row) and row.key not in ranges)


def operators_of(rows: Sequence[Any], ranges: Set[str], cuda: bool) -> List[Dict[str, Any]]:
    """Rows of key_averages by name: operators and runtime calls on the CPU.

    Kernels have rows of their own there; their time is already in that of the
    operator that launched them, so they are left out, as are the ranges.
    """
    merged: Dict[str, Dict[str, Any]] = {}
    shapes: Dict[str, int] = {}
    for row in rows:
        if not on_cpu(row) or row.key in ranges:
            continue
        entry = merged.setdefault(row.key, {
            "name": row.key, "calls": 0, "host_total_ns": 0, "host_self_ns": 0,
            "device_total_ns": 0 if cuda else None, "device_self_ns": 0 if cuda else None})
        entry["calls"] += row.count
        entry["host_total_ns"] += round(row.cpu_time_total * 1000)
        entry["host_self_ns"] += round(row.self_cpu_time_total * 1000)
        if cuda:
            entry["device_total_ns"] += round(device_time(row, "") * 1000)
            entry["device_self_ns"] += round(device_time(row, "self_") * 1000)
        if any(row.input_shapes or []) and row.count > shapes.get(row.key, 0):
            shapes[row.key] = row.count
            entry["input_shapes"] = row.input_shapes
    return sorted(merged.values(), key=lambda entry: (
        -(entry["device_self_ns"] or 0), -entry["host_self_ns"], entry["name"]))


# Kernels that are listed of an operator, the largest.
KERNELS = 50


def stage_of(event: Any, ranges: Set[str]) -> Optional[str]:
    """The outermost of `ranges` around an event; None outside all of them."""
    found, above = None, event.cpu_parent
    while above is not None:
        if above.name in ranges:
            found = above.name
        above = above.cpu_parent
    return found


def add_details(operators: List[Dict[str, Any]], events: Sequence[Any], ranges: Set[str],
                cuda: bool) -> None:
    """Say of each operator in which stages it ran, and which kernels it launched itself.

    events: those of the profiler one by one, each with its parent on the CPU.
    """
    stages: Dict[str, Dict[str, Dict[str, Any]]] = {}
    kernels: Dict[str, Dict[str, Dict[str, Any]]] = {}
    for event in events:
        if not on_cpu(event) or event.name in ranges:
            continue
        stage = stage_of(event, ranges)
        if stage is not None:
            entry = stages.setdefault(event.name, {}).setdefault(stage, {
                "name": stage, "calls": 0, "host_self_ns": 0,
                "device_self_ns": 0 if cuda else None})
            entry["calls"] += 1
            entry["host_self_ns"] += round(event.self_cpu_time_total * 1000)
            if cuda:
                entry["device_self_ns"] += round(device_time(event, "self_") * 1000)
        for kernel in event.kernels:
            made = kernels.setdefault(event.name, {}).setdefault(kernel.name, {
                "name": kernel.name, "calls": 0, "device_ns": 0})
            made["calls"] += 1
            made["device_ns"] += round(kernel.duration * 1000)
    for operator in operators:
        name = operator["name"]
        if name in stages:
            operator["stages"] = list(stages[name].values())
        if name in kernels:
            operator["kernels"] = sorted(kernels[name].values(), key=lambda made: (
                -made["device_ns"], made["name"]))[:KERNELS]


# Launches that are kept in order.
LAUNCHES = 300000


def is_call(event: Any) -> bool:
    """A call of the CUDA runtime or driver, as torch.profiler names them."""
    return re.match(r"(cuda|cu|hip)[A-Z]", event.name) is not None


# Its own work, which torch.profiler shows beside operators.
PROFILER = {"Activity Buffer Request", "Buffer Flush", "Instrumentation", "Resource"}


def operator_around(event: Any, ranges: Set[str]) -> Optional[str]:
    """The innermost operator around a call; None where a range is nearer."""
    above = event.cpu_parent
    while above is not None and (is_call(above) or above.name in PROFILER):
        above = above.cpu_parent
    return above.name if above is not None and above.name not in ranges else None


def stage_event(event: Any, ranges: Set[str]) -> Any:
    """The outermost of `ranges` around an event, the event itself; None outside all."""
    found, above = None, event.cpu_parent
    while above is not None:
        if above.name in ranges:
            found = above
        above = above.cpu_parent
    return found


class Numbers:
    """Different values, each with its place among them."""

    def __init__(self) -> None:
        self.places: Dict[Any, int] = {}

    def of(self, value: Any) -> int:
        return self.places.setdefault(value, len(self.places))

    def all(self) -> List[Any]:
        return list(self.places)


def launches_of(events: Sequence[Any], ranges: Set[str]) -> Optional[Dict[str, Any]]:
    """What was launched, in order, each with the operator that did; None without a GPU.

    A call and what it launched share their id. llmprof pairs this with a timeline.
    """
    launched: Dict[int, List[str]] = {}
    for event in events:
        if not on_cpu(event) and event.name not in ranges:
            launched.setdefault(event.id, []).append(event.name)
    calls = sorted((event for event in events
                    if on_cpu(event) and is_call(event) and event.id in launched),
                   key=lambda event: event.time_range.start)
    kernels, operators, places = Numbers(), Numbers(), Numbers()
    stages: List[Dict[str, Any]] = []
    by_stage: Dict[int, List[int]] = {}
    count = 0
    for call in calls:
        stage = stage_event(call, ranges)
        if id(stage) not in by_stage:
            by_stage[id(stage)] = []
            stages.append({"name": stage.name if stage else None, "order": by_stage[id(stage)]})
        for name in launched[call.id]:
            count += 1
            if count <= LAUNCHES:
                operator = operator_around(call, ranges)
                place = (kernels.of(name), None if operator is None else operators.of(operator))
                by_stage[id(stage)].append(places.of(place))
    if not count:
        return None
    for entry in stages:
        entry["order"] = " ".join(map(str, entry["order"]))
    return {"kernels": kernels.all(), "operators": operators.all(),
            "places": [{"kernel": kernel, "operator": operator}
                       for kernel, operator in places.all()],
            "stages": stages, "left_out": count - LAUNCHES if count > LAUNCHES else None}
