"""Gains of stages that are held up, and of late ranks, straight from a capture: the CPU of the
threads that launch, what the GPU waits for meanwhile, and what a rank needs for a step."""
from typing import Dict, List, NamedTuple, Optional, Tuple

import engine
import host
import meetings
from capture import Capture, Op, Span, covered, length, union
from figures import Figures, mean

SLOW_TO_COPY, DEVICE_TO_HOST = 50000, 2
HELD_BACK = ("launch", "other", "host")


class Interval(NamedTuple):
    """One instance of a stage; process None: of the only one."""
    stage: str
    start: int
    end: int
    process: Optional[int]


def own_ops(capture: Capture, process: Optional[int]) -> List[Op]:
    return [op for op in capture.ops if process is None or op.process == process]


def held_back(capture: Capture, intervals: List[Interval]) -> Dict[str, float]:
    """By stage, the mean idle time that launches and the program between them hold back."""
    spans: Dict[Optional[int], Tuple[Dict[str, List[Span]], List[Span]]] = {}
    for process in {one.process for one in intervals}:
        ops = own_ops(capture, process)
        threads = {op.call.thread for op in ops if op.call}
        calls = [call for call in host.calls_of(capture) if call[2] in threads]
        busy = [(op.start, op.end) for op in ops]
        kept = [span for span, owner in replays_of(capture) if process in (None, owner)]
        spans[process] = host.classes_of(calls), union(busy + kept)
    times: Dict[str, List[float]] = {}
    for one in intervals:
        classes, kept = spans[one.process]
        idle = host.idle_by_class(classes, host.gaps_in(kept, one.start, one.end))
        times.setdefault(one.stage, []).append(sum(idle[kind] for kind in HELD_BACK))
    return {stage: mean(own) or 0.0 for stage, own in times.items()}


def replays_of(capture: Capture) -> List[Tuple[Span, int]]:
    """When each replay of a graph kept the GPU, and its process."""
    launches = {(start, thread) for start, thread, name in capture.rows(
        "CUPTI_ACTIVITY_KIND_RUNTIME", ["start", "globalTid", "nameId"])
        if "GraphLaunch" in capture.strings.get(name, "")}
    made: Dict[Tuple, Tuple[Span, int]] = {}
    for op in capture.ops:
        if op.call and (op.call.start, op.call.thread) in launches:
            (first, last), _ = made.get(op.call.key, ((op.call.end, op.end), 0))
            made[op.call.key] = (min(first, op.start), max(last, op.end)), op.process
    return list(made.values())


def of_engine(capture: Capture) -> List[Interval]:
    return [Interval(step.phase or "", step.begin(), step.last(), step.process)
            for step in engine.find_steps(capture)]


def of_results(results: dict) -> List[Interval]:
    """The instances that our results say they used, of one process."""
    return [Interval(stage["name"], one["start_ns"], one["start_ns"] + one["wall_ns"], None)
            for stage in results["stages"] for one in stage["instances"]
            if one["used"] and not stage.get("parent")]


# ---- late ranks ----

def waits_of(capture: Capture) -> Dict[int, List[Span]]:
    """By thread, when it was in a call that waits for the GPU, or in a copy to the host that did:
    its call lasted until it was done, and it began long after that had begun."""
    waits: Dict[int, List[Span]] = {}
    for start, end, thread, kind in host.calls_of(capture):
        if kind == "sync":
            waits.setdefault(thread, []).append((start, end))
    kinds = {(start, end): kind for start, end, kind in capture.rows(
        "CUPTI_ACTIVITY_KIND_MEMCPY", ["start", "end", "copyKind"])}
    for op in capture.ops:
        if op.kind == "copy" and op.call and kinds[op.start, op.end] == DEVICE_TO_HOST \
                and op.call.end >= op.end and op.start - op.call.start >= SLOW_TO_COPY:
            waits.setdefault(op.call.thread, []).append((op.call.start, op.end))
    return {thread: union(own) for thread, own in waits.items()}


def cpu_of(capture: Capture, waits: Dict[int, List[Span]]) -> Dict[Tuple[int, int], int]:
    """By process and start of a step's range, what its CPU needs."""
    return {(item.thread >> 24, item.start): item.end - item.start
            - covered(waits.get(item.thread, []), item.start, item.end)
            for item in capture.ranges if engine.LABEL.match(item.tag)}


def meetings_of(capture: Capture) -> Dict[int, int]:
    """By place of a kernel of a collective among the operations, ns that it waits for others:
    NCCL's and vLLM's, by their order in each process."""
    by_kind: Dict[str, Dict[int, List[int]]] = {}
    for place, op in enumerate(capture.ops):
        if op.kind == "kernel" and engine.COMMUNICATION.search(op.name):
            by_kind.setdefault(op.name, {}).setdefault(op.process, []).append(place)
    made: Dict[int, int] = {}
    for own in by_kind.values():
        for places in own.values():
            places.sort(key=lambda place: capture.ops[place].start)
        for meeting in zip(*own.values()):
            last = max(capture.ops[place].start for place in meeting)
            for place in meeting:
                op = capture.ops[place]
                made[place] = max(min(last, op.end) - op.start, 0)
    return made


def needs(capture: Capture) -> Dict[str, Dict[int, Dict[str, float]]]:
    """By phase and process, means over its steps: CPU, GPU without the waiting, in ns."""
    waits = meetings_of(capture)
    waited = {id(capture.ops[place]): ns for place, ns in waits.items()}
    cpu = cpu_of(capture, waits_of(capture))
    made: Dict[str, Dict[int, Dict[str, float]]] = {}
    for phase in ("prefill", "mixed", "decode"):
        for step in engine.find_steps(capture):
            if step.phase != phase:
                continue
            own = made.setdefault(phase, {}).setdefault(step.process, {"steps": 0, "cpu": 0,
                                                                       "gpu": 0})
            own["steps"] += 1
            own["cpu"] += cpu[step.process, step.start]
            own["gpu"] += length(union([(op.start, op.end) for op in step.ops])) - sum(
                waited.get(id(op), 0) for op in step.ops)
        for own in made.get(phase, {}).values():
            for key in ("cpu", "gpu"):
                own[key] /= own["steps"]
    return made


# ---- what llmprof says ----

def ours(results: dict) -> Figures:
    made: Figures = {}
    for stage in results["stages"]:
        if stage.get("waiting") and not stage.get("parent"):
            made[f"{stage['name']}: held back by the CPU ns"] = sum(
                stage["waiting"][kind + "_ns"] for kind in HELD_BACK)
    for late in (results.get("ranks") or {}).get("late") or []:
        made[f"late in {late['phase']}: gain ns"] = late.get("gain_ns")
        for rank in late["ranks"]:
            title = f"late in {late['phase']}, rank {rank['rank']}"
            made.update({f"{title}: CPU ns": rank.get("cpu_ns"),
                         f"{title}: GPU ns": rank.get("work_ns")})
    return made


def compute(capture: Capture, results: dict) -> Figures:
    """Where an engine labels its steps, from these; else within the instances that llmprof says it
    used, whose times are compared elsewhere."""
    labelled = any(engine.LABEL.match(item.tag) for item in capture.ranges)
    intervals = of_engine(capture) if labelled else of_results(results)
    made: Figures = {f"{stage}: held back by the CPU ns": ns
                     for stage, ns in held_back(capture, intervals).items()}
    said = {late["phase"]: late for late in (results.get("ranks") or {}).get("late") or []}
    ranks = meetings.ranks_of(capture)
    for phase, own in needs(capture).items() if len(ranks) > 1 and labelled else []:
        if phase not in said:
            continue
        need = {ranks[process]: max(one["cpu"], one["gpu"]) for process, one in own.items()}
        late = said[phase]["rank"]
        rest = max(ns for rank, ns in need.items() if rank != late)
        made[f"late in {phase}: gain ns"] = max(need[late] - rest, 0)
        for process, one in own.items():
            title = f"late in {phase}, rank {ranks[process]}"
            made.update({f"{title}: CPU ns": one["cpu"], f"{title}: GPU ns": one["gpu"]})
    return made
