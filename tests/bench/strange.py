#!/usr/bin/env python3
"""An nsys SQLite export of a strange shape, for measuring what grows how.

    tests/bench/strange.py names|few|nested|stages BASE.sqlite OUT.sqlite ROWS

names:  ROWS kernels, each with a name of its own.
few:    the same, but of FEW names in turn: what an ordinary trace of as many rows is.
nested: ROWS ranges, 5,000 deep in towers, each with ten kernels at its bottom.
stages: ROWS ranges that are stages, prefill and decode in turn, three kernels in each.

The tables, devices and ids of process and thread are those of BASE, an export of one process;
its events are left out.
"""

import os
import shutil
import sqlite3
import sys

from tile import EVENTS

DEEP = 5000
FEW = 50
US = 1000
PUSH_POP = 59


class Export:
    """Rows for an empty export, numbered as they come."""

    def __init__(self, base, target):
        shutil.copyfile(base, target)
        os.chmod(target, 0o644)
        self.db = sqlite3.connect(target, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = OFF")
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute("BEGIN")
        self.pid, self.name = self.first("globalPid, demangledName", "CUPTI_ACTIVITY_KIND_KERNEL")
        self.tid, self.call = self.first("globalTid, nameId", "CUPTI_ACTIVITY_KIND_RUNTIME")
        self.kernel = self.template("CUPTI_ACTIVITY_KIND_KERNEL")
        for table in EVENTS:
            if self.db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
                self.db.execute(f"DELETE FROM {table}")
        self.strings = self.db.execute("SELECT max(id) FROM StringIds").fetchone()[0]
        self.kernels, self.calls, self.ranges = [], [], []

    def first(self, columns, table):
        return self.db.execute(f"SELECT {columns} FROM {table} LIMIT 1").fetchone()

    def template(self, table):
        row = self.db.execute(f"SELECT * FROM {table} LIMIT 1")
        return dict(zip([column[0] for column in row.description], row.fetchone()))

    def add_name(self, text):
        self.strings += 1
        self.db.execute("INSERT INTO StringIds VALUES (?, ?)", (self.strings, text))
        return self.strings

    def add_range(self, start, end, text):
        self.ranges.append((start, end, PUSH_POP, text, self.tid))

    def add_kernel(self, at, name=None):
        """Launched at this time, it runs half a microsecond later for 2."""
        number = len(self.kernels) + 1
        name = name or self.name
        self.calls.append((at, at + 300, self.tid, number, self.call))
        row = dict(self.kernel, start=at + 500, end=at + 2500, correlationId=number, gridId=number,
                   demangledName=name, shortName=name)
        self.kernels.append(tuple(row.values()))

    def finish(self):
        marks = ", ".join("?" * len(self.kernel))
        self.db.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({marks})",
                            self.kernels)
        self.db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, "
                            "correlationId, nameId, eventClass, returnValue) "
                            "VALUES (?, ?, ?, ?, ?, 0, 0)",
                            self.calls)
        self.db.executemany("INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) "
                            "VALUES (?, ?, ?, ?, ?)", self.ranges)
        self.db.execute("COMMIT")
        self.db.execute("VACUUM")


def names(export, rows, distinct=None):
    ids = [export.add_name(f"kernel_{i}<float>(int)") for i in range(distinct or rows)]
    for i in range(rows):
        export.add_kernel(3 * US * i, ids[i % len(ids)])
    for i in range(100):
        step = 3 * US * rows // 100
        export.add_range(i * step, (i + 1) * step - 1, ("prefill", "decode")[i % 2])


def few(export, rows):
    names(export, rows, FEW)


def nested(export, rows):
    for tower in range(max(rows // DEEP, 1)):
        at = 100 * US * tower
        for level in range(DEEP):
            export.add_range(at + level, at + 99 * US - level, f"level_{level % 50}")
        for i in range(10):
            export.add_kernel(at + DEEP + 3 * US * i)


def stages(export, rows):
    for i in range(rows):
        at = 20 * US * i
        export.add_range(at, at + 18 * US, ("prefill", "decode")[i % 2])
        for j in range(3):
            export.add_kernel(at + US + 4 * US * j)


def main():
    shapes = {"names": names, "few": few, "nested": nested, "stages": stages}
    if len(sys.argv) != 5 or sys.argv[1] not in shapes:
        sys.exit(__doc__)
    shape, base, target, rows = sys.argv[1:]
    if os.path.exists(target):
        sys.exit(f"{target}: exists")
    export = Export(base, target)
    shapes[shape](export, int(rows))
    export.finish()
    print(f"{len(export.kernels)} kernels, {len(export.ranges)} ranges")


if __name__ == "__main__":
    main()
