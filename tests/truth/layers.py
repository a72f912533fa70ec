"""Layers of a decode step: from one attention kernel to the next, over the last 64 steps."""
import bisect
import statistics
from collections import Counter
from typing import Dict, List, Tuple

from capture import Capture, Op
from figures import Figures, Instance, mean, role

STEPS = 64
ATTENDS = ("flash", "fmha", "sdpa")


def attention(kernels: List[Op]) -> List[int]:
    """Starts of the kernel that does most of the attention."""
    times: "Counter[str]" = Counter()
    for op in kernels:
        if any(word in op.name.lower() for word in ATTENDS):
            times[op.name] += op.end - op.start
    most = times.most_common(1)[0][0] if times else None
    return sorted(op.start for op in kernels if op.name == most)


def compute(capture: Capture, instances: List[Instance]) -> Figures:
    steps = [step for one in instances if role(one.stage) == "decode" for step in one.steps]
    decoding = [op for op in capture.ops if op.kind == "kernel" and any(
        step.start <= op.start < step.stop for step in steps[-STEPS:])]
    starts, own = sorted(op.start for op in decoding), attention(decoding)
    rows: Dict[int, List[Tuple[int, int]]] = {}
    for step in steps[-STEPS:]:
        inside = own[bisect.bisect_left(own, step.start):bisect.bisect_left(own, step.stop)]
        for place, (begin, end) in enumerate(zip(inside, inside[1:])):
            kernels = bisect.bisect_left(starts, end) - bisect.bisect_left(starts, begin)
            rows.setdefault(place, []).append((end - begin, kernels))
    made: Figures = {}
    for place, values in rows.items():
        times = [time for time, _ in values]
        made.update({f"layer {place}: ns": mean(times), f"layer {place}: count": len(times),
                     f"layer {place}: spread ns": statistics.stdev(times),
                     f"layer {place}: kernels": mean([count for _, count in values])})
    return made


def ours(results: dict) -> Figures:
    made: Figures = {}
    for row in (results.get("layers") or {}).get("rows", []):
        title = f"layer {row['index']}"
        made.update({f"{title}: ns": row["mean_ns"], f"{title}: spread ns": row.get("std_ns"),
                     f"{title}: count": row["count"], f"{title}: kernels": row["kernels"]})
    return made
