"""Layers of a decode step, over the last 64 steps: by the modules that stacks of launches name,
else from one attention kernel to the next."""
import bisect
import re
import statistics
from collections import Counter
from typing import Dict, List, Optional, Tuple

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


Place = Tuple[str, int]  # the list of layers, the number in it


def places(capture: Capture) -> Dict[int, Place]:
    """By start of a kernel: what the innermost module of its launch lies in."""
    above: Dict[int, Tuple[Optional[int], Optional[int]]] = {
        number: (parent, module) for number, parent, module in capture.rows(
            "LLMPROF_SOURCE_STACKS", ["id", "parent", "module"])}
    made = {}
    for start, number in capture.rows("CUPTI_ACTIVITY_KIND_KERNEL", ["start", "sourceStackId"]):
        while number in above and above[number][1] is None:
            number = above[number][0]
        module = above[number][1] if number in above else None
        name = capture.strings.get(module, "") if module is not None else ""
        match = re.match(r"(.*?)\.(\d+)(\.|$)", name)
        if match:
            made[start] = match[1], int(match[2])
    return made


def by_modules(steps: list, kernels: List[Op],
               known: Dict[int, Place]) -> Dict[int, List[Tuple[int, int]]]:
    """Each layer from its first kernel to the next one's, the last to its own end."""
    times: "Counter[str]" = Counter()
    for op in kernels:
        if op.start in known:
            times[known[op.start][0]] += op.end - op.start
    wanted = times.most_common(1)[0][0]
    rows: Dict[int, List[Tuple[int, int]]] = {}
    for step in steps:
        inside = [op for op in kernels if step.start <= op.start < step.stop]
        spans: Dict[int, List[int]] = {}
        for op in inside:
            name, number = known.get(op.start, ("", 0))
            if name == wanted:
                span = spans.setdefault(number, [op.start, op.end])
                span[0], span[1] = min(span[0], op.start), max(span[1], op.end)
        order = sorted(spans, key=lambda number: spans[number][0])
        for number, following in zip(order, order[1:] + [-1]):
            begin, end = spans[number]
            if following >= 0:
                end = spans[following][0]
            rows.setdefault(number, []).append(
                (end - begin, sum(begin <= op.start < end for op in inside)))
    return rows


def compute(capture: Capture, instances: List[Instance]) -> Figures:
    steps = [step for one in instances if role(one.stage) == "decode" for step in one.steps]
    decoding = [op for op in capture.ops if op.kind == "kernel" and any(
        step.start <= op.start < step.stop for step in steps[-STEPS:])]
    starts, own = sorted(op.start for op in decoding), attention(decoding)
    rows: Dict[int, List[Tuple[int, int]]] = {}
    known = places(capture)
    if known:
        rows = by_modules(steps[-STEPS:], decoding, known)
    for step in steps[-STEPS:] if not known else []:
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
