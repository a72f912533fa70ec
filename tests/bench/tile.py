#!/usr/bin/env python3
"""Tile an nsys SQLite export in time, for measuring at size.

    tests/bench/tile.py IN.sqlite OUT.sqlite COPIES

Copy k of every event is shifted by k times the trace's length. Correlation
ids, NVTX range ids and row ids stay unique, so every report of the tiled file
is that of the original with counts and totals times COPIES.
"""

import os
import shutil
import sqlite3
import sys

# Columns to shift by the tile's time, and ids to shift by their own span.
TIMES = {"start", "end", "timestamp"}
IDS = {"correlationId", "rangeId"}
EVENTS = [
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "NVTX_EVENTS",
]
NVTX_ONCE = (33, 39, 75, 76)  # category, thread and domain names: no events


def columns(db, table):
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def span(db, tables):
    lows, highs = [], []
    for table in tables:
        low, high = db.execute(f"SELECT min(start), max(end) FROM {table}").fetchone()
        if low is not None:
            lows.append(low)
            highs.append(max(high or low, low))
    return max(highs) - min(lows) + 1_000_000


def largest(db, tables, column):
    best = 0
    for table in tables:
        if column in columns(db, table):
            best = max(best, db.execute(f"SELECT max({column}) FROM {table}").fetchone()[0] or 0)
    return best + 1


def tile(db, table, copies, shift, steps):
    names = columns(db, table)
    picked = []
    for name in names:
        if name in TIMES:
            picked.append(f'"{name}" + k * {shift}')
        elif name in IDS:
            picked.append(f'"{name}" + k * {steps[name]}')
        else:
            picked.append(f'"{name}"')
    where = f"WHERE eventType NOT IN {NVTX_ONCE}" if table == "NVTX_EVENTS" else ""
    for k in range(1, copies):
        db.execute(
            f"INSERT INTO {table} SELECT {', '.join(picked)} FROM base.{table} "
            f"JOIN (SELECT {k} AS k) {where}")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    source, target, copies = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if os.path.exists(target):
        sys.exit(f"{target}: exists")
    shutil.copyfile(source, target)
    os.chmod(target, 0o644)
    db = sqlite3.connect(target, isolation_level=None)
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("ATTACH ? AS base", (source,))
    have = {row[0] for row in db.execute("SELECT name FROM main.sqlite_master")}
    tables = [table for table in EVENTS if table in have]
    shift = span(db, tables)
    steps = {name: largest(db, tables, name) for name in IDS}
    db.execute("BEGIN")
    for table in tables:
        tile(db, table, copies, shift, steps)
    db.execute("COMMIT")
    for table in tables:
        print(table, db.execute(f"SELECT count(*) FROM main.{table}").fetchone()[0])


if __name__ == "__main__":
    main()
