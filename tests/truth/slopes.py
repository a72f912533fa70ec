"""A slope that is put into a capture: each step of a decode takes longer than the one before."""
import bisect
import shutil
import sqlite3
from typing import Dict, List, Optional, Tuple

from engine import LABEL

# Put in, and by how much of it what is found may be off.
NS, OFF = 20000, 0.1

Ends = List[Tuple[int, int]]


def of_ranges(rows: List[tuple]) -> Ends:
    """(end, number in its decode) of the ranges decode_step of a process."""
    ends: Ends = []
    for start, stop, text in rows:
        if text == "decode":
            own = sorted(end for begin, end, inner in rows
                         if inner == "decode_step" and start <= begin and end <= stop)
            ends += [(end, number) for number, end in enumerate(own)]
    return ends


def of_labels(rows: List[tuple]) -> Ends:
    """The same of steps that an engine labels: one that prefills begins a decode anew."""
    ends: Ends = []
    number = 0
    for _, end, text in rows:
        label = LABEL.match(text or "")
        if label and label.group(1) == "0" != label.group(2):
            ends.append((end, number))
            number += 1
        elif label:
            number = 0
    return ends


def put_in(source: str, target: str) -> bool:
    """Step k of each decode lasts k * NS longer, behind its range, and all after it is later, in
    each process by itself. False without steps."""
    shutil.copyfile(source, target)
    database = sqlite3.connect(target)
    by_process: Dict[int, List[tuple]] = {}
    for start, end, text, process in database.execute(
            "SELECT n.start, n.end, coalesce(n.text, s.value), n.globalTid >> 24 "
            "FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = n.textId "
            "WHERE n.end IS NOT NULL ORDER BY n.start"):
        by_process.setdefault(process, []).append((start, end, text))
    times: Dict[int, List[int]] = {}
    later: Dict[int, List[int]] = {}
    for process, rows in by_process.items():
        ends = sorted(of_ranges(rows) or of_labels(rows))
        times[process], later[process] = [end for end, _ in ends], [0]
        for _, number in ends:
            later[process].append(later[process][-1] + number * NS)

    def shifted(time: int, process: int, is_range: int) -> int:
        if time is None or process not in times:
            return time
        find = bisect.bisect_right if is_range else bisect.bisect_left
        return time + later[process][find(times[process], time)]

    database.create_function("shifted", 3, shifted)
    for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'"
                                     ).fetchall():
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        own = next((name for name in ("globalPid", "globalTid") if name in columns), None)
        if own and {"start", "end"} <= set(columns):
            is_range = int(table == "NVTX_EVENTS")
            database.execute(f"UPDATE {table} SET start = shifted(start, {own} >> 24, 0), "
                             f"end = shifted(end, {own} >> 24, {is_range})")
    database.commit()
    database.close()
    return any(times.values())


def found(before: dict, after: dict) -> Optional[float]:
    """The share of it that is found, by results before and after: 1 as far as is asked. None
    without a slope."""
    was, became = (((results.get("latency") or {}).get("tpot") or {}).get("slope_ns_per_token")
                   for results in (before, after))
    if was is None or became is None:
        return None
    share = (became - was) / NS
    return 1.0 if abs(share - 1) <= OFF else share
