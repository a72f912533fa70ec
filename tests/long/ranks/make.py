#!/usr/bin/env python3
"""Make exports of many ranks of one job, some of them late, of a capture of four.

    tests/long/ranks/make.py TARGET RANKS [--late A,B,C] [--source FOLDER]

Every rank is rank 1 of the source, which is never the last to come to a collective, with
its collectives begun up to 2 us earlier, each rank by its own amounts. The late ones are
rank 2 (20 more matrix products before the first all-reduce of layer 3, from step 8 of
decode on), rank 3 and rank 0 of the source, which come late less often, in this order.
"""

import argparse
import os
import shutil
import sqlite3

LATE = (2, 3, 0)  # ranks of the source
USUAL = 1
MOST_EARLIER = 2000  # ns

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../fixtures/ranks4")
KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"


def places(ranks):
    """Where the late ones stand when nobody says so."""
    return [ranks * share // 16 for share in (5, 9, 13)]


def vary(path, rank):
    """Begin the collectives of a rank a little earlier, every one by another amount."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("pragma journal_mode = off")
    db.execute("pragma synchronous = off")
    nccl = "shortName in (select id from StringIds where value like 'nccl%')"
    db.execute(f"update {KERNELS} set start = start"
               f" - ((correlationId * 7919 + {rank} * 104729) % {MOST_EARLIER}) where {nccl}")
    db.close()


def make(source, target, ranks, late):
    """Write rank0.sqlite to rank<ranks - 1>.sqlite."""
    os.makedirs(target, exist_ok=True)
    base = dict(zip(late, LATE))
    for rank in range(ranks):
        path = os.path.join(target, f"rank{rank}.sqlite")
        shutil.copyfile(os.path.join(source, f"rank{base.get(rank, USUAL)}.sqlite"), path)
        if rank not in base:
            vary(path, rank)


def main():
    """Read the command line and make the files."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("ranks", type=int)
    parser.add_argument("--late", help="numbers of at most three ranks")
    parser.add_argument("--source", default=FIXTURE)
    given = parser.parse_args()
    late = [int(word) for word in given.late.split(",")] if given.late else places(given.ranks)
    make(given.source, given.target, given.ranks, late)


if __name__ == "__main__":
    main()
