"""An nsys export: GPU operations with the calls that launched them, NVTX ranges."""
import bisect
import sqlite3
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

Span = Tuple[int, int]
PUSH_POP, START_END, DOMAIN = 59, 60, 75


@dataclass
class Op:
    """A kernel, copy, set or whole graph. call: what launched it, None where the export
    does not have it."""
    kind: str
    start: int
    end: int
    process: int
    device: int
    name: str
    shape: Tuple[int, ...]
    call: Optional["Call"]


@dataclass
class Call:
    key: Tuple[int, int]
    start: int
    end: int
    thread: int


@dataclass
class Range:
    tag: str
    start: int
    end: int
    thread: int


class Capture:
    def __init__(self, path: str) -> None:
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.tables = {row[0] for row in
                       self.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        self.strings: Dict[int, str] = dict(self.db.execute("SELECT id, value FROM StringIds"))
        self.calls = self.read_calls()
        self.ops = [op for op in self.read_ops() if op.end >= op.start]
        self.ranges = self.read_ranges()

    def rows(self, table: str, wanted: List[str]) -> List[Tuple[Any, ...]]:
        """Columns of a table, None for those that it does not have."""
        if table not in self.tables:
            return []
        there = {row[1] for row in self.db.execute(f"PRAGMA table_info({table})")}
        names = ", ".join(name if name in there else "NULL" for name in wanted)
        return self.db.execute(f"SELECT {names} FROM {table}").fetchall()

    def read_calls(self) -> Dict[Tuple[int, int], Call]:
        calls = {}
        for start, end, thread, correlation in self.rows(
                "CUPTI_ACTIVITY_KIND_RUNTIME", ["start", "end", "globalTid", "correlationId"]):
            if correlation is not None:
                key = (thread >> 24, correlation)
                calls[key] = Call(key, start, end, thread)
        return calls

    def read_ops(self) -> List[Op]:
        ops = []
        for kind, table in (("kernel", "KERNEL"), ("copy", "MEMCPY"), ("set", "MEMSET"),
                            ("graph", "GRAPH_TRACE")):
            for start, end, pid, device, correlation, name, *shape in self.rows(
                    "CUPTI_ACTIVITY_KIND_" + table,
                    ["start", "end", "globalPid", "deviceId", "correlationId", "demangledName",
                     "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"]):
                process = (pid or 0) >> 24
                ops.append(Op(kind, start, end, process, device, self.strings.get(name, ""),
                              tuple(shape), self.calls.get((process, correlation))))
        return ops

    def read_ranges(self) -> List[Range]:
        events = self.rows("NVTX_EVENTS", ["start", "end", "eventType", "globalTid", "text",
                                           "textId", "domainId"])
        domains = {}
        for _, _, kind, thread, text, text_id, domain in events:
            if kind == DOMAIN:
                domains[(thread >> 24, domain)] = text or self.strings.get(text_id, "")
        ranges = []
        for start, end, kind, thread, text, text_id, domain in events:
            if kind not in (PUSH_POP, START_END) or end is None:
                continue
            tag = text if text is not None else self.strings.get(text_id, "")
            owner = domains.get((thread >> 24, domain)) if domain else None
            ranges.append(Range(f"{owner}:{tag}" if owner else tag, start, end, thread))
        return sorted(ranges, key=lambda item: (item.start, -item.end))

    def tags(self) -> set:
        return {item.tag for item in self.ranges}

    def inside(self, wanted: List[Range]) -> Dict[int, List[Op]]:
        """Operations by the innermost of these ranges around their launch."""
        by_thread: Dict[int, List[int]] = {}
        for number, item in enumerate(wanted):
            by_thread.setdefault(item.thread, []).append(number)
        starts = {thread: [wanted[number].start for number in numbers]
                  for thread, numbers in by_thread.items()}
        found: Dict[int, List[Op]] = {}
        for op in self.ops:
            call = op.call
            if call is None or call.thread not in by_thread:
                continue
            place = bisect.bisect_right(starts[call.thread], call.start)
            for number in reversed(by_thread[call.thread][:place]):
                if call.end <= wanted[number].end:
                    found.setdefault(number, []).append(op)
                    break
        return found


def union(spans: List[Span]) -> List[Span]:
    """Spans in order, those that touch as one."""
    merged: List[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def length(spans: List[Span]) -> int:
    return sum(end - start for start, end in spans)


def covered(merged: List[Span], start: int, end: int) -> int:
    """How much of an interval lies in spans of union()."""
    first = max(bisect.bisect_right(merged, (start, 1 << 62)) - 1, 0)
    total = 0
    for place in range(first, len(merged)):  # a slice would copy all that follows
        left, right = merged[place]
        if left >= end:
            break
        total += max(min(right, end) - max(left, start), 0)
    return total
