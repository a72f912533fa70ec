#!/usr/bin/env python3
"""Scores what other tools found in the recordings of nsys's schema, and llmprof (score.md).

    tests/diagnosis/peers.py FOLDER

FOLDER has, of each recording, what `nsys-ai diagnose rNN.sqlite --format json -o rNN.json` and
`nsys analyze rNN.sqlite >rNN.txt` wrote. mapping.json says what counts as found.
"""

from __future__ import annotations

import json
import pathlib
import re
import sqlite3
import sys
import tempfile
from typing import Any, Dict, List, Optional, Tuple

from score import HERE, unpacked

WARNS = ("warning", "critical", "high", "error")


def said_by_nsys_ai(file: pathlib.Path) -> Optional[List[Tuple[str, bool]]]:
    """Labels, and whether each warns; None where it failed."""
    if not file.is_file():
        return None
    return [(one["label"], one["severity"] in WARNS)
            for one in json.loads(file.read_text("utf-8"))["findings"]]


def prefills(capture: pathlib.Path) -> List[Tuple[int, int]]:
    database = sqlite3.connect(capture)
    rows = database.execute(
        "SELECT start, end FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId "
        "WHERE coalesce(text, value) IN ('prefill', 'context') AND end IS NOT NULL").fetchall()
    database.close()
    return rows


def said_by_nsys(file: pathlib.Path, capture: pathlib.Path) -> Optional[List[Tuple[str, bool]]]:
    """Rules with a row. The synchronisations that each program makes are none, and a region that is
    its prefill does not warn."""
    if not file.is_file():
        return None
    said = []
    for part in re.split(r"^Processing ", file.read_text("utf-8"), flags=re.M)[1:]:
        rule = re.search(r"rules/(\w+)\.py", part)
        rows = [line.split() for line in re.split(r"^ *-[- ]+$", part, flags=re.M)[-1].splitlines()
                if re.match(r" *\d", line)] if " ---" in part else []
        usual = 5 * len({row[2] for row in rows if len(row) > 2}) ** 2  # ranks meet, too
        if not rule or not rows or rule[1] == "cuda_api_sync" and len(rows) <= usual:
            continue
        warns = True
        if rule[1] == "gpu_time_util":
            inside = prefills(capture)
            warns = any(not any(begin <= int(row[3]) + int(row[2]) // 2 <= end
                                for begin, end in inside) for row in rows)
        said.append((rule[1], warns))
    return said


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    mapping = json.loads((HERE / "mapping.json").read_text("utf-8"))
    ours = dict(re.findall(r"^\| (r\d+) \| \w+ \| \S+ \| (\S+) \|.*$",
                           (HERE / "score.md").read_text("utf-8"), re.M))
    blamed = dict(re.findall(r"^\| (r\d+) \| healthy .* \| (.*?) \|$",
                             (HERE / "score.md").read_text("utf-8"), re.M))
    counts: Dict[str, Dict[str, List[int]]] = {}
    for label in json.loads((HERE / "labels.json").read_text("utf-8")):
        name, kind = label["file"].split(".")[0], label["kind"]
        if not label["file"].endswith(".sqlite"):
            continue
        what = ("PerfAdvisor's scenarios found" if label["program"] == "scenario" else
                "faults found" if kind else "healthy runs without a warning")
        with tempfile.TemporaryDirectory() as made:
            capture = unpacked(label["file"], pathlib.Path(made))
            tools: Dict[str, Any] = {
                "nsys-ai": said_by_nsys_ai(folder / (name + ".json")),
                "nsys analyze": said_by_nsys(folder / (name + ".txt"), capture)}
        row = {"llmprof": ours[name] == "yes" if kind else blamed[name] == "-"}
        for tool, said in tools.items():
            accepts = re.compile("|".join(mapping[tool].get(kind, ())) or "(?!)")
            row[tool] = said is not None and (any(accepts.search(text) for text, _ in said) if kind
                                              else not any(warns for _, warns in said))
        for tool, right in row.items():
            count = counts.setdefault(what, {}).setdefault(tool, [0, 0])
            count[0], count[1] = count[0] + right, count[1] + 1
        print(name, kind or "healthy", {tool: right for tool, right in row.items()})
    print("| of the same files | " + " | ".join(row) + " |\n|---|" + "---:|" * len(row))
    for what, tools_of in counts.items():
        print(f"| {what} | " + " | ".join(f"{one[0]} of {one[1]}" for one in tools_of.values())
              + " |")


if __name__ == "__main__":
    main()
