#!/usr/bin/env python3
"""Ratios of llmprof to others, each pair in turn in one run.

    tests/bench/run.py [--nsys PATH] [--llmprof PATH] [--copies N] ...

Times are of the wall clock and only compared within a pair of runs, one right
after the other; a ratio is the median over the pairs. Absolute times would say
more about the machine than about the programs and are not printed.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
EXPORT = os.path.join(ROOT, "tests", "fixtures", "deepseek_ocr", "run.sqlite")
REPORTS = ("cuda_gpu_kern_sum,cuda_api_sum,nvtx_gpu_proj_sum,nvtx_kern_sum,"
           "cuda_kern_exec_sum")


def run(argv):
    """Seconds and peak memory in MB of a command, the processes that it waits
    for included; ends the benchmark when it fails. Linux counts this script's
    own 15 MB as the least that a child has."""
    start = time.perf_counter()
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    message = child.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(argv)}: exit status {child.returncode}\n{message}")
    return seconds, usage.ru_maxrss / 1000


def compare(name, ours, theirs, pairs):
    """Run both `pairs` times in turn, after one run each that does not count;
    ours and theirs make an argv from a number. Print the ratio, return the
    peak memory of both."""
    run(ours(0))
    run(theirs(0))
    ratios, peaks = [], [0, 0]
    for i in range(1, pairs + 1):
        times = [0, 0]
        for which, argv in enumerate((ours(i), theirs(i))):
            times[which], memory = run(argv)
            peaks[which] = max(peaks[which], memory)
        ratios.append(times[0] / times[1])
    print(f"{name}: time ratio {statistics.median(ratios):.3f} "
          f"({min(ratios):.3f} to {max(ratios):.3f} in {pairs} pairs)", flush=True)
    return peaks


def print_memory(name, peaks):
    print(f"{name}: peak memory {' to '.join(f'{peak:.0f} MB' for peak in peaks)}")


def compare_start(options):
    compare("llmprof --version to python3 -c pass",
            lambda i: [options.llmprof, "--version"],
            lambda i: ["python3", "-c", "pass"], options.starts)


def stats_argv(program, export, folder):
    def argv(number):
        base = os.path.join(folder, f"{os.path.basename(program)}{number}")
        words = [program, "stats", "-r", REPORTS, "-f", "csv", "-o", base, export]
        return words + ["--no-cache"] if program.endswith("llmprof") else words
    return argv


def compare_stats(options, folder):
    export = os.path.join(folder, "tiled.sqlite")
    subprocess.run([sys.executable, os.path.join(HERE, "tile.py"), options.export, export,
                    str(options.copies)], check=True, stdout=subprocess.DEVNULL)
    print(f"export: {options.copies} copies, {os.path.getsize(export) / 1e6:.0f} MB", flush=True)
    ours = stats_argv(options.llmprof, export, folder)
    if options.nsys:
        theirs = stats_argv(options.nsys, export, folder)
        name = "five reports, llmprof stats to nsys stats"
        print_memory(name, compare(name, ours, theirs, options.pairs))
    else:
        print("five reports, llmprof stats to nsys stats: skipped, no --nsys")
        print_memory("five reports, llmprof stats", [run(ours(0))[1]])


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--llmprof", default=os.path.join(ROOT, "build/release/bin/llmprof"),
                        help="a release build (build/release/bin/llmprof)")
    parser.add_argument("--nsys", help="the nsys to compare with; without it that is skipped")
    parser.add_argument("--export", default=EXPORT, help="what is tiled (the recorded capture)")
    parser.add_argument("--copies", type=int, default=100, help="how often (100: 650 MB)")
    parser.add_argument("--pairs", type=int, default=3, help="runs of stats each (3)")
    parser.add_argument("--starts", type=int, default=200, help="runs of --version each (200)")
    parser.add_argument("--folder", help="where the tiled export goes for the time being")
    options = parser.parse_args()
    if not os.access(options.llmprof, os.X_OK):
        parser.error(f"{options.llmprof}: not there; build the preset release")
    if options.nsys and not os.access(options.nsys, os.X_OK):
        parser.error(f"{options.nsys}: not there")
    if min(options.copies, options.pairs, options.starts) < 1:
        parser.error("--copies, --pairs and --starts: at least 1")
    return options


def main():
    options = parse()
    compare_start(options)
    with tempfile.TemporaryDirectory(prefix="llmprof-bench-", dir=options.folder) as folder:
        compare_stats(options, folder)


if __name__ == "__main__":
    main()
