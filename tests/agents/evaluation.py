#!/usr/bin/env python3
"""Fifteen questions about captures, answered through llmprof mcp by the official client.

evaluation.py LLMPROF [--update]: run in the source tree. Every answer is held against what
truths.py finds in the capture by itself; the bytes that each question cost are a table of
README.md here, which --update writes. Exit status 77 where the client (mcp) is missing.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

try:
    from mcp.client.session import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client
except ImportError:
    print("evaluation.py: no client of the protocol (the package mcp)", file=sys.stderr)
    sys.exit(77)

from truths import Capture

PAGE = Path("tests/agents/README.md")
HEAD = "| question | tools | asked | answered |"

# What is asked about: one under nsys and ncu, with plain runs around it, and a server.
CAPTURES = {"deepseek_ocr": Path("tests/fixtures/deepseek_ocr"),
            "vllm_serve": Path("recipes/recorded/vllm_serve")}

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
    Question("How long until the first token?", [("digest", {"run": "ocr"})],
             lambda said: json.loads(said[0])["latency"]["ttft_ns"],
             lambda of: of["ocr"].plain_ns("prefill")),
    Question("Is decode bound by the GPU or the host?", [("digest", {"run": "ocr"})],
             lambda said: [stage["bound"] for stage in json.loads(said[0])["stages"]
                           if stage["key"] == "decode"],
             lambda of: ["host" if of["ocr"].busy_ns("decode") < of["ocr"].plain_ns("decode") / 2
                         else "gpu"]),
    Question("Which kernel takes most of decode?",
             [query("ocr", 'kernels:where { stage = "decode" }:group("name"):sum("dur")'
                           ':top(1, "dur")[1].name')],
             text, lambda of: of["ocr"].longest_kernel("decode")),
    Question("How many kernels does a step of decode launch?",
             [query("ocr", 'steps:where { phase = "decode" }:median("kernels")')],
             number, lambda of: len(of["ocr"].launched_in("decode_step"))
             / len(of["ocr"].ranges("decode_step"))),
    Question("How long was the GPU's longest gap?", [query("ocr", 'gaps:max("dur")')],
             number, lambda of: of["ocr"].longest_gap()),
    Question("How much is copied to the GPU?",
             [query("ocr", 'transfers:where { direction = "host to device" }:sum("bytes")')],
             number, lambda of: of["ocr"].value(
                 "SELECT sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind = 1")),
    Question("How long does the CPU spend in cudaLaunchKernel?",
             [query("ocr", 'api:where { name = { "~", "cudaLaunchKernel_v" } }:sum("dur")')],
             number, lambda of: of["ocr"].value(
                 "SELECT sum(end - start) FROM CUPTI_ACTIVITY_KIND_RUNTIME "
                 "JOIN StringIds ON id = nameId WHERE value LIKE 'cudaLaunchKernel_v%'")),
    Question("What is the p99 of reduce_kernel?",
             [query("ocr", 'kernels:where { short = "reduce_kernel" }:percentile("dur", 99)')],
             number, lambda of: of["ocr"].p99("reduce_kernel")),
    Question("Which stages are there, and how often did they run?",
             [("table", {"run": "ocr", "section": "stages"})],
             lambda said: {row["label"]: row["count"] for row in rows(said[0])
                           if row["label"] in ("prefill", "decode")},
             lambda of: {name: len(of["ocr"].ranges(name)) for name in ("prefill", "decode")}),
    Question("What does sgemm of the convolution reach of DRAM's peak?",
             [query("ocr", 'counters:where { name = { "~", "implicit_convolve" } }'
                           ':max("dram_percent")')],
             number, lambda of: of["ocr"].counter(
                 "implicit_convolve", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed")),
    Question("Which rank do the others wait for?",
             [query("serve", 'collectives:where { late = true }:group("world"):sum("late")'
                             ':top(1, "late")[1].world')],
             number, lambda of: of["serve"].awaited()),
    Question("How many decode steps had eight requests?",
             [query("serve", '#steps:where { world = 0, phase = "decode", batch = 8 }')],
             number, lambda of: len(of["serve"].ranges(
                 "execute_context_0(0)_generation_8(8)")) / 2),
    Question("How much communication of GPU 0 hides behind its computing?",
             [query("serve", 'overlap(kernels:where { device = 0, category = "communication" }, '
                             'kernels:where { device = 0, category = { "!~", "communication" } })'
                             '[1].both')],
             number, lambda of: of["serve"].hidden(0)),
    Question("How many kernels ran in CUDA graphs?",
             [query("serve", "#kernels:where { graph_node = true }")],
             number, lambda of: of["serve"].value(
                 "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE graphNodeId IS NOT NULL "
                 "AND graphNodeId != 0")),
    Question("Did decode change when the same capture was analysed again?",
             [("compare", {"before": "ocr", "after": "again"})],
             lambda said: [row["difference"] for row in json.loads(said[0])["comparisons"][0]
                           ["times"] if row["path"] == "decode.ms"],
             lambda of: [0]),
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


async def answer(session: ClientSession, question: Question,
                 captures: Dict[str, Capture]) -> Answered:
    said: List[str] = []
    asked = 0
    for tool, arguments in question.calls:
        asked += len(json.dumps(arguments))
        result = await session.call_tool(tool, arguments)
        part = result.content[0]
        said.append(getattr(part, "text", ""))
        if result.is_error:
            raise SystemExit(f"{question.words} {said[-1]}")
    found, truth = question.read(said), question.truth(captures)
    return Answered(agrees(found, truth, question.within), found, truth, asked,
                    sum(len(text.encode()) for text in said))


async def answer_all(program: str, root: Path) -> List[Answered]:
    captures = {name: Capture(CAPTURES[recipe])
                for name, recipe in (("ocr", "deepseek_ocr"), ("serve", "vllm_serve"))}
    server = StdioServerParameters(command=program, args=["mcp", "--root", str(root)])
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            return [await answer(session, question, captures) for question in QUESTIONS]


# ---- the page ----

def table(answers: List[Answered]) -> List[str]:
    """What each question cost, as lines of Markdown."""
    lines = [HEAD, "|---|---|---:|---:|"]
    for question, one in zip(QUESTIONS, answers):
        tools = ", ".join(f"`{tool}`" for tool, _ in question.calls)
        lines.append(f"| {question.words} | {tools} | {one.asked:,} | {one.answered:,} |")
    lines.append(f"| all fifteen | | {sum(one.asked for one in answers):,} "
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
        answers = asyncio.run(answer_all(program, Path(folder)))
    wrong = 0
    for question, one in zip(QUESTIONS, answers):
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
