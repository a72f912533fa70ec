#!/usr/bin/env python3
"""What llmprof takes beside others on the same questions.

    tests/bench/rivals.py FOLDER [--llmprof PATH] [--runs N] [--only WORD]

Processor time (user and system), wall time and peak memory of each, as a table: the least
of N runs, since a busy machine only adds. FOLDER holds what is asked, as far as it does:
tile.sqlite (tests/bench/tile.py), ncu.csv (a raw page of Nsight Compute with many launches),
kineto.json (torch.profiler's trace). The rivals are Python packages: run it with a Python
that has DuckDB, Polars, pandas, PyArrow and pysimdjson; one that is missing is left out.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
REPORTS = "cuda_gpu_kern_sum,cuda_api_sum,nvtx_gpu_proj_sum,nvtx_kern_sum,cuda_kern_exec_sum"
QUERY = "return kernels:group('name'):sum('duration')"
COUNTERS = "return counters:top(5, 'duration')"

BY_NAME = ('SELECT s.value, sum("end" - "start") t, count(*), avg("end" - "start"), '
           'min("end" - "start"), max("end" - "start") FROM CUPTI_ACTIVITY_KIND_KERNEL k '
           "JOIN StringIds s ON s.id = k.demangledName GROUP BY demangledName ORDER BY t DESC")

PARQUET = """
import sqlite3, pyarrow as pa, pyarrow.parquet as pq, sys
db = sqlite3.connect(sys.argv[1])
names = dict(db.execute("SELECT id, value FROM StringIds"))
rows = db.execute('SELECT demangledName, "end" - "start" FROM CUPTI_ACTIVITY_KIND_KERNEL')
name, duration = zip(*rows)
pq.write_table(pa.table({"name": pa.array([names[n] for n in name]).dictionary_encode(),
                         "duration": duration}), sys.argv[2])
"""

PANDAS_REPORTS = """
import sqlite3, pandas as pd, sys
db = sqlite3.connect(sys.argv[1])
names = pd.read_sql_query("SELECT id, value FROM StringIds", db)
for table, key in (("KERNEL", "demangledName"), ("RUNTIME", "nameId")):
    rows = pd.read_sql_query('SELECT "end" - "start" AS d, %s AS id FROM '
                             'CUPTI_ACTIVITY_KIND_%s' % (key, table), db)
    print(rows.groupby("id").d.agg(["sum", "count", "mean", "median", "min", "max", "std"])
          .reset_index().merge(names, on="id").sort_values("sum").tail(1))
"""

# The columns of a raw page that a summary needs.
FEW = ["ID", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC",
       "gpu__time_duration.sum", "sm__throughput.avg.pct_of_peak_sustained_elapsed",
       "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
       "dram__bytes.sum.per_second", "sm__warps_active.avg.pct_of_peak_sustained_active",
       "launch__registers_per_thread"]
SOME = f"import csv, sys; F = {FEW!r}; head = next(csv.reader(open(sys.argv[1]))); " \
       "few = [name for name in F if name in head]\n"

# Work: file, words of llmprof, and by rival what it runs.
WORKS = {
    "five reports": ("tile.sqlite", ["stats", "--no-cache", "-f", "csv", "-r", REPORTS], {
        "sqlite3, kernels by name only": ["sqlite3", "-readonly", "{file}", BY_NAME],
        "pandas, two of the five": ["{python}", "-c", PANDAS_REPORTS, "{file}"],
    }),
    "kernels by name": ("tile.sqlite", ["-e", QUERY, "--no-cache"], {
        "DuckDB on Parquet": ["{python}", "-c", "import duckdb, sys; print(duckdb.sql("
                              "f\"SELECT name, count(*), sum(duration) FROM '{sys.argv[1]}' "
                              "GROUP BY name\").fetchall()[0])", "{parquet}"],
    }),
    "five reports, opened before": ("tile.sqlite", ["stats", "-f", "csv", "-r", REPORTS], {}),
    "kernels by name, opened before": ("tile.sqlite", ["-e", QUERY], {}),
    "bundle": ("tile.sqlite", ["recipes/deepseek_ocr.lua", "capture=recorded",
                               "recorded={recorded}", "out={out}/run", "--quiet"], {}),
    "export, gzip": ("tile.sqlite", ["export", "-o", "{out}/timeline.json.gz"], {}),
    "compare": ("tile.sqlite", ["compare", "{file}"], {}),
    "counters": ("ncu.csv", ["-e", COUNTERS], {
        "Polars, needed columns": ["{python}", "-c", SOME + "import polars as pl\n"
                                   "print(pl.read_csv(sys.argv[1], skip_rows_after_header=1, "
                                   "columns=few, infer_schema=False).height)", "{file}"],
        "PyArrow, needed columns": ["{python}", "-c", SOME + "import pyarrow.csv as pc\n"
                                    "print(pc.read_csv(sys.argv[1], convert_options="
                                    "pc.ConvertOptions(include_columns=few)).num_rows)",
                                    "{file}"],
        "DuckDB, needed columns": ["{python}", "-c", SOME + "import duckdb\n"
                                   "print(duckdb.sql('SELECT ' + ', '.join('\"%s\"' % n for n in "
                                   "few) + \" FROM read_csv('\" + sys.argv[1] + \"', "
                                   "all_varchar=true, max_line_size=10000000)\")"
                                   ".fetchnumpy()['ID'].size)", "{file}"],
        "pandas, needed columns": ["{python}", "-c", SOME + "import pandas as pd\n"
                                   "print(len(pd.read_csv(sys.argv[1], skiprows=[1], "
                                   "thousands=',', usecols=few)))", "{file}"],
        "pandas, all columns": ["{python}", "-c", "import pandas as pd, sys\n"
                                "print(len(pd.read_csv(sys.argv[1], skiprows=[1], "
                                "thousands=',', low_memory=False)))", "{file}"],
    }),
    "operators": ("kineto.json", ["operators"], {
        "pysimdjson": ["{python}", "-c", "import simdjson, sys, collections\n"
                       "calls = collections.Counter()\n"
                       "for e in simdjson.Parser().load(sys.argv[1])['traceEvents']:\n"
                       "    if e.get('cat') == 'cpu_op': calls[e['name']] += e['dur']\n"
                       "print(len(calls))", "{file}"],
    }),
    "start: --version": (None, ["--version"], {"python3": ["{python}", "-c", "pass"]}),
    "start: -e": (None, ["-e", "return 1"], {}),
    "start: --help": (None, ["--help"], {}),
    "recorded main job": (None, ["recipes/deepseek_ocr.lua", "capture=recorded",
                                 "recorded=tests/fixtures/deepseek_ocr",
                                 "out={out}/run", "--quiet"], {}),
}


def measure(argv):
    """Processor and wall seconds and MB of a command; None when it fails."""
    start = time.perf_counter()
    child = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if child.returncode != 0:
        return None
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1000


def least(argv, runs, words):
    """The same, the least of some runs, each with an empty folder {out}."""
    found = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory(prefix="llmprof-rivals-", dir=words["folder"]) as out:
            found.append(measure([word.replace("{out}", out) for word in argv]))
    return None if None in found else [min(column) for column in zip(*found)]


def filled(argv, words):
    for key, value in words.items():
        argv = [word.replace("{" + key + "}", value) for word in argv]
    return argv


def prepare(folder):
    """What some works need besides: a recorded capture and Parquet of the kernels."""
    words = {"folder": folder, "python": sys.executable, "file": "",
             "recorded": os.path.join(folder, "recorded"),
             "parquet": os.path.join(folder, "kernels.parquet")}
    tile = os.path.join(folder, "tile.sqlite")
    if os.path.exists(tile) and not os.path.exists(words["recorded"]):
        shutil.copytree(os.path.join(ROOT, "tests/fixtures/deepseek_ocr"), words["recorded"],
                        ignore=shutil.ignore_patterns("run.sqlite"))
        os.link(tile, os.path.join(words["recorded"], "run.sqlite"))
    if os.path.exists(tile) and not os.path.exists(words["parquet"]):
        subprocess.run([sys.executable, "-c", PARQUET, tile, words["parquet"]], check=False)
    return words


def open_before(work, argv):
    """Fill the cache: with notes the first time, with columns the second."""
    for _ in range(2 if work.endswith(", opened before") else 0):
        measure(argv)


def show(work, who, got):
    if got:
        print(f"| {work} | {who} | {got[0]:.3f} | {got[1]:.3f} | {got[2]:.0f} |", flush=True)
    else:
        print(f"| {work} | {who} | left out: it failed | | |", flush=True)


def run(work, options, words):
    name, argv, rivals = WORKS[work]
    words["file"] = os.path.join(options.folder, name) if name else ""
    if name and not os.path.exists(words["file"]):
        print(f"| {work} | left out: no {name} | | | |")
        return
    tail = [words["file"]] if name and work != "bundle" else []
    ours = filled([options.llmprof, *argv], words) + tail
    open_before(work, ours)
    show(work, "llmprof", least(ours, options.runs, words))
    for who, words_of in rivals.items():
        show(work, who, least(filled(words_of, words), options.runs, words))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", help="where the files are, and room for what is written")
    parser.add_argument("--llmprof", default=os.path.join(ROOT, "build/release/bin/llmprof"))
    parser.add_argument("--runs", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--only", default="", help="works with this word in their name")
    options = parser.parse_args()
    options.folder = os.path.abspath(options.folder)
    os.environ["XDG_CACHE_HOME"] = os.path.join(options.folder, "cache")
    words = prepare(options.folder)
    print("| work | program | processor s | wall s | MB |\n| --- | --- | --- | --- | --- |")
    for work in WORKS:
        if options.only in work:
            run(work, options, words)


if __name__ == "__main__":
    main()
