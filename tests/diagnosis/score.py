#!/usr/bin/env python3
"""Scores diagnoses of the recorded runs against their labels.

    tests/diagnosis/score.py PROGRAM [NAME...] [--table FILE] [--floor FILE]

PROGRAM is llmprof. Each recording in captures/ is reported without a recipe, with what its stages
take without a profiler (plain.json; not with --no-plain), and the findings of its results.json are
held against labels.json by mapping.json. --table writes the table of tests/diagnosis/score.md,
--page the score of docs/diagnosis.md; with --floor the exit status is 1 where a count falls below
the file's.
"""

from __future__ import annotations

import argparse
import json
import lzma
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

HERE = pathlib.Path(__file__).resolve().parent
WITHIN = 0.2  # a cost counts as right within this share of what was timed


def unpacked(name: str, folder: pathlib.Path) -> pathlib.Path:
    target = folder / name
    with lzma.open(HERE / "captures" / (name + ".xz")) as packed, open(target, "wb") as file:
        shutil.copyfileobj(packed, file)
    return target


def findings_of(program: str, capture: pathlib.Path, folder: pathlib.Path,
                plain: Dict[str, float]) -> Dict[str, Any]:
    """Findings by rank, and the seconds that the report took."""
    if plain:  # as a run of a recipe has it
        (folder / "before.json").write_text(json.dumps({"schema_version": 1, "repeats": [
            {"index": 1, "stages": {name: {"ms": ms} for name, ms in plain.items()}}]}), "utf-8")
    out, begun = folder / "report", time.perf_counter()
    done = subprocess.run([program, "report", str(capture), "--out", str(out)],
                          capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begun
    if done.returncode != 0:
        raise SystemExit(f"{capture.name}: exit status {done.returncode}\n{done.stderr}")
    results = json.loads((out / "results.json").read_text("utf-8"))
    return {"findings": results.get("advice", {}).get("findings", []), "seconds": seconds}


class Score:
    """What the findings of one run are worth."""

    def __init__(self, label: Dict[str, Any], found: Dict[str, Any], mapping: Dict[str, Any]):
        accepts = set(mapping["kinds"].get(label["kind"], ()))
        ignored = (set(mapping["opportunities"]) | set(mapping["about the capture"])) - accepts
        may = accepts | set(mapping["also true"].get(label["kind"], ())) | set(
            mapping["true of all"]) | set(mapping["true of"].get(label["program"], ()))
        faults = [one for one in found["findings"]
                  if one["rule"] not in ignored and one.get("gain_share", 1) >= 0.01]
        self.label, self.seconds, self.findings = label, found["seconds"], found["findings"]
        matching = [one for one in found["findings"]
                    if one["rule"] in accepts and self.at_place(one)]
        self.matching, self.found = matching, bool(matching)
        self.first = bool(faults) and faults[0] in matching
        self.complaints = [one["rule"] for one in faults if not may & {
            one["rule"], f"{one['rule']}@{one.get('stage')}"}]
        self.cost: Optional[float] = None
        timed = [one for one in matching
                 if one.get("gain_ns") and one.get("stage") == label.get("cost_stage")]
        if timed:
            self.cost = timed[0]["gain_ns"] / 1e6 / label["cost_ms"] - 1
        self.rules = [one["rule"] for one in faults]

    def at_place(self, finding: Dict[str, Any]) -> bool:
        stage = finding.get("stage")
        return not stage or stage == "whole run" or self.label["stage"] in ("", stage)

    def row(self) -> str:
        label = self.label
        cost = label.get("cost_ms")
        return "| " + " | ".join((
            label["file"].split(".")[0], label["kind"] or "healthy",
            f"{cost:.2f}" if cost else "-",
            ("yes" if self.found else "no") if label["kind"] else "-",
            ("yes" if self.first else "no") if label["kind"] else "-",
            f"{self.cost * 100:+.0f} %" if self.cost is not None else "-",
            ", ".join(self.complaints) or "-")) + " |"


def read(name: str) -> Any:
    return json.loads((HERE / name).read_text("utf-8"))


def scored(program: str, names: List[str],
           with_plain: bool = True) -> Iterator[Tuple[Score, pathlib.Path]]:
    """Each recording, or those that are named, and for a while a folder with its `report`."""
    mapping, plain = read("mapping.json")["llmprof"], read("plain.json") if with_plain else {}
    for label in read("labels.json"):
        if not names or label["file"].split(".")[0] in names:
            with tempfile.TemporaryDirectory() as temporary:
                folder = pathlib.Path(temporary)
                found = findings_of(program, unpacked(label["file"], folder), folder,
                                    plain.get(label["file"], {}))
                yield Score(label, found, mapping), folder


def totals(scores: List[Score]) -> Dict[str, List[int]]:
    scenarios = [one for one in scores if one.label["program"] == "scenario"]
    faults = [one for one in scores if one.label["kind"] and one not in scenarios]
    healthy = [one for one in scores if not one.label["kind"]]
    costs = [one.cost for one in faults if one.label.get("cost_ms")]
    return {
        "found": [sum(one.found for one in faults), len(faults)],
        "first": [sum(one.first for one in faults), len(faults)],
        "healthy without a finding": [sum(not one.complaints for one in healthy), len(healthy)],
        "cost within 20 %": [sum(cost is not None and abs(cost) <= WITHIN for cost in costs),
                             len(costs)],
        "PerfAdvisor's scenarios found": [sum(one.found for one in scenarios), len(scenarios)],
    }


def listed(scores: List[Score]) -> str:
    return ", ".join(sorted({one.label["kind"].replace("_", " ") for one in scores})) or "none"


def page_of(scores: List[Score], counts: Dict[str, List[int]]) -> str:
    """The score as the manual has it."""
    faults = [one for one in scores if one.label["kind"]]
    later = [one for one in faults if one.found and not one.first]
    off = [f"{one.label['kind'].replace('_', ' ')} {one.cost * 100:+.0f} %" for one in faults
           if one.cost is not None and abs(one.cost) > WITHIN
           and one.label["program"] != "scenario"]
    return "\n".join([
        "| of the recordings | count |", "|---|---:|",
        *(f"| {name} | {some} of {all_} |" for name, (some, all_) in counts.items()), "",
        *textwrap.wrap(f"Found, but not first: {listed(later)}. Missed: "
                       f"{listed([one for one in faults if not one.found])}. Costs that are "
                       f"further off: {', '.join(off)}; the others state none.", 100)]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("names", nargs="*", help="only these recordings")
    parser.add_argument("--no-plain", dest="plain", action="store_false",
                        help="as if nobody had timed the stages without a profiler")
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--floor", type=pathlib.Path)
    args = parser.parse_args()
    scores = [score for score, _ in scored(args.program, args.names, args.plain)]
    lines = ["| run | fault | costs, ms | found | first | cost said | other findings |",
             "|---|---|---:|---|---|---:|---|", *(score.row() for score in scores)]
    counts = totals(scores)
    lines += ["", *(f"- {name}: {some} of {all_}" for name, (some, all_) in counts.items())]
    print("\n".join(lines))
    if args.table:
        args.table.write_text("\n".join(lines) + "\n", "utf-8")
    if args.page:
        text = args.page.read_text("utf-8")
        before, rest = text.split("## The score\n", 1)
        after = rest.index("\n## ")
        args.page.write_text(f"{before}## The score\n\n{page_of(scores, counts)}{rest[after:]}",
                             "utf-8")
    if args.floor:
        floor = json.loads(args.floor.read_text("utf-8"))
        low = [name for name, least in floor.items() if counts[name][0] < least]
        if low:
            sys.exit("fell below the floor: " + ", ".join(low))


if __name__ == "__main__":
    main()
