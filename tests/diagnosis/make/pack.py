#!/usr/bin/env python3
"""Scrubs and packs what record.sh left in FOLDERs, under names that say nothing, and writes
../labels.json, and ../plain.json: what the stages of each take without a profiler. Recordings that
are there already stay.

    tests/diagnosis/make/pack.py LLMPROF FOLDER...
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


def seconds_of(folder: pathlib.Path, run: Run) -> int:
    """How long the program was recorded, its start and turn in the queue included."""
    said = re.search(rf"^{run.name} \w+ rc 0 (\d+) s$", (folder / "done").read_text("utf-8"), re.M)
    if not said:
        raise SystemExit(f"{folder}/done: {run.name} did not end well")
    return int(said[1])


def label_of(run: Run, file: str, timed: Dict[str, Any]) -> Dict[str, Any]:
    stage = run.stage or "decode"
    label = {"file": file, "run": run.name, "program": run.program, "tool": run.tool,
             "gpu": timed["gpu"], "kind": run.kind, "stage": run.stage if run.kind else "",
             "place": run.place}
    if run.kind and run.timed:
        label["cost_stage"] = stage
        cost = timed["faulty_ms"][stage] - timed["healthy_ms"][stage]
        # An engine's stages are its steps.
        label["cost_ms"] = round(cost / (run.shape.steps if run.program == "engine" else 1), 3)
    return label


def plain_of(run: Run, timed: Dict[str, Any]) -> Dict[str, float]:
    """Milliseconds of the stages that the program tells apart."""
    if run.program in ("engine", "generate"):
        return {}
    return {name: round(ms, 3) for name, ms in
            timed["faulty_ms" if run.kind else "healthy_ms"].items()}


def main() -> None:
    llmprof, folders = sys.argv[1], [pathlib.Path(word) for word in sys.argv[2:]]
    captures = HERE / "captures"
    captures.mkdir(exist_ok=True)
    labels = json.loads((HERE / "labels.json").read_text("utf-8"))
    plain = json.loads((HERE / "plain.json").read_text("utf-8"))
    known = {label["run"]: label["file"] for label in labels}
    number = max((int(name[1:3]) for name in known.values()), default=0)
    for run in sorted(RUNS, key=lambda run: hashlib.sha256(run.name.encode()).digest()):
        folder = next((one for one in folders if (one / (run.name + SUFFIX[run.tool])).is_file()
                       and (one / (run.name + ".json")).is_file()), None)
        if run.name in known or not folder:
            if not folder and run.name not in known:
                print(f"{run.name}: not recorded")
            continue
        timed = json.loads((folder / (run.name + ".json")).read_text("utf-8"))
        number += 1
        file = f"r{number:02}" + (".json" if run.tool == "torch" else ".sqlite")
        packed = lzma.compress(scrubbed(llmprof, folder, run), preset=6)
        (captures / (file + ".xz")).write_bytes(packed)
        labels.append({**label_of(run, file, timed), "seconds": seconds_of(folder, run)})
        if plain_of(run, timed):
            plain[file] = plain_of(run, timed)
        print(f"{file} {run.name}: {len(packed):,} bytes")
    for name, made in (("labels.json", labels), ("plain.json", plain)):
        (HERE / name).write_text(json.dumps(made, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
