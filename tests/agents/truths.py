"""What is true of a capture, computed from its SQLite export without llmprof."""

import json
import sqlite3
import statistics
import sys
from collections import Counter
from pathlib import Path
from typing import Any, List, Tuple

sys.path.append(str(Path(__file__).resolve().parents[1] / "truth"))
from capture import length, union  # noqa: E402

Span = Tuple[int, int]


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

    def launched_between(self, start: int, end: int) -> List[Tuple[int, int, str]]:
        """Kernels that were launched in a time: start, end, full name."""
        return self.rows(
            "SELECT k.start, k.end, s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k "
            "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId "
            "AND r.globalTid / 0x1000000 = k.globalPid / 0x1000000 "
            "JOIN StringIds s ON s.id = k.demangledName "
            "WHERE r.start >= ? AND r.start < ?", start, end)

    def launched_in(self, text: str) -> List[Tuple[int, int, str]]:
        """Kernels that were launched inside ranges of a text."""
        return [kernel for start, end in self.ranges(text)
                for kernel in self.launched_between(start, end)]

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

    def copied_under(self, device: int) -> int:
        """Time in which one of this GPU's copies and one of its kernels ran."""
        copies = [span for table in ("MEMCPY", "MEMSET") for span in self.rows(
            f"SELECT start, end FROM CUPTI_ACTIVITY_KIND_{table} WHERE deviceId = ?", device)]
        kernels = [(start, end) for start, end, _ in self.kernels_of(device)]
        return shared(union(copies), union(kernels))

    def times(self, launched: List[Tuple[int, int, str]]) -> "Counter[str]":
        """Time of kernels by their names."""
        times: Counter[str] = Counter()
        for start, end, name in launched:
            times[name] += end - start
        return times

    def grew(self, text: str, before: int, after: int) -> int:
        """The most that a kernel grew from one range of a text to another."""
        old, new = (self.times(self.launched_between(*self.ranges(text)[at]))
                    for at in (before, after))
        return max(new[name] - old[name] for name in new)

    def share_of(self, text: str, part: str) -> float:
        """Of the time of what ranges launched, that of names with a part."""
        times = self.times(self.launched_in(text))
        return sum(ns for name, ns in times.items() if part in name) / sum(times.values())

    def first(self, text: str, count: int) -> List[str]:
        """The short names of the first kernels of the first range."""
        kernels = sorted(self.launched_between(*self.ranges(text)[0]))[:count]
        return [self.value("SELECT value FROM CUPTI_ACTIVITY_KIND_KERNEL "
                           "JOIN StringIds ON id = shortName WHERE start = ?", start)
                for start, _, _ in kernels]

    def lengths(self, text: str) -> List[int]:
        """Of ranges on the GPU: from the first kernel's start to the last one's end."""
        found = [self.launched_between(*span) for span in self.ranges(text)]
        return [max(end for _, end, _ in kernels) - min(start for start, _, _ in kernels)
                for kernels in found]

    def interval(self, text: str) -> float:
        """Median time from the start of a range to the next one's, of the first process."""
        ranges = self.rows(
            "SELECT globalTid, start, coalesce(text, value) FROM NVTX_EVENTS "
            "LEFT JOIN StringIds ON id = textId "
            "WHERE coalesce(text, value) LIKE 'execute_context_%' ORDER BY globalTid, start")
        return statistics.median(later[1] - one[1] for one, later in zip(ranges, ranges[1:])
                                 if one[0] == later[0] == ranges[0][0] and one[2] == text)

    def longest_of_operator(self, name: str) -> int:
        """Time of the kernel with most time of an operator."""
        operators = json.loads((self.folder / "operators.json").read_text())["operators"]
        return max(kernel["device_ns"] for operator in operators if operator["name"] == name
                   for kernel in operator["kernels"])

    def throttled(self) -> bool:
        """Did NVML name a reason besides that the GPU had nothing to do?"""
        samples = json.loads((self.folder / "gpu_samples.json").read_text())
        return any(set(sample["throttle"]) - {"gpu_idle"} for sample in samples)

    def p99(self, text: str) -> float:
        """Of how long ranges lasted, interpolated as NVIDIA's reports do."""
        return statistics.quantiles(self.lengths(text), n=100, method="inclusive")[98]

    def count(self, short: str) -> int:
        """How many kernels of a short name ran."""
        return int(self.value("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL "
                              "JOIN StringIds ON id = shortName WHERE value = ?", short))
