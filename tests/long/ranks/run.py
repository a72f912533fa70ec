#!/usr/bin/env python3
"""Many simulated ranks, three of them late: does llmprof name these, and at what cost?

    tests/long/ranks/run.py PROGRAM [--ranks 64,128,256,512] [--processes 1,4]

Prints a row for each number of ranks and of processes. Exit status 1 where another rank is
named, several processes make other bytes than one, or a rank of many costs more than
twice the CPU time or memory of one of few.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import make

MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np"]
LEAST_RANKS = 64  # fewer cost what llmprof itself costs


def run(argv):
    """Run to the end: CPU seconds and peak memory of the largest process in MB."""
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(argv)}: exit status {child.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def named(out):
    """The ranks that others wait for, those with most of that first."""
    with open(os.path.join(out, "results.json"), encoding="utf-8") as file:
        record = json.load(file)["ranks"]
    late = [rank for rank in record["ranks"] if rank.get("caused_ns")]
    late.sort(key=lambda rank: -rank["caused_ns"])
    return record["verdict"].get("rank"), [rank["rank"] for rank in late]


def measure(program, folder, ranks, processes):
    """One row: CPU seconds, MB, what is wrong, and the bytes."""
    out = os.path.join(folder, "out")
    launcher = MPIRUN + [str(processes)] if processes > 1 else []
    seconds, memory = run(launcher + [program, "ranks", os.path.join(folder, "in"), "--out", out])
    verdict, late = named(out)
    wanted = make.places(ranks)
    wrong = [] if verdict == wanted[0] and late == wanted else [f"names {verdict}, {late}"]
    with open(os.path.join(out, "results.json"), "rb") as file:
        content = file.read()
    shutil.rmtree(out)
    return seconds, memory, wrong, content


def campaign(program, counts, processes):
    """All rows; how many things were wrong."""
    findings, first = 0, {}
    print("ranks  processes  CPU s  CPU ms a rank  peak MB  late ranks")
    for ranks in counts:
        with tempfile.TemporaryDirectory() as folder:
            make.make(make.FIXTURE, os.path.join(folder, "in"), ranks, make.places(ranks))
            one = None
            for count in processes:
                seconds, memory, wrong, content = measure(program, folder, ranks, count)
                one = one or content
                if content != one:
                    wrong.append("other bytes than one process")
                if ranks >= LEAST_RANKS:
                    few = first.setdefault(count, (seconds / ranks, memory / ranks))
                    if seconds / ranks > 2 * few[0] or memory / ranks > 2 * few[1]:
                        wrong.append("costs more than twice as much a rank")
                print(f"{ranks:5}  {count:9}  {seconds:5.1f}  {1000 * seconds / ranks:13.1f}"
                      f"  {memory:7.0f}  {', '.join(map(str, make.places(ranks)))}"
                      f"{''.join('  WRONG: ' + text for text in wrong)}", flush=True)
                findings += len(wrong)
    return findings


def numbers(words):
    """"1,4" as [1, 4]."""
    return [int(word) for word in words.split(",")]


def main():
    """Read the command line, run, and say so by the exit status."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--ranks", type=numbers, default=[64, 128, 256, 512])
    parser.add_argument("--processes", type=numbers, default=[1, 4])
    given = parser.parse_args()
    if not shutil.which("mpirun"):
        given.processes = [1]
    sys.exit(campaign(given.program, given.ranks, given.processes) > 0)


if __name__ == "__main__":
    main()
