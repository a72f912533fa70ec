#!/usr/bin/env python3
"""Instructions and memory of ten works on small captures, against a budget.

    tests/bench/quick.py LLMPROF [--update]

Instructions are counted by valgrind's callgrind and the most bytes on the heap by its
massif, so that a busy machine does not matter; a work that needs more than 5 % over its
budget (tests/bench/budget.json) fails, for good news --update writes the new counts. They
are those of one compiler and one C library: elsewhere nothing is compared.
Exit status 77 there, and where there is no valgrind.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUDGET = os.path.join(HERE, "budget.json")
TOLERANCE = 0.05
SKIPPED = 77

TRACE = "tests/fixtures/tiny_h200/run.sqlite"
SMALL = "tests/fixtures/graphs/node.sqlite"
REPORTS = ("cuda_gpu_kern_sum", "cuda_api_sum", "nvtx_gpu_proj_sum", "nvtx_kern_sum",
           "cuda_kern_exec_sum")

# What is counted: name, words after the program. {folder} is empty at first.
WORKS = {
    "version": ["--version"],
    "help": ["--help"],
    "eval": ["-e", "return 1"],
    "stats": ["stats", "-f", "csv", *(word for name in REPORTS for word in ("-r", name)), TRACE],
    "query": ["-e", "kernels:where { stage = 'decode' }:group('category'):sum('dur')", TRACE],
    "export": ["export", "-o", "{folder}/timeline.json.gz", SMALL],
    "scrub": ["scrub", "-o", "{folder}/copy.sqlite", SMALL],
    "counters": ["-e", "counters:top(5, 'duration')", "tests/fixtures/ncu/tiny_h200_raw.csv"],
    "compare": ["compare", "tests/fixtures/compare/eager", "tests/fixtures/compare/graph"],
    "bundle": ["recipes/toy_llm.lua", "capture=recorded", "recorded=tests/fixtures/small",
               "out={folder}/run", "--quiet"],
}


def run(argv):
    """Standard error of a command; ends this program when it fails."""
    one_thread = dict(os.environ, LLMPROF_LIMITS="threads=1")  # on any machine
    done = subprocess.run(argv, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          env=one_thread, check=False)
    text = done.stderr.decode(errors="replace")
    if done.returncode != 0:
        sys.exit(f"{' '.join(argv)}: exit status {done.returncode}\n{text}")
    return text


def watch(tool, program, words):
    """Run a work under a tool of valgrind: what it says, and what it writes."""
    with tempfile.TemporaryDirectory(prefix="llmprof-quick-") as folder:
        report = os.path.join(folder, "report")
        words = [word.replace("{folder}", folder) for word in words]
        said = run(["valgrind", f"--tool={tool}", f"--{tool}-out-file={report}",
                    program, *words])
        with open(report, encoding="utf-8", errors="replace") as file:
            return said, file.read()


def count(program, words):
    """Instructions and the most bytes on the heap of a work."""
    said, _ = watch("callgrind", program, words)
    _, heap = watch("massif", program, words)
    return {"instructions": int(re.search(r"Collected : (\d+)", said).group(1)),
            "bytes": max(map(int, re.findall(r"^mem_heap_B=(\d+)", heap, re.MULTILINE)))}


def machine(program):
    """What the counts depend on."""
    compiler = subprocess.run(
        [program, "-e", "return require('llmprof.version').compiler"],
        capture_output=True, text=True, check=True).stdout.strip()
    return ", ".join((os.uname().machine, os.confstr("CS_GNU_LIBC_VERSION"), compiler))


def compare(name, now, budget):
    """Whether a work keeps to its budget; prints a line."""
    ok = True
    parts = []
    for what in ("instructions", "bytes"):
        ok = ok and now[what] <= budget[what] * (1 + TOLERANCE)
        parts.append(f"{now[what]:,} of {budget[what]:,} {what}")
    print(f"{'ok  ' if ok else 'OVER'} {name:10s} {', '.join(parts)}", flush=True)
    return ok


def write_budget(program):
    """Count all works, and make that the budget."""
    works = {name: count(program, words) for name, words in WORKS.items()}
    with open(BUDGET, "w", encoding="utf-8") as file:
        json.dump({"machine": machine(program), "works": works}, file, indent=2)
        file.write("\n")


def check(program):
    """The exit status: 0 when all works keep to their budgets."""
    with open(BUDGET, encoding="utf-8") as file:
        budget = json.load(file)
    here = machine(program)
    if budget["machine"] != here:
        print(f"skipped: the budget is of {budget['machine']}, here is {here}")
        return SKIPPED
    kept = [compare(name, count(program, words), budget["works"][name])
            for name, words in WORKS.items()]
    return 0 if all(kept) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("llmprof", help="the program, as the preset ci or dev builds it")
    parser.add_argument("--update", action="store_true", help="write the budget anew")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        print("skipped: no valgrind")
        sys.exit(SKIPPED)
    program = os.path.abspath(options.llmprof)
    if options.update:
        write_budget(program)
    else:
        sys.exit(check(program))


if __name__ == "__main__":
    main()
