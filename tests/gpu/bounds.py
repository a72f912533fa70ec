#!/usr/bin/env python3
"""bounds.py RUN: what a run of bounds.lua with counters.set=full says of its kernels, against
what each was made for. Exit status 1 where it says something else."""

from __future__ import annotations

import json
import pathlib
import sys

# Name: bound, what limits the warps, and the rule that names it.
MADE = {
    "bound_by_dram": ("DRAM", None, None),
    "bound_by_l2": ("L2", None, None),
    "bound_by_tensor": ("tensor", None, None),
    "bound_by_latency": ("latency", None, None),
    "bound_by_occupancy": ("latency", "shared memory", "low_occupancy"),
    "uncoalesced": (None, None, "uncoalesced"),
    "bank_conflicts": ("L1", None, "bank_conflicts"),
    "tail": (None, None, "tail_effect"),
}


def main(words: list[str]) -> int:
    if len(words) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    results = json.loads(pathlib.Path(words[0], "results.json").read_text(encoding="utf-8"))
    named: dict[str, set[int]] = {}
    for finding in results["advice"]["findings"]:
        named.setdefault(finding["rule"], set()).update(finding.get("kernels", []))
    kernels = {name: kernel for kernel in results["kernels"] for name in MADE
               if name in kernel["name"]}
    wrong = 0
    for name, (bound, limiter, rule) in MADE.items():
        kernel = kernels.get(name, {})
        counters, launch = kernel.get("counters") or {}, kernel.get("launch") or {}
        said = counters.get("bound"), launch.get("limiter"), rule
        right = (bound in (None, said[0]) and limiter in (None, said[1])
                 and (rule is None or kernel.get("id") in named.get(rule, set())))
        wrong += not right
        stalls = ", ".join(f"{row['reason']} {row['share']:.0%}"
                           for row in counters.get("stalls", []))
        print(f"{'right' if right else 'WRONG'}: {name}: {said[0]} "
              f"({counters.get('bound_percent')}), limited by {said[1]}, {stalls or 'no stalls'}"
              + (f", {rule}" if rule and kernel.get("id") in named.get(rule, set()) else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
