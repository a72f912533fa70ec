#!/usr/bin/env python3
"""Are all answers the same when the rows of every table of an export come in another order?

    tests/e2e/shuffled.py LLMPROF

Each capture is copied with the rows of its tables shuffled, as none of nsys promises an order.
Every report of `llmprof stats` and the results.json of a recorded run have the same bytes for
it, but for the time at which it was made. Rows that a table keeps in the order of a key stay as
they are: SQLite has no other order for them.
"""

import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEEDS = (1,)
REPORTS = ("cuda_api_sum,cuda_gpu_kern_gb_sum,cuda_gpu_kern_sum,cuda_gpu_mem_size_sum,"
           "cuda_gpu_mem_time_sum,cuda_kern_exec_sum,nvtx_gpu_proj_sum,nvtx_kern_sum,nvtx_sum")

# Captures, and the recipe that analyses each; None: reports alone.
CAPTURES = {
    "tests/fixtures/small": "recipes/toy_llm.lua",
    "recipes/recorded/alt_llm": "recipes/alt_llm.lua",
    "recipes/recorded/deepseek_ocr": "recipes/deepseek_ocr.lua",
    "recipes/recorded/vllm_serve": None,
    "tests/fixtures/graphs/node.sqlite": None,
}


def shuffle(path, seed):
    """Shuffle the rows of every table; how many are elsewhere now."""
    chance = random.Random(seed)
    db = sqlite3.connect(path, isolation_level=None)
    moved = 0
    for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        table = f'"{name}"'
        before = db.execute(f"SELECT * FROM {table}").fetchall()
        after = before[:]
        chance.shuffle(after)
        db.execute("BEGIN")
        db.execute(f"DELETE FROM {table}")
        if after:
            marks = ", ".join("?" * len(after[0]))
            db.executemany(f"INSERT INTO {table} VALUES ({marks})", after)
        db.execute("COMMIT")
        now = db.execute(f"SELECT * FROM {table}").fetchall()
        moved += sum(a != b for a, b in zip(before, now))
        if sorted(map(repr, before)) != sorted(map(repr, now)):
            sys.exit(f"{path}: {table} has other rows than before")
    db.close()
    return moved


def run(program, words, folder):
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, check=False,
                          env=dict(os.environ, XDG_CACHE_HOME=os.path.join(folder, "cache")))
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit status {done.returncode}\n{done.stderr.decode()}")
    return done.stdout


def answers(program, capture, recipe, folder):
    """What is said of a copy of a capture that lies in folder/capture."""
    trace = os.path.join(folder, "capture")
    said = {"stats": run(program, ["stats", "-f", "csv", "-r", REPORTS, trace_of(trace)], folder)}
    if recipe:
        run(program, [os.path.join(ROOT, recipe), "capture=recorded", "recorded=capture",
                      "out=made", "--quiet"], folder)
        with open(os.path.join(folder, "made/results.json"), "rb") as file:
            said["results.json"] = re.sub(rb'"created": "[^"]*"', b"", file.read())
    return said


def trace_of(path):
    return os.path.join(path, "run.sqlite") if os.path.isdir(path) else path


def copied(capture, folder):
    source, target = os.path.join(ROOT, capture), os.path.join(folder, "capture")
    if os.path.isdir(source):
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)
    os.chmod(trace_of(target), 0o644)
    return trace_of(target)


def differ(program, capture, recipe):
    """What differs between a capture and its shuffled copies."""
    wanted, wrong = None, []
    for seed in (None, *SEEDS):
        with tempfile.TemporaryDirectory(prefix="llmprof-shuffled-") as folder:
            path = copied(capture, folder)
            if seed is not None and shuffle(path, seed) == 0:
                sys.exit(f"{capture}: nothing was moved")
            said = answers(program, capture, recipe, folder)
            wanted = wanted or said
            wrong += [f"{capture}: {name} differs with seed {seed}"
                      for name in said if said[name] != wanted[name]]
    return wrong


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    wrong = []
    for capture, recipe in CAPTURES.items():
        found = differ(os.path.abspath(sys.argv[1]), capture, recipe)
        print(f"{'FAIL' if found else 'ok  '} {capture}", flush=True)
        wrong += found
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
