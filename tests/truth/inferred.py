"""Stages without ranges: the steps between two picks of a token, as docs/metrics.md
defines them, where one kernel's name says that it picks."""
import bisect
import statistics
from collections import Counter
from typing import Dict, List, Optional, Tuple

from capture import Capture, Op
from figures import Figures

PICKS, ATTENDS = ("argmax",), ("flash", "fmha", "sdpa")
ALIKE, LEAST_STEPS = 0.6, 4

Key = Tuple[str, Tuple[int, ...]]
Step = Tuple[int, int, "Counter[Key]"]


def holds(name: str, words: Tuple[str, ...]) -> bool:
    return any(word in name.lower() for word in words)


def key_of(op: Op) -> Key:
    return op.name, op.shape


def anchors(kernels: List[Op]) -> List[Op]:
    """The launches of the kernel that picks tokens; none where no name tells."""
    counted = Counter(key_of(op) for op in kernels if holds(op.name, PICKS))
    if not counted:
        return []
    most = counted.most_common(1)[0][0]
    return [op for op in kernels if key_of(op) == most]


def steps_between(kernels: List[Op], picks: List[Op]) -> List[Step]:
    starts = [op.start for op in kernels]
    made = []
    for before, after in zip(picks, picks[1:]):
        inside = kernels[bisect.bisect_left(starts, before.end):
                         bisect.bisect_left(starts, after.end)]
        made.append((before.end, after.end, Counter(key_of(op) for op in inside)))
    return made


def alike(one: Step, other: Step) -> bool:
    most = max(sum(one[2].values()), sum(other[2].values()))
    return most > 0 and sum((one[2] & other[2]).values()) >= ALIKE * most


def generations(steps: List[Step]) -> List[List[Step]]:
    """Runs of steps that are each like the one before."""
    found: List[List[Step]] = []
    for place, step in enumerate(steps):
        if place and found and found[-1][-1] is steps[place - 1] and alike(steps[place - 1], step):
            found[-1].append(step)
        elif place + 1 < len(steps) and alike(step, steps[place + 1]):
            found.append([step])
    return [run for run in found if len(run) >= LEAST_STEPS]


def layers_of(kernels: List[Op], steps: List[Step]) -> Optional[float]:
    """How often a step has the kernel that does most of the attention."""
    times: Dict[str, int] = {}
    begins = [step[0] for step in steps]
    for op in kernels:
        place = bisect.bisect_right(begins, op.start) - 1
        if place >= 0 and op.start < steps[place][1] and holds(op.name, ATTENDS):
            times[op.name] = times.get(op.name, 0) + op.end - op.start
    if not times:
        return None
    most = max(times, key=lambda name: times[name])
    return float(statistics.median(sum(count for key, count in step[2].items() if key[0] == most)
                                   for step in steps))


def compute(capture: Capture) -> Optional[Figures]:
    kernels = sorted((op for op in capture.ops if op.kind == "kernel"), key=lambda op: op.start)
    runs = generations(steps_between(kernels, anchors(kernels)))
    if not runs or len({(op.process, op.device) for op in kernels}) > 1:
        return None
    steps = [step for run in runs for step in run]
    lengths = [[end - start for start, end, _ in run] for run in runs]
    return {"inferred: generations count": len(runs), "inferred: steps count": len(steps),
            "inferred: last period ns": statistics.median(lengths[-1]),
            "inferred: last mean ns": statistics.mean(lengths[-1]),
            "inferred: layers count": layers_of(kernels, steps)}


def ours(results: dict) -> Figures:
    found = results.get("inferred") or {}
    repeats = (results.get("latency") or {}).get("repeats") or [{}]
    return {"inferred: generations count": found.get("generations"),
            "inferred: steps count": found.get("steps"),
            "inferred: last period ns": found.get("period_ns"),
            "inferred: last mean ns": repeats[-1].get("tpot_ns"),
            "inferred: layers count": found.get("layers")}
