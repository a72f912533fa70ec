#!/usr/bin/env python3
"""Asks about the recorded runs through `llmprof mcp`, as an agent would, without a model.

    tests/diagnosis/agents.py PROGRAM [NAME...]

Two questions of each recording, "what is wrong?" to the tool digest and to the table of findings:
is the fault in the answer, or no fault in that of a healthy run, and how many bytes is it?
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import subprocess
from typing import Any, Dict, List, Tuple

from score import scored


def ask(program: str, root: pathlib.Path, calls: List[Tuple[str, Dict[str, Any]]]) -> List[str]:
    """What the tools answer, in order."""
    lines = [json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call",
                         "params": {"name": name, "arguments": arguments}})
             for number, (name, arguments) in enumerate(calls)]
    done = subprocess.run([program, "mcp", "--root", str(root)], input="\n".join(lines) + "\n",
                          capture_output=True, text=True, check=True)
    answers = {}
    for line in done.stdout.splitlines():
        said = json.loads(line)
        answers[said["id"]] = said["result"]["content"][0]["text"]
    return [answers[number] for number in range(len(calls))]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("names", nargs="*", help="only these recordings")
    args = parser.parse_args()
    right: Dict[str, List[bool]] = {"digest": [], "table": []}
    size: Dict[str, List[int]] = {"digest": [], "table": []}
    for score, folder in scored(args.program, args.names):
        run = str(folder / "report")
        digest, table = ask(args.program, folder, [
            ("digest", {"run": run}), ("table", {"run": run, "section": "findings"})])
        is_faulty = bool(score.label["kind"])
        blamed = {one["title"] for one in score.findings if one["rule"] in score.complaints}
        named = {one["title"] for one in score.matching}
        for tool, answer in (("digest", digest), ("table", table)):
            told = named if is_faulty else blamed
            is_told = any(json.dumps(title)[1:-1] in answer or title in answer for title in told)
            right[tool].append(is_told == is_faulty)
            size[tool].append(len(answer.encode()))
    print("| tool | right | bytes, median | most |")
    print("|---|---:|---:|---:|")
    for tool, answers in right.items():
        print(f"| {tool} | {sum(answers)} of {len(answers)} "
              f"| {int(statistics.median(size[tool])):,} | {max(size[tool]):,} |")


if __name__ == "__main__":
    main()
