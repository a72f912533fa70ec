#!/usr/bin/env python3
"""truth.py BY_COLLECTOR BY_NSYS: one workload, taken both ways, side by side.
truth.py --kernels OURS.csv NCU.csv: the same kernels in the same shapes, whatever their order.

The first two are bundles of runs of one recipe with capture=builtin and capture=nsys: how many
kernels of each name and stage there are, and their GPU time; the exit status is 1 where counts
differ. NCU.csv is ncu's raw page (--csv --page raw) and OURS.csv such a page of a spool, as
page.lua prints it: medians of launches of one kernel in one shape. --kernels holds every metric
to what docs/collector.md says: counts equal, DRAM and L2 within 5 %, and of kernels of 10 us and
more percents within 3 points and shares of stalls within 5.
"""

from __future__ import annotations

import csv
import json
import pathlib
import re
import statistics
import sys
from typing import Dict, List, Optional, Tuple

Key = Tuple[str, ...]
SCALES = {"nsecond": 1, "ns": 1, "usecond": 1e3, "us": 1e3, "msecond": 1e6, "ms": 1e6, "s": 1e9,
          "byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}
LEAST = 1e6  # bytes; fewer say nothing of a ratio


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


# What is held to what: a part of a metric's name, and whether a kernel's two values agree. Units
# of time are ns, of shares points.
UNITS = ("sm", "lts", "l1tex")
PERCENT = ".avg.pct_of_peak_sustained_elapsed"
STALLED = "smsp__average_warps_issue_stalled_"
LONG = 10e3


def derived(row: Dict[str, float]) -> Dict[str, float]:
    """With a unit's throughput, which is that of its busiest part, and shares of stalls."""
    made = dict(row)
    for unit in UNITS:
        name = unit + "__throughput" + PERCENT
        parts = [value for key, value in row.items()
                 if key.startswith(unit + "__") and key.endswith(PERCENT)]
        if name not in row and parts:
            made[name] = max(parts)
    stalls = {key: value for key, value in row.items() if key.startswith(STALLED)}
    for key, value in stalls.items():
        made["share of " + key[len(STALLED):].split("_per_")[0]] = (
            100 * value / sum(stalls.values()) if sum(stalls.values()) else float("nan"))
        del made[key]
    return made


def by_kernel(path: str) -> Dict[Key, Dict[str, float]]:
    """Medians of a page's launches of one kernel in one shape."""
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        head = next(row for row in csv.reader(file) if len(row) > 10)
        file.seek(0)
        cells = [row for row in csv.reader(file) if len(row) > 10][2:]
    place = [head.index(name) for name in ("Kernel Name", "Grid Size", "Block Size")]
    found: Dict[Key, List[Dict[str, float]]] = {}
    for row, values in zip(cells, rows_of(path)):
        name, grid, block = (row[at] for at in place)
        found.setdefault((plain(name), grid, block), []).append(derived(values))
    return {key: {name: statistics.median(row[name] for row in rows if name in row)
                  for name in {name for row in rows for name in row}}
            for key, rows in found.items()}


def agrees(metric: str, ours: float, theirs: float, ns: float) -> Optional[bool]:
    """None: nothing is held to anything."""
    if metric.startswith("share of "):
        return abs(ours - theirs) <= 5 if ns >= LONG else None
    if ".pct" in metric:
        return abs(ours - theirs) <= 3 if ns >= LONG else None
    if is_count(metric) or "requests" in metric:
        return abs(ours - theirs) <= 0.005 * abs(theirs)
    if metric.startswith(("dram__bytes", "lts__t_bytes")):
        return abs(ours / theirs - 1) <= 0.05 if theirs > LEAST else None
    return None


def kernels(ours: str, theirs: str) -> bool:
    mine, other = by_kernel(ours), by_kernel(theirs)
    keys = sorted(mine.keys() & other.keys())
    print(f"kernels in their shapes: {len(keys)} in both ({len(mine)} and {len(other)})")
    right = True
    for metric in sorted({name for key in keys for name in mine[key] if name in other[key]}):
        pairs = [(key, mine[key][metric], other[key][metric]) for key in keys
                 if metric in mine[key] and metric in other[key]]
        judged = [(key, a, b, agrees(metric, a, b, other[key].get("gpu__time_duration.sum", 0)))
                  for key, a, b in pairs]
        held = [row for row in judged if row[3] is not None]
        bad = [row for row in held if not row[3]]
        ratios = [a / b for _, a, b in pairs if b]
        print(f"  {metric}: {len(held) - len(bad)} of {len(held)} as wanted, {len(pairs)} in all"
              + (f", median ratio {statistics.median(ratios):.4f}" if ratios else ""))
        for key, a, b, _ in bad:
            print(f"    {a:.6g} and {b:.6g}: {key[0][:60]} {key[1]} {key[2]}")
        right = right and not bad
    return right


def plain(name: str) -> str:
    """A kernel's name as both spell it: without casts, qualifiers and spaces."""
    name = re.sub(r"\((?:unsigned )?[a-z]+(?: [a-z]+)?\)", "", name).replace("<unnamed>::", "")
    name = re.sub(r"\b\w+::", "", name.replace("true", "1").replace("false", "0"))
    return name.replace(" ", "")


def main(words: List[str]) -> int:
    if len(words) == 3 and words[0] == "--kernels":
        return 0 if kernels(words[1], words[2]) else 1
    if len(words) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    return 0 if timeline(words[0], words[1]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
