"""What the CPU did: calls by class, idle time by class, launch delays, pauses, copies."""
import statistics
from typing import Any, Dict, List, Tuple

from capture import Capture, Op, Span, covered, length, union
from figures import Figures, Instance, mean
from spread import percentile

CLASSES = ("launch", "sync", "memory", "other")
WORDS = (("sync", ("Synchronize",)), ("launch", ("Launch", "Memcpy", "Memset", "memcpy", "memset")),
         ("memory", ("Malloc", "Free", "MemAlloc", "HostAlloc", "MemPool")))
DIRECTIONS = {1: "host to device", 2: "device to host", 8: "device to device"}
GAPS, LEAST_GAP = 10, 1000

Call = Tuple[int, int, int, str]


def class_of(name: str) -> str:
    return next((kind for kind, words in WORDS if any(word in name for word in words)), "other")


def calls_of(capture: Capture) -> List[Call]:
    return [(start, end, thread, class_of(capture.strings.get(name, "")))
            for start, end, thread, name in capture.rows(
                "CUPTI_ACTIVITY_KIND_RUNTIME", ["start", "end", "globalTid", "nameId"])]


def gaps_in(busy: List[Span], start: int, end: int) -> List[Span]:
    made, time = [], start
    for left, right in busy:
        if right <= start:
            continue
        if left >= end:
            break
        if left > time:
            made.append((time, left))
        time = max(time, right)
    return made + [(time, end)] if time < end else made


def classes_of(calls: List[Call]) -> Dict[str, List[Span]]:
    """Spans of each class; a moment in several is of the first."""
    so_far: List[Span] = []
    made = {}
    for kind in CLASSES:
        own = [(start, end) for start, end, _, other in calls if other == kind]
        so_far = union(so_far + own)
        made[kind] = so_far
    return made


def idle_by_class(spans: Dict[str, List[Span]], gaps: List[Span]) -> Dict[str, int]:
    made, before = {}, 0
    for kind in CLASSES:
        reached = sum(covered(spans[kind], start, end) for start, end in gaps)
        made[kind], before = reached - before, reached
    made["host"] = length(gaps) - before
    return made


def replays(capture: Capture) -> List[Span]:
    """When replays of graphs kept the GPU: from the end of their launch, or their first
    operation, to the last."""
    launches = {(start, thread) for start, thread, name in capture.rows(
        "CUPTI_ACTIVITY_KIND_RUNTIME", ["start", "globalTid", "nameId"])
        if "GraphLaunch" in capture.strings.get(name, "")}
    spans: Dict[Tuple, Span] = {}
    for op in capture.ops:
        if op.call and (op.call.start, op.call.thread) in launches:
            first, last = spans.get(op.call.key, (op.call.end, op.end))
            spans[op.call.key] = (min(first, op.start), max(last, op.end))
    return list(spans.values())


def stage_figures(name: str, own: List[Instance], calls: List[Call], busy: List[Span],
                  kept: List[Span]) -> Figures:
    inside = {kind: [0, 0] for kind in CLASSES}
    for one in own:
        for start, end, _, kind in calls:
            if start >= one.range.start and end <= one.range.end:
                inside[kind] = [inside[kind][0] + 1, inside[kind][1] + end - start]
    launching = {op.call.thread for one in own for op in one.ops if op.call}
    spans = classes_of([call for call in calls if call[2] in launching])
    idle = [idle_by_class(spans, gaps_in(kept, one.begin, one.end())) for one in own]
    within = [length(gaps_in(busy, one.begin, one.end())) - length(
        gaps_in(kept, one.begin, one.end())) for one in own]
    made: Figures = {f"{name}: calls in {kind} count": inside[kind][0] / len(own)
                     for kind in CLASSES}
    made.update({f"{name}: in {kind} ns": inside[kind][1] / len(own) for kind in CLASSES})
    made.update({f"{name}: idle in {kind} ns": mean([entry[kind] for entry in idle])
                 for kind in idle[0]})
    made[f"{name}: idle in graph ns"] = mean(within) if kept != busy else None
    return made


def delays(name: str, own: List[Instance]) -> Figures:
    """Of the kernels that began when their call had returned, or later."""
    all_of = [op for one in own for op in one.ops if op.kind == "kernel" and op.call]
    late = [op.start - op.call.end for op in all_of if op.call and op.start >= op.call.end]
    return {f"{name}: launched ahead %": 100 * len(late) / len(all_of) if all_of else None,
            f"{name}: launch delay ns": statistics.median(late) if len(late) > 1 else None,
            f"{name}: launch delay p90 ns": percentile(late, 90)}


def copies(capture: Capture, instances: List[Instance]) -> Dict[Tuple, List[int]]:
    """Calls, bytes, ns by stage, direction, pageable."""
    at: Dict[Tuple, Tuple] = {}
    for start, pid, correlation, kind, size, source, target in capture.rows(
            "CUPTI_ACTIVITY_KIND_MEMCPY", ["start", "globalPid", "correlationId", "copyKind",
                                           "bytes", "srcKind", "dstKind"]):
        host = {1: source, 2: target}.get(kind)
        at[((pid or 0) >> 24, correlation, start)] = (DIRECTIONS.get(kind), size,
                                                       None if host is None else host == 0)
    made: Dict[Tuple, List[int]] = {}
    for one in instances:
        for op in one.ops if one.used and not one.parent else []:
            if op.kind == "copy" and op.call:
                direction, size, pageable = at[op.process, op.call.key[1], op.start]
                row = made.setdefault((one.stage, direction, pageable), [0, 0, 0])
                add(row, size, op)
    return made


def add(row: List[int], size: int, op: Op) -> None:
    row[0], row[1], row[2] = row[0] + 1, row[1] + size, row[2] + op.end - op.start


def pauses(capture: Capture, instances: List[Instance]) -> List[Tuple[int, int]]:
    """The longest within what counts of each repeat: ns, where."""
    busy, found = union([(op.start, op.end) for op in capture.ops]), []
    for rep in {one.rep for one in instances if one.used}:
        own = [one for one in instances if one.rep == rep and one.used and not one.parent]
        found += gaps_in(busy, min(one.range.start for one in own), max(one.end() for one in own))
    found = [gap for gap in found if gap[1] - gap[0] >= LEAST_GAP]
    return sorted(((end - start, start) for start, end in found),
                  key=lambda gap: (-gap[0], gap[1]))[:GAPS]


def compute(capture: Capture, instances: List[Instance], names: List[str]) -> Figures:
    calls, busy = calls_of(capture), union([(op.start, op.end) for op in capture.ops])
    kept = union(busy + replays(capture))
    made: Figures = {}
    for name in names:
        own = [one for one in instances if one.stage == name and one.used]
        if own:
            made.update(stage_figures(name, own, calls, busy, kept))
        if own and not own[0].parent:
            made.update(delays(name, own))
    for place, (ns, start) in enumerate(pauses(capture, instances), 1):
        made.update({f"gap {place}: ns": ns, f"gap {place}: at ns": start})
    for key, row in copies(capture, instances).items():
        for what, value in zip(("count", "bytes", "ns"), row):
            made[f"copies {key[0]}, {key[1]}, {key[2]}: {what}"] = value
    return made


def ours(results: dict) -> Figures:
    made: Figures = {}
    for stage in results["stages"]:
        name, api, waits = stage["name"], stage.get("api") or {}, stage.get("waiting") or {}
        for kind, entry in api.items():
            made.update({f"{name}: calls in {kind} count": entry["calls"],
                         f"{name}: in {kind} ns": entry["ns"]})
        made.update({f"{name}: idle in {kind} ns": waits.get(kind + "_ns")
                     for kind in CLASSES + ("host", "graph")})
        delay: Dict[str, Any] = stage.get("launch_delay") or {}
        ahead = delay.get("queued_share")
        made.update({f"{name}: launched ahead %": None if ahead is None else 100 * ahead,
                     f"{name}: launch delay ns": delay.get("median_ns"),
                     f"{name}: launch delay p90 ns": delay.get("p90_ns")})
    for place, gap in enumerate(results.get("gaps") or [], 1):
        made.update({f"gap {place}: ns": gap["ns"], f"gap {place}: at ns": gap["start_ns"]})
    for row in results.get("transfers") or []:
        title = f"copies {row['stage']}, {row['direction']}, {row.get('pageable')}"
        made.update({f"{title}: count": row["calls"], f"{title}: bytes": row["bytes"],
                     f"{title}: ns": row["gpu_time_ns"]})
    return made
