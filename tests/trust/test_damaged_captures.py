"""Captures that something happened to: each damage is noticed, and what was whole is good.

With LLMPROF_PRINT=1 it prints the table of damages.
"""

import os
import sys
import unittest
from pathlib import Path
from typing import List, Tuple

import support
from support import CAPTURE, FIXTURES

EAGER = CAPTURE / "run.sqlite"
GRAPH = FIXTURES / "unmarked/graph.sqlite"
TWO = FIXTURES / "two_gpus/run.sqlite"

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
WORK = (KERNEL, "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")


def shift(table: str, ns: int, where: str = "1") -> str:
    return f"UPDATE {table} SET start = start + {ns}, end = end + {ns} WHERE {where};"


def shift_work(ns: int, where: str = "1", tables: Tuple[str, ...] = WORK) -> str:
    return "".join(shift(table, ns, where) for table in tables)


# The time at which a share of the capture is over.
def at(share: float) -> str:
    return (f"(SELECT min(start) + (max(end) - min(start)) * {share} FROM {KERNEL})")


GRAPH_CALL = (f"correlationId IN (SELECT correlationId FROM {RUNTIME} WHERE nameId IN "
              "(SELECT id FROM StringIds WHERE value LIKE '%GraphLaunch%') LIMIT 3)")

# Kernels lost with the calls that launched them: of so many rows the one with this number.
def lose_with_calls(where: str) -> str:
    return (f"CREATE TABLE lost AS SELECT correlationId AS id FROM {KERNEL} WHERE {where};"
            "CREATE INDEX lost_id ON lost (id);"
            f"DELETE FROM {RUNTIME} WHERE correlationId IN (SELECT id FROM lost);"
            f"DELETE FROM {KERNEL} WHERE correlationId IN (SELECT id FROM lost);DROP TABLE lost")


# The last kernel of those that are launched more than three times in their shape.
SHAPE = "demangledName, gridX, gridY, gridZ, blockX, blockY, blockZ"
LAST = (f"rowid = (SELECT rowid FROM {KERNEL} WHERE ({SHAPE}) IN (SELECT {SHAPE} FROM {KERNEL} "
        f"GROUP BY {SHAPE} HAVING count(*) > 3) ORDER BY start DESC LIMIT 1)")

# (what, capture, SQL, check that notices; "refused": it is no capture any more)
DAMAGES: List[Tuple[str, Path, str, str]] = [
    ("kernels doubled, 1 %", EAGER,
     f"INSERT INTO {KERNEL} SELECT * FROM {KERNEL} WHERE rowid % 100 = 0", "rows"),
    ("kernels doubled, 1 %", GRAPH,
     f"INSERT INTO {KERNEL} SELECT * FROM {KERNEL} WHERE rowid % 100 = 0", "rows"),
    ("one range doubled", EAGER, "INSERT INTO NVTX_EVENTS SELECT * FROM NVTX_EVENTS "
     "WHERE end IS NOT NULL AND eventType = 59 LIMIT 1", "rows"),
    ("API calls doubled", EAGER,
     f"INSERT INTO {RUNTIME} SELECT * FROM {RUNTIME} WHERE rowid % 100 = 0", "rows"),
    ("GPU clock 2 ms early", EAGER, shift_work(-2000000), "order"),
    ("GPU clock 2 ms early", GRAPH, shift_work(-2000000, tables=WORK[:2]), "order"),
    ("GPU clock 50 us early", EAGER, shift_work(-50000), "order"),
    ("negative durations", EAGER,
     f"UPDATE {KERNEL} SET start = end, end = start WHERE rowid % 1000 = 0", "times"),
    ("a kernel of 500 ms", EAGER,
     f"UPDATE {KERNEL} SET end = start + 500000000 WHERE rowid = 9000", "streams"),
    ("a kernel of 500 ms", GRAPH,
     f"UPDATE {KERNEL} SET end = start + 500000000 WHERE rowid = 900", "streams"),
    ("the last kernel made 500 ms long", EAGER,
     f"UPDATE {KERNEL} SET end = start + 500000000 WHERE {LAST}", "streams"),
    ("the last kernel made 500 ms long", GRAPH,
     f"UPDATE {KERNEL} SET end = start + 500000000 WHERE {LAST}", "streams"),
    ("one kernel lost with its call", EAGER,
     lose_with_calls("rowid = 9000"), "steps"),
    ("1 % of kernels lost with their calls", EAGER,
     lose_with_calls("rowid % 100 = 7"), "steps"),
    ("5 % of kernels lost with their calls", EAGER,
     lose_with_calls("(rowid * 7919) % 20 = 7"), "steps"),
    ("20 % of kernels lost with their calls", EAGER,
     lose_with_calls("(rowid * 7919) % 5 = 2"), "steps"),
    ("5 % of kernels of graphs lost", GRAPH,
     f"DELETE FROM {KERNEL} WHERE graphNodeId > 0 AND rowid % 20 = 7", "replays"),
    ("5 % of kernels of graphs lost", TWO,
     f"DELETE FROM {KERNEL} WHERE graphNodeId > 0 AND rowid % 20 = 7", "replays"),
    ("one kernel of a graph lost", TWO, f"DELETE FROM {KERNEL} WHERE rowid = (SELECT max(rowid) "
     f"FROM {KERNEL} WHERE graphNodeId > 0)", "replays"),
    ("three replays without kernels", GRAPH, f"DELETE FROM {KERNEL} WHERE {GRAPH_CALL}",
     "replays"),
    ("three replays without kernels", TWO, f"DELETE FROM {KERNEL} WHERE {GRAPH_CALL}",
     "replays"),
    ("1 % of kernels lost", EAGER, f"DELETE FROM {KERNEL} WHERE rowid % 100 = 0", "launches"),
    ("the last 10 % cut from the GPU", EAGER,
     "".join(f"DELETE FROM {table} WHERE start > {at(0.9)};" for table in reversed(WORK)),
     "launches"),
    ("the last 10 % cut from GPU and API alike", EAGER,
     f"CREATE TABLE cut AS SELECT {at(0.9)} AS time;" + "".join(
         f"DELETE FROM {table} WHERE start > (SELECT time FROM cut);" for table in WORK)
     + f"DELETE FROM {RUNTIME} WHERE start > (SELECT time FROM cut) OR correlationId NOT IN "
     f"(SELECT correlationId FROM {KERNEL} UNION SELECT correlationId FROM {WORK[1]} "
     f"UNION SELECT correlationId FROM {WORK[2]}) AND nameId IN (SELECT id FROM StringIds "
     "WHERE value LIKE '%Launch%');DROP TABLE cut", "work"),
    ("calls lost", EAGER, f"DELETE FROM {RUNTIME} WHERE rowid % 100 = 0", "orphans"),
]

# A rank that is late or early, its calls included.
RANK = f"(SELECT globalPid FROM {KERNEL} WHERE deviceId = 1 LIMIT 1)"
for offset in (50000, -50000, 1000000, -1000000, 5000000, -2000000):
    DAMAGES.append((f"a rank shifted by {offset / 1e6} ms", TWO,
                    f"CREATE TABLE rank AS SELECT {RANK} AS pid;"
                    + shift_work(offset, "globalPid = (SELECT pid FROM rank)")
                    + shift(RUNTIME, offset,
                            "globalTid >> 24 = (SELECT pid >> 24 FROM rank)")
                    + "DROP TABLE rank", "together"))

CLEAN = [EAGER, GRAPH, TWO, FIXTURES / "unmarked/eager.sqlite", FIXTURES / "graphs/node.sqlite",
         FIXTURES / "repeats/run.1.sqlite", FIXTURES / "tiny_h200/run.sqlite",
         FIXTURES / "small/run.sqlite", FIXTURES / "ahead/run.sqlite"]


class Captures(support.Case):
    def judge(self, paths: List[Path]) -> List[List[str]]:
        """[verdict, checks that are not ok] of each."""
        return self.lines_of("judge", paths)

    def test_damages_are_noticed(self) -> None:
        paths = [self.trace(fixture, sql, f"{number}.sqlite")
                 for number, (_, fixture, sql, _) in enumerate(DAMAGES)]
        for (what, fixture, _, check), (verdict, said) in zip(DAMAGES, self.judge(paths)):
            if "LLMPROF_PRINT" in os.environ:
                print(f"| {what} | {fixture.parent.name} | {verdict} | {said} |", file=sys.stderr)
            with self.subTest(what=what, capture=fixture.parent.name):
                self.assertNotEqual("good", verdict)
                self.assertTrue(verdict == check or f"{check}: " in said, said)

    def test_whole_captures_are_good(self) -> None:
        for path, (verdict, said) in zip(CLEAN, self.judge(CLEAN)):
            with self.subTest(capture=str(path)):
                self.assertEqual(["good", ""], [verdict, said])

    @unittest.skipUnless(os.environ.get("LLMPROF_CAPTURES"), "no LLMPROF_CAPTURES")
    def test_captures_of_the_machine_are_good(self) -> None:
        paths = sorted(Path(os.environ["LLMPROF_CAPTURES"]).glob("*/*.sqlite"))
        for path, (verdict, said) in zip(paths, self.judge(paths)):
            with self.subTest(capture=str(path)):
                self.assertEqual(["good", ""], [verdict, said])


if __name__ == "__main__":
    support.main()
