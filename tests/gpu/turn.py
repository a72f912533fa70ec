#!/usr/bin/env python3
"""As `python3 SCRIPT ...`, but programs started so take turns on the GPUs: turn.py SCRIPT ARGS...

PyTorch is imported by all at once; the script runs once a GPU is free, which is then the only
one that it sees, with cores of its own.
"""

import fcntl
import os
import runpy
import subprocess
import sys
import tempfile
import time
from typing import Optional

CORES = 6  # of a script that runs; who waits uses the others


def main() -> None:
    gpus = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True,
                          check=True).stdout.count("GPU ")
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[gpus * CORES:] or cores)
    import torch  # noqa: F401  # pylint: disable=unused-import
    locks = [open(f"{tempfile.gettempdir()}/gpu{number}.turn", "w", encoding="utf-8")
             for number in range(gpus)]
    mine: Optional[int] = None
    while mine is None:
        for number, lock in enumerate(locks):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            mine = number
            break
        else:
            time.sleep(0.02)
    os.sched_setaffinity(0, cores[mine * CORES:(mine + 1) * CORES] or cores)
    os.environ["CUDA_VISIBLE_DEVICES"] = str(mine)
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.realpath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
