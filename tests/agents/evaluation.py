#!/usr/bin/env python3
"""Twenty questions about captures, each answered by one call of llmprof mcp.

evaluation.py LLMPROF [--update]: run in the source tree. Every answer is held against what
truths.py finds in the capture by itself; the bytes that each question cost are a table of
README.md here, which --update writes.
"""

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

from truths import Capture

PAGE = Path("tests/agents/README.md")
HEAD = "| question | tools | asked | answered |"

# What is asked about: one under nsys and ncu, with plain runs around it, and a server.
CAPTURES = {"deepseek_ocr": Path("tests/fixtures/deepseek_ocr"),
            "vllm_serve": Path("tests/fixtures/recorded/vllm_serve")}

Call = Tuple[str, Dict[str, Any]]


@dataclass
class Question:
    """Asked in words; which calls answer it, how the answer is read, and what is true."""

    words: str
    calls: List[Call]
    read: Callable[[List[str]], Any]
    truth: Callable[[Dict[str, Capture]], Any]
    within: float = 1e-6  # of the truth


def query(run: str, code: str) -> Call:
    return ("query", {"run": run, "code": code})


def rows(answer: str) -> List[Dict[str, Any]]:
    found: List[Dict[str, Any]] = json.loads(answer)["rows"]
    return found


def number(answers: List[str]) -> float:
    return float(answers[0])


def text(answers: List[str]) -> str:
    return answers[0].strip()


QUESTIONS = [
    Question("Which kernel grew most between two repeats?",
             [query("ocr", 'kernels:where { stage = "decode", rep = 2 }:group("name"):sum("dur")'
                           ':diff(kernels:where { stage = "decode", rep = 3 }:group("name")'
                           ':sum("dur")):top(1, "difference")[1].difference')],
             number, lambda of: of["ocr"].grew("decode", 1, 2)),
    Question("How long was the GPU's longest gap, and what ended it?",
             [("table", {"run": "ocr", "section": "gaps", "top": 1})],
             lambda said: rows(said[0])[0]["ns"], lambda of: of["ocr"].longest_gap()),
    Question("What share of decode is attention?",
             [query("ocr", 'kernels:where { stage = "decode" }:group("category"):sum("dur")'
                           ':share("dur"):where { category = "attention" }[1].share')],
             number, lambda of: of["ocr"].share_of("decode", "flash")),
    Question("How long is a step of decode with eight requests?",
             [query("serve", 'steps:where { world = 0, phase = "decode", batch = 8 }'
                             ':median("interval")')],
             number, lambda of: of["serve"].interval("execute_context_0(0)_generation_8(8)"),
             0.02),  # one is of the GPU, the other of the CPU
    Question("Is decode bound by the GPU or the CPU?", [("digest", {"run": "ocr"})],
             lambda said: [stage["bound"] for stage in json.loads(said[0])["stages"]
                           if stage["key"] == "decode"],
             lambda of: ["CPU" if of["ocr"].busy_ns("decode") < of["ocr"].plain_ns("decode") / 2
                         else "GPU"]),
    Question("Which layer is the slowest?",  # no range marks one: as the kernels told it once
             [query("ocr", 'layers:group("layer"):agg("mean dur")'
                           ':top(1, "duration_mean")[1].layer')],
             number, lambda of: 6),
    Question("What is the p99 of a step of decode?",
             [query("ocr", 'steps:where { phase = "decode" }:percentile("dur", 99)')],
             number, lambda of: of["ocr"].p99("decode_step"), 0.001),  # copies belong to it
    Question("Which kernel of aten::mm takes most time?",
             [("table", {"run": "ocr", "section": "operator_kernels",
                         "filter": {"operator": "aten::mm"}, "top": 1})],
             lambda said: rows(said[0])[0]["device_ns"],
             lambda of: of["ocr"].longest_of_operator("aten::mm")),
    Question("How long do copies and computing overlap on GPU 0?",
             [query("serve", "overlap(transfers:where { device = 0 }, "
                             "kernels:where { device = 0 })[1].both")],
             number, lambda of: of["serve"].copied_under(0)),
    Question("How long is the slowest step of decode?",
             [query("ocr", 'steps:where { phase = "decode" }:top(1, "length")[1].length')],
             number, lambda of: max(of["ocr"].lengths("decode_step")), 0.001),
    Question("How full is the KV cache?",
             [("table", {"run": "serve", "section": "engine_metrics"})],
             lambda said: rows(said[0]), lambda of: []),
    Question("What would a CUDA graph gain?",
             [("table", {"run": "ocr", "section": "findings",
                         "filter": {"rule": "graph_missing"}})],
             lambda said: rows(said[0])[0]["gain_ns"],
             # What its GPU does not work; less, since launches and Python stay.
             lambda of: of["ocr"].plain_ns("decode") - of["ocr"].busy_ns("decode"), 0.25),
    Question("Which line of Python launches most kernel time?",
             [query("tests/fixtures/torch/lines.json",
                    'kernels:group("line"):sum("dur"):top(1, "dur")[1].line')],
             text, lambda of: "m/model.py:5"),
    Question("What energy does a token take?",
             [("table", {"run": "serve", "section": "running_cost",
                         "filter": {"stage": "decode"}})],
             lambda said: rows(said[0])[0].get("energy_j_per_token"), lambda of: None),
    Question("What changed since the last run?",
             [("compare", {"before": "ocr", "after": "again"})],
             lambda said: [row["difference"] for row in json.loads(said[0])["comparisons"][0]
                           ["times"] if row["path"] == "decode.ms"],
             lambda of: [0]),
    Question("What do a million tokens of decode cost?",
             [("table", {"run": "ocr", "section": "running_cost", "filter": {"stage": "decode"}})],
             lambda said: rows(said[0])[0]["per_million_tokens"],
             lambda of: of["ocr"].plain_ns("decode") / 3.6e12 * 3.5
             / len(of["ocr"].ranges("decode_step")) * len(of["ocr"].ranges("decode")) * 1e6),
    Question("Was the GPU throttled?",
             [("table", {"run": "ocr", "section": "integrity", "filter": {"name": "clocks"}})],
             lambda said: rows(said[0])[0]["level"] != "ok", lambda of: of["ocr"].throttled()),
    Question("Where does the time to the first token go?",
             [("digest", {"run": "ocr"})],
             lambda said: json.loads(said[0])["latency"]["ttft_ns"],
             lambda of: of["ocr"].plain_ns("prefill")),
    Question("Which are the first twenty kernels of a step?",
             [query("ocr", 'kernels:where { stage = "decode", rep = 1 }:sort("start"):head(20)'
                           ':select("short")')],
             lambda said: said[0].split()[1:], lambda of: of["ocr"].first("decode_step", 20)),
    Question("How do the times of reduce_kernel spread?",
             [query("ocr", 'kernels:where { short = "reduce_kernel" }:hist("dur", 4)')],
             lambda said: sum(int(line.split()[2].replace(",", ""))
                              for line in said[0].splitlines()[1:]),
             lambda of: of["ocr"].count("reduce_kernel")),
]


def make_runs(program: str, root: Path) -> None:
    """The bundles that are asked about, of recorded captures."""
    for recipe, name in (("deepseek_ocr", "ocr"), ("deepseek_ocr", "again"),
                         ("vllm_serve", "serve")):
        subprocess.run([program, f"recipes/{recipe}.lua", "capture=recorded", "-q",
                        f"recorded={CAPTURES[recipe]}", f"run.root={root}", f"run.id={name}"],
                       check=True)


@dataclass
class Answered:
    """What came of a question."""

    right: bool
    said: Any
    truth: Any
    asked: int  # bytes of the arguments
    answered: int  # bytes of the answers


def agrees(said: Any, truth: Any, within: float) -> bool:
    if isinstance(truth, (int, float)) and isinstance(said, (int, float)):
        return abs(said - truth) <= within * max(abs(truth), 1)
    return bool(said == truth)


def answer(server: "subprocess.Popen[str]", question: Question,
           captures: Dict[str, Capture]) -> Answered:
    said: List[str] = []
    asked = 0
    for tool, arguments in question.calls:
        asked += len(json.dumps(arguments))
        assert server.stdin and server.stdout
        print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                          "params": {"name": tool, "arguments": arguments}}),
              file=server.stdin, flush=True)
        result = json.loads(server.stdout.readline())["result"]
        said.append(result["content"][0]["text"])
        if result.get("isError"):
            raise SystemExit(f"{question.words} {said[-1]}")
    found, truth = question.read(said), question.truth(captures)
    return Answered(agrees(found, truth, question.within), found, truth, asked,
                    sum(len(text.encode()) for text in said))


def answer_all(program: str, root: Path) -> List[Answered]:
    captures = {name: Capture(CAPTURES[recipe])
                for name, recipe in (("ocr", "deepseek_ocr"), ("serve", "vllm_serve"))}
    with subprocess.Popen([program, "mcp", "--root", str(root)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as server:
        answers = [answer(server, question, captures) for question in QUESTIONS]
        assert server.stdin
        server.stdin.close()
    return answers


# ---- the page ----

def table(answers: List[Answered]) -> List[str]:
    """What each question cost, as lines of Markdown."""
    lines = [HEAD, "|---|---|---:|---:|"]
    for question, one in zip(QUESTIONS, answers):
        tools = ", ".join(f"`{tool}`" for tool, _ in question.calls)
        lines.append(f"| {question.words} | {tools} | {one.asked:,} | {one.answered:,} |")
    lines.append(f"| all twenty | | {sum(one.asked for one in answers):,} "
                 f"| {sum(one.answered for one in answers):,} |")
    return lines


def of_page() -> Tuple[List[str], int, int]:
    """The page's lines, and where its table begins and ends."""
    lines = PAGE.read_text(encoding="utf-8").split("\n")
    first = lines.index(HEAD)
    last = first
    while lines[last].startswith("|"):
        last += 1
    return lines, first, last


def differs(before: List[str], after: List[str]) -> bool:
    """More than bytes that depend on where and when: a twentieth of a figure."""
    if len(before) != len(after):
        return True
    for old, new in zip(before[2:], after[2:]):
        if old.split("|")[1:3] != new.split("|")[1:3]:
            return True
        figures = [[float(cell.replace(",", "")) for cell in line.split("|")[3:5]]
                   for line in (old, new)]
        if any(abs(a - b) > 0.05 * max(a, b) for a, b in zip(*figures)):
            return True
    return False


def main() -> int:
    program, update = sys.argv[1], sys.argv[2:] == ["--update"]
    with tempfile.TemporaryDirectory(prefix="llmprof-agents.") as folder:
        make_runs(program, Path(folder))
        answers = answer_all(program, Path(folder))
    wrong = 0
    for question, one in zip(QUESTIONS, answers):
        calls = "; ".join(f"{tool} {json.dumps(arguments)}" for tool, arguments in question.calls)
        print(f"{question.words}\n  {calls}\n  {str(one.said)[:200]}")
        if not one.right:
            wrong += 1
            print(f"wrong: {question.words} {one.said!r}, in truth {one.truth!r}")
    made, (lines, first, last) = table(answers), of_page()
    if update:
        PAGE.write_text("\n".join(lines[:first] + made + lines[last:]), encoding="utf-8")
    elif differs(lines[first:last], made):
        print("\n".join(made))
        print(f"{PAGE} says otherwise: evaluation.py LLMPROF --update")
        wrong += 1
    print(f"{len(QUESTIONS) - wrong} of {len(QUESTIONS)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
