"""What is true of a capture, computed from its SQLite export without llmprof."""

import csv
import json
import sqlite3
import statistics
from collections import Counter
from pathlib import Path
from typing import Any, Dict, List, Tuple

Span = Tuple[int, int]

# Kernels that communicate, by their names, in the capture of two GPUs.
COMMUNICATION = ("cross_device_reduce", "nccl")


def union(spans: List[Span]) -> List[Span]:
    """Sorted, merged."""
    merged: List[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def length(spans: List[Span]) -> int:
    return sum(end - start for start, end in spans)


def shared(a: List[Span], b: List[Span]) -> int:
    """Time in both of two unions: what they have, less what they have together."""
    return length(a) + length(b) - length(union(a + b))


class Capture:
    """One recorded capture: a folder with run.sqlite."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.db = sqlite3.connect(f"file:{folder / 'run.sqlite'}?mode=ro", uri=True)

    def rows(self, statement: str, *values: Any) -> List[Any]:
        return self.db.execute(statement, values).fetchall()

    def value(self, statement: str, *values: Any) -> Any:
        return self.rows(statement, *values)[0][0]

    def plain_ns(self, stage: str) -> float:
        """The mean time of a stage in the runs without a profiler, by the program's clock."""
        times = [repeat["stages"][stage]["ms"] * 1e6 for name in ("before", "after")
                 for repeat in json.loads((self.folder / f"{name}.json").read_text())["repeats"]]
        return statistics.mean(times)

    # ---- ranges ----

    def ranges(self, text: str) -> List[Span]:
        return self.rows(
            "SELECT start, end FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId "
            "WHERE coalesce(text, value) = ? AND end IS NOT NULL ORDER BY start", text)

    def launched_in(self, text: str) -> List[Tuple[int, int, str]]:
        """Kernels that were launched inside a range: start, end, full name."""
        found: List[Tuple[int, int, str]] = []
        for start, end in self.ranges(text):
            found += self.rows(
                "SELECT k.start, k.end, s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k "
                "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId "
                "AND r.globalTid / 0x1000000 = k.globalPid / 0x1000000 "
                "JOIN StringIds s ON s.id = k.demangledName "
                "WHERE r.start >= ? AND r.start < ?", start, end)
        return found

    # ---- the GPU ----

    def operations(self) -> List[Span]:
        return [span for table in ("KERNEL", "MEMCPY", "MEMSET")
                for span in self.rows(f"SELECT start, end FROM CUPTI_ACTIVITY_KIND_{table}")]

    def longest_gap(self) -> int:
        """Cut where a repeat begins: what lies before it is no part of it."""
        busy, longest = union(self.operations()), 0
        begins = [span[0] for span in self.ranges("prefill")]
        for before, later in zip(busy, busy[1:]):
            cuts = [before[1], *(at for at in begins if before[1] < at < later[0]), later[0]]
            longest = max(longest, *(b - a for a, b in zip(cuts, cuts[1:])))
        return longest

    def busy_ns(self, text: str) -> float:
        """Mean time in which the kernels that a range launched ran."""
        spans = [(start, end) for start, end, _ in self.launched_in(text)]
        return length(union(spans)) / len(self.ranges(text))

    def kernels_of(self, device: int) -> List[Tuple[int, int, str]]:
        return self.rows(
            "SELECT start, end, value FROM CUPTI_ACTIVITY_KIND_KERNEL "
            "JOIN StringIds ON id = demangledName WHERE deviceId = ?", device)

    def hidden(self, device: int) -> int:
        """Time in which one of this GPU's kernels communicated and another one did not."""
        sides: Dict[bool, List[Span]] = {True: [], False: []}
        for start, end, name in self.kernels_of(device):
            sides[any(part in name for part in COMMUNICATION)].append((start, end))
        return shared(union(sides[True]), union(sides[False]))

    def awaited(self) -> int:
        """The GPU whose collectives take least time: the others wait in theirs."""
        times = {device: sum(end - start for start, end, name in self.kernels_of(device)
                             if any(part in name for part in COMMUNICATION))
                 for (device,) in self.rows(
                     "SELECT DISTINCT deviceId FROM CUPTI_ACTIVITY_KIND_KERNEL")}
        return min(times, key=lambda device: times[device])

    def longest_kernel(self, text: str) -> str:
        """The name with most time of what a range launched."""
        times: Counter[str] = Counter()
        for start, end, name in self.launched_in(text):
            times[name] += end - start
        return times.most_common(1)[0][0]

    def p99(self, part: str) -> float:
        """As NVIDIA's reports interpolate."""
        times = sorted(end - start for start, end in self.rows(
            "SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL "
            "JOIN StringIds ON id = shortName WHERE value = ?", part))
        return statistics.quantiles(times, n=100, method="inclusive")[98]

    def counter(self, name: str, column: str) -> float:
        """The largest value of a column of ncu's raw page, of kernels of a name."""
        with (self.folder / "ncu" / "raw.csv").open(encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if name in row["Kernel Name"]]
        return max(float(row[column].replace(",", "")) for row in rows)
