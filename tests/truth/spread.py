"""Spread and shares: percentiles, kernels by row, stages, plain runs. docs/metrics.md has
the definitions; all of it from the operations and from metrics.json."""
import json
import os
import statistics
from typing import Any, Dict, List, Optional, Set, Tuple

from capture import Capture, Op
from figures import Figures, Instance, Row, kernel_rows, mean, role

LEAST = {50: 2, 90: 10, 99: 100}


def percentile(values: List[Any], wanted: int) -> Optional[float]:
    """Linear between closest ranks; None of too few values."""
    if len(values) < LEAST[wanted]:
        return None
    rank, ordered = wanted / 100 * (len(values) - 1), sorted(values)
    low = int(rank)
    high = ordered[min(low + 1, len(ordered) - 1)]
    return ordered[low] + (rank - low) * (high - ordered[low])


def deviation(values: List[Any]) -> Optional[float]:
    return statistics.stdev(values) if len(values) > 1 else None


def distribution(values: List[Any]) -> Figures:
    made = {"mean ns": mean(values), "std ns": deviation(values)}
    if values:
        made.update({"least ns": min(values), "most ns": max(values)})
    made.update({f"p{wanted} ns": percentile(values, wanted) for wanted in LEAST})
    return made


def named(title: str, made: Figures) -> Figures:
    return {f"{title}: {key}": value for key, value in made.items()}


def said(title: str, record: Optional[dict], std: str = "std_ns") -> Figures:
    """What results.json has for such a distribution."""
    record = record or {}
    fields = {"mean ns": "mean_ns", "std ns": std, "least ns": "min_ns", "most ns": "max_ns"}
    fields.update({f"p{wanted} ns": f"p{wanted}_ns" for wanted in LEAST})
    return named(title, {key: record.get(field) for key, field in fields.items()})


# ---- stages and latency ----

def of_stages(instances: List[Instance], names: List[str]) -> Figures:
    made: Figures = {}
    used = {name: [one for one in instances if one.stage == name and one.used] for name in names}
    top = sum(op.end - op.start for name in names for one in used[name] if not one.parent
              for op in one.ops)
    for name in names:
        own = used[name]
        if own:
            times = [one.time() for one in own]
            ran = sum(op.end - op.start for one in own for op in one.ops)
            made.update({f"{name}: std ns": deviation(times), f"{name}: least ns": min(times),
                         f"{name}: most ns": max(times),
                         f"{name}: of all GPU time %": 100 * ran / top if top else None})
    return made


def of_latency(instances: List[Instance]) -> Figures:
    first = [one.waited() for one in instances
             if role(one.stage) == "prefill" and one.used and not one.parent]
    steps = [step.time() for one in instances if role(one.stage) == "decode" and one.used
             for step in one.steps if not step.cold]
    host = [step.host for one in instances if role(one.stage) == "decode" and one.used
            for step in one.steps if not step.cold]
    made = {}
    for title, values in (("TTFT", first), ("TPOT", steps), ("CPU of a step", host)):
        if values:
            made.update(named(title + " spread", distribution(values)))
    return made


# ---- kernels ----

def shares(rows: Dict[Row, List[Op]], order: List[Row]) -> Dict[Row, Figures]:
    """Shares of all kernels and of those of the stage, and these added up in order."""
    times = {key: sum(op.end - op.start for op in ops) for key, ops in rows.items()}
    stages: Dict[str, int] = {}
    for key, time in times.items():
        stages[key[0]] = stages.get(key[0], 0) + time
    so_far, within = 0, dict.fromkeys(stages, 0)
    made: Dict[Row, Figures] = {}
    for key in order:
        so_far, within[key[0]] = so_far + times[key], within[key[0]] + times[key]
        made[key] = {"share %": 100 * times[key] / sum(times.values()),
                     "cumulative %": 100 * so_far / sum(times.values()),
                     "stage share %": 100 * times[key] / stages[key[0]],
                     "stage cumulative %": 100 * within[key[0]] / stages[key[0]]}
    return made


def of_kernel(ops: List[Op]) -> Figures:
    lengths = [op.end - op.start for op in ops]
    return {"mean ns": mean(lengths), "median ns": statistics.median(lengths),
            "least ns": min(lengths), "most ns": max(lengths), "std ns": deviation(lengths)}


KERNEL = {"mean ns": "mean_ns", "median ns": "median_ns", "least ns": "min_ns",
          "most ns": "max_ns", "std ns": "std_ns"}
SHARES = {"share %": "share", "cumulative %": "cumulative", "stage share %": "stage_share",
          "stage cumulative %": "stage_cumulative"}


def compare_kernels(table: Any, results: dict, instances: List[Instance]) -> None:
    """Each figure of each row."""
    rows = kernel_rows(instances)
    order = [(one["stage"], one.get("part") or "", one["name"]) for one in results["kernels"]]
    if set(order) != set(rows):
        return  # counted elsewhere
    parts = shares(rows, order)
    for key, one in zip(order, results["kernels"]):
        for name, value in of_kernel(rows[key]).items():
            table.row(f"kernel {one['id']}: {name}", one.get(KERNEL[name]), value)
        for name, value in parts[key].items():
            table.row(f"kernel {one['id']}: {name}", 100 * one[SHARES[name]], value)


# ---- plain runs ----

def per_instance(metrics: dict, stage: str, cold: Set[Tuple[str, int]]) -> List[float]:
    """ms of the stage in each repeat, but those of numbers that the timeline leaves out."""
    return [entry["stages"][stage]["ms"] / entry["stages"][stage].get("count", 1)
            for entry in metrics["repeats"]
            if stage in entry["stages"] and (stage, entry["index"]) not in cold]


def of_plain(folder: str, instances: List[Instance]) -> Figures:
    """What profiling cost, and latency without it."""
    paths = [os.path.join(folder, name) for name in ("before.json", "after.json")]
    runs = [json.load(open(path, encoding="utf-8")) for path in paths if os.path.exists(path)]
    if not runs:
        return {}
    with open(os.path.join(folder, "metrics.json"), encoding="utf-8") as file:
        profiled = json.load(file)
    cold = {(one.stage, profiled["repeats"][one.rep - 1]["index"])
            for one in instances if not one.used and one.rep <= len(profiled["repeats"])}
    made = named("TTFT, plain spread", distribution(
        [ms * 1e6 for run in runs for ms in per_instance(run, "prefill", cold)]))
    steps = [entry["stages"]["decode"] for run in runs for entry in run["repeats"]]
    made.update(named("TPOT, plain spread", distribution(
        [stage["ms"] * 1e6 / stage.get("steps", stage["tokens"]) for stage in steps])))
    for stage in profiled["repeats"][0]["stages"]:
        means = [statistics.mean(per_instance(run, stage, cold)) for run in runs]
        here = statistics.mean(per_instance(profiled, stage, cold))
        made.update({f"{stage}: plain ms": mean(means), f"{stage}: plain least ms": min(means),
                     f"{stage}: plain most ms": max(means), f"{stage}: by its own clock ms": here,
                     f"{stage}: inflation %": 100 * (here / statistics.mean(means) - 1)})
    return made


# ---- together ----

def compute(capture: Capture, instances: List[Instance], names: List[str],
            folder: Optional[str]) -> Figures:
    made = of_stages(instances, names)
    made.update(of_latency(instances))
    made.update(of_plain(folder, instances) if folder else {})
    made["all: in a stage %"] = in_stages(capture, instances)
    return made


def in_stages(capture: Capture, instances: List[Instance]) -> Optional[float]:
    inside = sum(op.end - op.start for one in instances if not one.parent for op in one.ops)
    every = sum(op.end - op.start for op in capture.ops)
    return 100 * inside / every if every else None


def ours(results: dict) -> Figures:
    latency = results.get("latency") or {}
    plain = latency.get("plain") or {}
    made = {**said("TTFT spread", latency.get("ttft")), **said("TPOT spread", latency.get("tpot")),
            **said("CPU of a step spread", latency.get("host")),
            **said("TTFT, plain spread", plain.get("ttft")),
            **said("TPOT, plain spread", plain.get("tpot"))}
    for stage in results["stages"]:
        wall = stage.get("wall") or {}
        made.update({f"{stage['name']}: std ns": wall.get("std_ns"),
                     f"{stage['name']}: least ns": wall.get("min_ns"),
                     f"{stage['name']}: most ns": wall.get("max_ns"),
                     f"{stage['name']}: of all GPU time %": 100 * stage.get("share", 0)})
    for entry in (results.get("overhead") or {}).get("stages", []):
        name = entry["name"]
        made.update({f"{name}: plain ms": entry["plain_ms"],
                     f"{name}: plain least ms": entry["plain_min_ms"],
                     f"{name}: plain most ms": entry["plain_max_ms"],
                     f"{name}: by its own clock ms": entry["profiled_ms"],
                     f"{name}: inflation %": 100 * entry["inflation"]})
    share = results["totals"].get("stage_share")
    made["all: in a stage %"] = None if share is None else 100 * share
    return made
