#!/usr/bin/env python3
"""What questions of every day take at the prompt, and DuckDB on Parquet.

    tests/bench/questions.py FOLDER [--llmprof PATH] [--runs N] [--only WORD]

FOLDER holds tile.sqlite (tests/bench/tile.py). Processor seconds (user and system), the least
of N runs, of each question four times over: as a program of its own, which for llmprof is
`llmprof -e` of a trace that was opened twice before, for DuckDB a Python that imports it and
asks; and within one program that answers all of them one after the other, the seconds of the
question alone. Parquet holds what llmprof says in the same columns, stage and category of each
kernel among them: FOLDER/questions/*.parquet, written once. Run it with a Python that has
DuckDB.
"""

import argparse
import os
import subprocess
import sys
import tempfile

from rivals import ROOT, least

# What the questions ask for, and the answers in DuckDB's words; {a} is a folder.
COLUMNS = {
    "kernels": ("kernels", "name label category stage tag stream start end duration gap_before "
                           "queue_time correlation"),
    "calls": ("api", "name start end duration correlation"),
    "transfers": ("transfers", "name bytes duration"),
}
K, CALLS, TRANSFERS = ("'{a}/%s.parquet'" % name for name in COLUMNS)
QUESTIONS = {
    "kernels by name": (
        'kernels:group("name"):sum("dur")',
        f"SELECT name, count(*), sum(duration) FROM {K} GROUP BY name"),
    "kernels by category": (
        'kernels:group("category"):agg("count", "sum dur"):sort("-duration_sum")',
        f"SELECT category, count(*), sum(duration) s FROM {K} GROUP BY 1 ORDER BY s DESC"),
    "medians by stage": (
        'kernels:group("stage"):agg("count", "median dur", "median queue")',
        "SELECT stage, count(*), median(duration), median(queue_time) "
        f"FROM {K} GROUP BY stage"),
    "ten longest": (
        'kernels:top(10, "dur"):select("label", "dur", "stage")',
        f"SELECT label, duration, stage FROM {K} ORDER BY duration DESC LIMIT 10"),
    "kernels of a stage": (
        'kernels:where { stage = "decode" }:group("label"):sum("dur"):sort("-dur"):top(10)',
        f"SELECT label, count(*), sum(duration) s FROM {K} WHERE stage = 'decode' "
        "GROUP BY label ORDER BY s DESC LIMIT 10"),
    "percentiles of a kind": (
        'kernels:where { category = "gemm" }:group("category"):'
        'agg("count", "p50 dur", "p90 dur", "p99 dur")',
        "SELECT count(*), quantile_cont(duration, [0.5, 0.9, 0.99]) "
        f"FROM {K} WHERE category = 'gemm'"),
    "percentiles of each kernel": (
        'kernels:group("label"):agg("count", "median dur", "p99 dur", "max dur")',
        "SELECT label, count(*), quantile_cont(duration, [0.5, 0.99]), max(duration) "
        f"FROM {K} GROUP BY label"),
    "ranges and what they launched": (
        'kernels:group("tag", "category"):agg("count", "sum dur")',
        f"SELECT tag, category, count(*), sum(duration) FROM {K} GROUP BY ALL"),
    "gaps on a stream": (
        'kernels:group("label"):agg("count", "sum gap")',
        f"SELECT label, count(*), sum(gap_before) FROM {K} GROUP BY label"),
    "times without a kernel": (
        'kernels:gaps(1e4):stats("dur")',
        "SELECT count(*), sum(g), median(g), max(g) FROM (SELECT start - max(\"end\") OVER (ORDER "
        "BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) g "
        f"FROM {K}) WHERE g >= 10000"),
    "copies by kind": (
        'transfers:group("name"):agg("count", "sum bytes", "sum dur")',
        f"SELECT name, count(*), sum(bytes), sum(duration) FROM {TRANSFERS} GROUP BY name"),
    "calls by name": (
        'api:group("name"):agg("count", "sum dur", "median dur")',
        f"SELECT name, count(*), sum(duration), median(duration) FROM {CALLS} GROUP BY name"),
    "from call to kernel": (
        'kernels:group("label"):agg("count", "median queue", "p99 queue")',
        "SELECT label, count(*), quantile_cont(k.start - c.\"end\", [0.5, 0.99]) FROM "
        f"{K} k JOIN {CALLS} c USING (correlation) GROUP BY label"),
}

ASK = "import duckdb, sys; print(len(duckdb.sql(sys.argv[1]).fetchall()))"

ASK_ALL = """
import duckdb, sys, time
duckdb.sql("SET enable_progress_bar = false")
for line in open(sys.argv[1]):
    name, question = line.rstrip("\\n").split("\\t")
    before = time.process_time()
    duckdb.sql(question).fetchall()
    print(name, time.process_time() - before, sep="\\t")
"""

ANSWER = """
do
  local before = os.clock()
  local shown = tostring(%s)
  print("%s\\t" .. os.clock() - before)
end
"""


def save(llmprof, tile, table, folder):
    """Columns of a table as Parquet, through CSV."""
    name, columns = COLUMNS[table]
    words = ", ".join(f'"{column}"' for column in columns.split())
    text = os.path.join(folder, table + ".csv")
    subprocess.run([llmprof, "-e", f'{name}:select({words}):save("{text}")', tile], check=True)
    subprocess.run([sys.executable, "-c", "import duckdb, sys; duckdb.sql(sys.argv[1])",
                    f"COPY (FROM read_csv('{text}', sample_size=-1)) TO "
                    f"'{folder}/{table}.parquet'"], check=True)
    os.remove(text)


def prepare(options):
    folder = os.path.join(options.folder, "questions")
    os.makedirs(folder, exist_ok=True)
    for table in COLUMNS:
        if not os.path.exists(os.path.join(folder, table + ".parquet")):
            save(options.llmprof, options.tile, table, folder)
    return folder


def ask_all(argv, runs):
    """Seconds of each question within one program: the least of some runs."""
    best = {}
    for _ in range(runs):
        done = subprocess.run(argv, check=True, capture_output=True, text=True)
        for line in done.stdout.splitlines():
            name, seconds = line.split("\t")
            best[name] = min(float(seconds), best.get(name, float("inf")))
    return best


def together(options, asked, answers):
    """All questions in one program: ours and DuckDB's."""
    with tempfile.TemporaryDirectory(prefix="llmprof-questions-") as folder:
        ours, theirs = os.path.join(folder, "all.lua"), os.path.join(folder, "all")
        with open(ours, "w", encoding="utf-8") as file:
            file.writelines(ANSWER % (QUESTIONS[name][0], name) for name in asked)
        with open(theirs, "w", encoding="utf-8") as file:
            file.writelines(f"{name}\t{QUESTIONS[name][1].replace('{a}', answers)}\n"
                            for name in asked)
        return (ask_all([options.llmprof, "exec", ours, options.tile], options.runs),
                ask_all([sys.executable, "-c", ASK_ALL, theirs], options.runs))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", help="where tile.sqlite is, and room for what is written")
    parser.add_argument("--llmprof", default=os.path.join(ROOT, "build/release/bin/llmprof"))
    parser.add_argument("--runs", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--only", default="", help="questions with this word in their name")
    options = parser.parse_args()
    options.folder = os.path.abspath(options.folder)
    options.tile = os.path.join(options.folder, "tile.sqlite")
    os.environ["XDG_CACHE_HOME"] = os.path.join(options.folder, "cache")
    answers = prepare(options)
    asked = [name for name in QUESTIONS if options.only in name]
    words = {"folder": options.folder}
    print("| question | llmprof s | MB | DuckDB s | MB | times | in one program: llmprof s "
          "| DuckDB s | times |\n|" + " --- |" * 9)
    alone = {}
    for name in asked:
        code, question = QUESTIONS[name]
        ours = [options.llmprof, "-e", code, options.tile]
        least(ours, 2, words)  # notes, then columns
        alone[name] = (least(ours, options.runs, words),
                       least([sys.executable, "-c", ASK, question.replace("{a}", answers)],
                             options.runs, words))
    ours, theirs = together(options, asked, answers)
    for name in asked:
        mine, duck = alone[name]
        print(f"| {name} | {mine[0]:.3f} | {mine[2]:.0f} | {duck[0]:.3f} | {duck[2]:.0f} | "
              f"{duck[0] / mine[0]:.1f} | {ours[name]:.4f} | {theirs[name]:.4f} | "
              f"{theirs[name] / max(ours[name], 1e-6):.1f} |")


if __name__ == "__main__":
    main()
