#!/usr/bin/env python3
"""Scrubs and packs what record.sh left, under names that say nothing, and writes ../labels.json.

    tests/diagnosis/make/pack.py LLMPROF FOLDER
"""

from __future__ import annotations

import hashlib
import json
import lzma
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Any, Dict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from runs import RUNS, Run

HERE = pathlib.Path(__file__).resolve().parents[1]
SUFFIX = {"collector": ".spool", "nsys": ".sqlite", "torch": ".trace.json"}


def scrubbed(llmprof: str, folder: pathlib.Path, run: Run) -> bytes:
    source = folder / (run.name + SUFFIX[run.tool])
    if run.tool == "torch":  # traceName is a path of the machine
        return re.sub(rb',\s*"traceName": "[^"]*"', b"", source.read_bytes())
    with tempfile.TemporaryDirectory() as made:
        target = pathlib.Path(made, "run.sqlite")
        subprocess.run([llmprof, "scrub", str(source), "-o", str(target)], check=True,
                       capture_output=True)
        return target.read_bytes()


def label_of(run: Run, file: str, timed: Dict[str, Any]) -> Dict[str, Any]:
    stage = run.stage or "decode"
    label = {"file": file, "run": run.name, "program": run.program, "tool": run.tool,
             "gpu": timed["gpu"], "kind": run.kind, "stage": run.stage if run.kind else "",
             "place": run.place}
    if run.kind and run.timed:
        label["cost_stage"] = stage
        label["cost_ms"] = round(timed["faulty_ms"][stage] - timed["healthy_ms"][stage], 3)
    return label


def main() -> None:
    llmprof, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    labels, captures = [], HERE / "captures"
    captures.mkdir(exist_ok=True)
    shuffled = sorted(RUNS, key=lambda run: hashlib.sha256(run.name.encode()).digest())
    for number, run in enumerate(shuffled, 1):
        timed = folder / (run.name + ".json")
        if not (folder / (run.name + SUFFIX[run.tool])).is_file():
            print(f"{run.name}: not recorded")
            continue
        file = f"r{number:02}" + (".json" if run.tool == "torch" else ".sqlite")
        packed = lzma.compress(scrubbed(llmprof, folder, run), preset=6)
        (captures / (file + ".xz")).write_bytes(packed)
        labels.append(label_of(run, file, json.loads(timed.read_text("utf-8"))))
        print(f"{file} {run.name}: {len(packed):,} bytes")
    (HERE / "labels.json").write_text(json.dumps(labels, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
