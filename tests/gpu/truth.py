#!/usr/bin/env python3
"""truth.py BY_COLLECTOR BY_NSYS [NCU.csv]: one workload, taken both ways, side by side.
truth.py --launches OURS.csv NCU.csv: the same launches in the same order, one by one.

The first two are bundles of runs of one recipe with capture=builtin and capture=nsys: how many
kernels of each name and stage there are, and their GPU time. NCU.csv is ncu's raw page
(--csv --page raw) of launches of that workload under --cache-control all, against the counters
of the first bundle: medians of launches of one kernel in one shape. OURS.csv is such a page of a
spool, as page.lua prints it. It prints the table; the exit status is 1 where counts differ, of
kernels or, one by one, of instructions and operations.
"""

from __future__ import annotations

import csv
import json
import pathlib
import statistics
import sys
from typing import Dict, List, Tuple

Key = Tuple[str, ...]
COUNTERS = ("gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
            "sm__cycles_elapsed.avg", "sm__inst_executed_pipe_tensor.sum",
            "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed")
SCALES = {"nsecond": 1, "ns": 1, "usecond": 1e3, "us": 1e3, "msecond": 1e6, "ms": 1e6, "s": 1e9,
          "byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}
# Less than so much of what a metric counts says nothing of a ratio.
LEAST = {"dram__bytes_read.sum": 1e6, "dram__bytes_write.sum": 1e6}


# ---- the timeline ----

def kernels_of(folder: str) -> Tuple[Dict[Key, Tuple[float, float]], int]:
    """Calls in a repeat and mean ns, by stage and name; and how many repeats count."""
    results = json.loads(pathlib.Path(folder, "results.json").read_text(encoding="utf-8"))
    repeats = results["repeats"]["used"]
    return {(kernel["stage"], kernel.get("part") or "", kernel["name"]):
            (kernel["calls"] / repeats, kernel["mean_ns"])
            for kernel in results["kernels"]}, repeats


def timeline(ours: str, theirs: str) -> bool:
    mine, my_repeats = kernels_of(ours)
    other, other_repeats = kernels_of(theirs)
    keys = mine.keys() | other.keys()
    same = [key for key in keys if key in mine and key in other and mine[key][0] == other[key][0]]
    total = sum(calls * mean for calls, mean in other.values())
    close = sum(other[key][0] * other[key][1] for key in same
                if abs(mine[key][1] / other[key][1] - 1) <= 0.02)
    together = sum(calls * mean for calls, mean in mine.values()) / total
    print(f"kernels by stage and name: {len(same)} of {len(keys)} as often "
          f"({my_repeats} and {other_repeats} repeats)")
    for key in sorted(keys - set(same))[:20]:
        print("  differs:", key, mine.get(key), other.get(key))
    print(f"GPU time by name: within 2 % for {100 * close / total:.1f} % of the time, "
          f"together {together:.4f}")
    return len(same) == len(keys)


# ---- counters ----

def number(text: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return float("nan")


def launches(path: str) -> Dict[Key, Dict[str, List[float]]]:
    """Values of each counter by kernel, grid and block."""
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        rows = [row for row in csv.reader(file) if len(row) > 10]
    head, units = rows[0], rows[1]
    where = {name: head.index(name) for name in COUNTERS if name in head}
    found: Dict[Key, Dict[str, List[float]]] = {}
    place = [head.index(name) for name in ("Kernel Name", "Grid Size", "Block Size")]
    for row in rows[2:]:
        name, grid, block = (row[at].replace(" ", "") for at in place)
        values = found.setdefault((plain(name), grid, block), {})
        for counter, at in where.items():
            value = number(row[at]) * SCALES.get(units[at], 1)
            if value == value:
                values.setdefault(counter, []).append(value)
    return found


def rows_of(path: str) -> List[Dict[str, float]]:
    """Of each launch, in order, what was counted."""
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        rows = [row for row in csv.reader(file) if len(row) > 10]
    head, units = rows[0], rows[1]
    return [{name: number(row[at]) * SCALES.get(units[at], 1) for at, name in enumerate(head)
             if "__" in name and number(row[at]) == number(row[at])} for row in rows[2:]]


def is_count(counter: str) -> bool:
    """Does it depend on the code alone?"""
    return "inst_executed" in counter or "_ops_path_" in counter or "op_f" in counter


def one_by_one(ours: str, theirs: str) -> bool:
    mine, other = rows_of(ours), rows_of(theirs)
    print(f"launches: {len(mine)} and {len(other)}")
    same = len(mine) == len(other)
    for counter in (other[0] if other else {}):
        pairs = [(a[counter], b[counter]) for a, b in zip(mine, other)
                 if counter in a and b.get(counter)]
        if not pairs:
            continue
        ratios = [a / b for a, b in pairs]
        close = sum(abs(ratio - 1) <= 0.05 for ratio in ratios)
        told = [a / b for a, b in pairs if b > LEAST.get(counter, 0)]
        print(f"  {counter}: median {statistics.median(ratios):.4f}, {min(ratios):.3f} to "
              f"{max(ratios):.3f}; of {len(ratios)} equal {sum(a == b for a, b in pairs)}, "
              f"within 5 % {close}" + (f"; of {len(told)} above {LEAST[counter]:g} within 5 % "
              f"{sum(abs(ratio - 1) <= 0.05 for ratio in told)}" if counter in LEAST else ""))
        if is_count(counter):
            same = same and all(abs(ratio - 1) <= 0.005 for ratio in ratios)
    return same


def plain(name: str) -> str:
    """A kernel's name as both spell it."""
    return name.replace("(int)", "").replace("(bool)0", "false").replace("(bool)1", "true")


def counters(ours: str, theirs: str) -> None:
    mine, other = launches(ours), launches(theirs)
    keys = sorted(mine.keys() & other.keys())
    print(f"counters: {len(keys)} kernels in their shapes measured by both "
          f"({len(mine)} and {len(other)})")
    for counter in COUNTERS:
        ratios = []
        for key in keys:
            a, b = (statistics.median(values[key].get(counter, [0])) for values in (mine, other))
            if a == b == 0 or b <= LEAST.get(counter, 0):
                continue
            ratios.append(a / b)
        if not ratios:
            print(f"  {counter}: none to compare")
            continue
        equal = sum(abs(ratio - 1) < 1e-9 for ratio in ratios)
        close = sum(abs(ratio - 1) <= 0.05 for ratio in ratios)
        print(f"  {counter}: median {statistics.median(ratios):.3f}, {min(ratios):.3f} to "
              f"{max(ratios):.3f}; of {len(ratios)} equal {equal}, within 5 % {close}")


def main(words: List[str]) -> int:
    if len(words) == 3 and words[0] == "--launches":
        return 0 if one_by_one(words[1], words[2]) else 1
    if len(words) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    equal = timeline(words[0], words[1])
    if len(words) == 3:
        counters(str(pathlib.Path(words[0], "ncu/raw.csv")), words[2])
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
