"""Steps and collectives of ranks: groups of an engine's steps, what the ranks wait for each
other, what clients saw beside the steps. NCCL's are matched by their order alone, which
holds where every rank runs the same ones."""
import json
import statistics
from typing import Any, Dict, List, Tuple

import engine
from capture import Capture, length, union
from figures import Figures, mean
from spread import distribution, named, percentile, said

Meeting = List[Tuple[int, int]]  # start and end on each rank


def group_figures(steps: List[engine.Step]) -> Figures:
    """Means over the steps of all ranks; percentiles of as many as one rank has."""
    lengths = [step.last() - step.begin() for step in steps]
    follow = [step for step in steps if step.before is not None]
    ranks = {step.process for step in steps}
    most = max(sum(step.process == rank for step in steps) for rank in ranks)
    made: Figures = {
        "count": float(most), "mean ns": mean([mean([step.last() - step.begin() for step in steps
                                                     if step.process == rank]) for rank in ranks]),
        "least ns": min(lengths), "most ns": max(lengths),
        "interval ns": mean([step.last() - (step.before or 0) for step in follow]),
        "idle before ns": mean([max(step.first() - (step.before or 0), 0) for step in follow]),
        "busy ns": mean([length(union([(op.start, op.end) for op in step.ops]))
                         for step in steps]),
        "GPU time ns": mean([sum(op.end - op.start for op in step.ops) for step in steps]),
        "kernels": mean([sum(op.kind == "kernel" for op in step.ops) for step in steps]),
        "copies and sets": mean([sum(op.kind in ("copy", "set") for op in step.ops)
                                 for step in steps])}
    for wanted in (50, 90):
        supported = percentile(list(range(most)), wanted) is not None
        made[f"p{wanted} ns"] = percentile(lengths, wanted) if supported else None
    return made


GROUP = {"count": "count", "mean ns": "mean_ns", "least ns": "min_ns", "most ns": "max_ns",
         "interval ns": "interval_ns", "idle before ns": "idle_ns", "busy ns": "busy_ns",
         "GPU time ns": "gpu_time_ns", "kernels": "kernels", "copies and sets": "copies",
         "p50 ns": "p50_ns", "p90 ns": "p90_ns"}


def of_steps(capture: Capture) -> Figures:
    steps = engine.find_steps(capture)
    made: Figures = {}
    for phase in ("prefill", "mixed", "decode"):
        own = [step for step in steps if step.phase == phase]
        if own:
            made.update(named(f"steps of {phase}", group_figures(own)))
    made.update(cpu_of_steps(capture, ranks_of(capture), {}, {}))
    return made


def of_clients(capture: Capture, path: str) -> Figures:
    """Of all requests; beside them the interval of the steps that made their tokens."""
    with open(path, encoding="utf-8") as file:
        metrics = json.load(file)
    sent = [one for entry in metrics["repeats"] for one in entry.get("requests") or []]
    steps = [step for step in engine.find_steps(capture)
             if step.before is not None and step.requests]
    if not sent or not steps:
        return {}
    made = named("clients' TTFT", distribution([one["ttft_ms"] * 1e6 for one in sent]))
    made.update(named("clients' TPOT", distribution([one["tpot_ms"] * 1e6 for one in sent])))
    interval = (sum((step.last() - (step.before or 0)) * step.requests for step in steps)
                / sum(step.requests for step in steps))
    tpot = statistics.mean(one["tpot_ms"] * 1e6 for one in sent)
    made.update({"clients: interval of their steps ns": interval,
                 "clients: TPOT beyond it %": 100 * (tpot / interval - 1)})
    for title in ("clients' TTFT", "clients' TPOT"):
        del made[title + ": std ns"]  # not said
    return made


def cold_steps(steps: List[Tuple[int, int, str]]) -> Dict[str, int]:
    """By phase, how many steps at its beginning are of first repeats that take more than 1.5
    times as long as the later ones, half of them at most. steps: start, end and phase."""
    repeats: Dict[str, List[List[int]]] = {}
    before = ""
    for start, end, phase in sorted(steps):
        own = repeats.setdefault(phase, [])
        if phase != before or not own:
            own.append([])
        own[-1].append(end - start)
        before = phase
    made = {}
    for phase, own in repeats.items():
        means, cold = [statistics.mean(one) for one in own], 0
        while cold < len(own) // 2 and means[cold] > 1.5 * statistics.median(means[cold + 1:]):
            cold += 1
        made[phase] = sum(len(one) for one in own[:cold])
    return made


def cpu_of_steps(capture: Capture, rank_of: Dict[int, int], phases: Dict[str, str],
                 cold: Dict[str, int]) -> Figures:
    """By rank, a step's range less the calls of its thread that wait for the GPU, which do not
    overlap. rank_of: by process; phases: by the tag of ranges; cold: steps that are left out."""
    waits: Dict[int, List[Tuple[int, int]]] = {}
    for start, end, thread, name in capture.rows("CUPTI_ACTIVITY_KIND_RUNTIME",
                                                 ["start", "end", "globalTid", "nameId"]):
        if "Synchronize" in capture.strings.get(name, ""):
            waits.setdefault(thread, []).append((start, end))
    times: Dict[Tuple[str, int], List[float]] = {}
    for item in sorted(capture.ranges, key=lambda item: item.start):
        match, rank = engine.LABEL.match(item.tag), rank_of.get(item.thread >> 24)
        phase = (engine.phase_of(int(match[1]), int(match[2])) if match
                 else phases.get(item.tag))
        if phase and rank is not None:
            waited = sum(max(min(end, item.end) - max(start, item.start), 0)
                         for start, end in waits.get(item.thread, []))
            times.setdefault((phase, rank), []).append(item.end - item.start - waited)
    return {f"steps of {phase}, rank {rank}: CPU ns": mean(own[cold.get(phase, 0):])
            for (phase, rank), own in times.items()}


def ranks_of(capture: Capture) -> Dict[int, int]:
    """Processes in the order of the GPUs that their kernels run on."""
    found = {op.device: op.process for op in capture.ops if op.kind == "kernel"}
    return {found[device]: rank for rank, device in enumerate(sorted(found))}


# ---- collectives ----

def in_order(captures: List[Capture], shifts: List[int]) -> List[Meeting]:
    """NCCL's kernels by their place on each rank, on one clock."""
    ranks = []
    for capture, shift in zip(captures, shifts):
        own = [op for op in capture.ops if op.kind == "kernel" and "nccl" in op.name]
        ranks.append([(op.start + shift, op.end + shift)
                      for op in sorted(own, key=lambda op: op.start)])
    return [list(meeting) for meeting in zip(*ranks)]


def waits(meetings: List[Meeting]) -> Figures:
    """Waiting is until the last has come, transfer from then until the last has left."""
    ranks = len(meetings[0])
    made: Figures = {"ranks: matched count": len(meetings), "ranks: transfer ns": float(sum(
        max(end for _, end in one) - max(start for start, _ in one) for one in meetings))}
    for rank in range(ranks):
        waited, caused, last = 0, 0, 0
        for one in meetings:
            arrived = max(start for start, _ in one)
            latest = max(range(ranks), key=lambda place: one[place][0])
            waited += min(arrived, one[rank][1]) - one[rank][0]
            if latest == rank:
                last += 1
                caused += sum(min(arrived, end) - start for start, end in one)
        made.update({f"rank {rank}: waiting ns": waited, f"rank {rank}: last count": last,
                     f"rank {rank}: others wait for it ns": caused,
                     f"rank {rank}: in collectives ns": float(sum(
                         one[rank][1] - one[rank][0] for one in meetings))})
    return made


def of_files(paths: List[str]) -> Figures:
    captures = [Capture(path) for path in paths]
    shifts = [capture.rows("TARGET_INFO_SESSION_START_TIME", ["utcEpochNs"])[0][0]
              for capture in captures]
    made = waits(in_order(captures, shifts))
    phases = {"prefill": "prefill", "decode_step": "decode"}
    cold = cold_steps([(item.start, item.end, phases[item.tag]) for item in captures[0].ranges
                       if item.tag in phases])
    for rank, capture in enumerate(captures):
        made[f"rank {rank}: kernels count"] = float(sum(op.kind == "kernel" for op in capture.ops))
        made.update(cpu_of_steps(capture, {process: rank for process in ranks_of(capture)},
                                 phases, cold))
    return made


# ---- what llmprof says ----

def ours(record: Dict[str, Any]) -> Figures:
    made: Figures = {}
    for group in record.get("stages") or []:
        made.update(named(f"steps of {group['phase']}",
                          {key: group.get(field) for key, field in GROUP.items()}))
        made.update({f"steps of {group['phase']}, rank {own['rank']}: CPU ns": own.get("cpu_ns")
                     for own in group["ranks"]})
    asked = record.get("requests") or {}
    made.update({**said("clients' TTFT", asked.get("ttft")),
                 **said("clients' TPOT", asked.get("tpot"))})
    made["clients: interval of their steps ns"] = asked.get("step_interval_ns")
    made["clients: TPOT beyond it %"] = 100 * asked.get("difference", 0)
    totals = record.get("totals") or {}
    made.update({"ranks: matched count": totals.get("matched"),
                 "ranks: transfer ns": totals.get("transfer_ns")})
    for one in record["ranks"]:
        made.update({f"rank {one['rank']}: {key}": one.get(field) for key, field in (
            ("waiting ns", "waiting_ns"), ("last count", "last"), ("kernels count", "kernels"),
            ("others wait for it ns", "caused_ns"), ("in collectives ns", "collective_ns"))})
    return made


def sums(record: Dict[str, Any]) -> List[Tuple[str, float, float]]:
    """What a table's rows add up to, and the total elsewhere: (name, rows, total)."""
    totals, made = record.get("totals") or {}, []
    for key in ("waiting_ns", "collective_ns", "hidden_ns", "exposed_ns"):
        if totals.get(key) is not None:
            made.append((f"ranks add up: {key}", sum(one.get(key, 0) for one in record["ranks"]),
                         totals[key]))
    for key in ("waiting_ns", "transfer_ns", "collective_ns", "exposed_ns", "hidden_ns"):
        if record.get("layers") and totals.get(key) is not None:
            made.append((f"layers add up: {key}",
                         sum(one.get(key, 0) for one in record["layers"]), totals[key]))
    for one in record["ranks"] if record.get("places") else []:
        made.append((f"places of rank {one['rank']} add up",
                     sum(place["caused_ns"] for place in record["places"]
                         if place["rank"] == one["rank"]), one.get("caused_ns", 0)))
    return made
