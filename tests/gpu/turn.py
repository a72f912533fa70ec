#!/usr/bin/env python3
"""As `python3 SCRIPT ...`, but programs started so take turns on the GPUs, each with cores of its
own: turn.py SCRIPT ARGS...

`turn.py serve` imports PyTorch once; each script then is a process forked from it. `turn.py others`
prints the cores that no script has.
"""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import Dict, List, Tuple

CORES = 6  # of a script; who waits, and who reports, uses the others
PLACE = pathlib.Path(tempfile.gettempdir()) / "turn.socket"


def count_gpus() -> int:
    return subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True,
                          check=True).stdout.count("GPU ")


def in_order() -> List[int]:
    """The cores, threads of one physical core after each other."""
    def first(core: int) -> int:
        path = pathlib.Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
        try:
            return int(path.read_text(encoding="ascii").replace("-", ",").split(",")[0])
        except (OSError, ValueError):
            return core
    return sorted(range(os.cpu_count() or 1), key=lambda core: (first(core), core))


def begin(request: Dict[str, object], pipes: List[int]) -> None:
    """In a child: become the script."""
    for number, pipe in enumerate(pipes):
        os.dup2(pipe, number)
    os.environ.clear()
    os.environ.update(request["env"])  # type: ignore[call-overload]
    os.chdir(str(request["folder"]))
    os.sched_setaffinity(0, request["cores"])  # type: ignore[arg-type]
    run(list(request["words"]))  # type: ignore[call-overload]


def run(words: List[str]) -> None:
    sys.argv = words
    sys.path[0] = os.path.dirname(os.path.realpath(words[0]))
    runpy.run_path(words[0], run_name="__main__")


def take(listening: socket.socket, children: Dict[int, socket.socket]) -> bool:
    """Fork a script; true in the child, once the script is done."""
    client, _ = listening.accept()
    message, pipes, _, _ = socket.recv_fds(client, 1 << 20, 3)
    while not message.endswith(b"\n"):
        message += client.recv(1 << 20)
    child = os.fork()
    if child == 0:
        listening.close()
        begin(json.loads(message), pipes)
        return True
    for pipe in pipes:
        os.close(pipe)
    children[child] = client
    return False


def reap(children: Dict[int, socket.socket]) -> None:
    """Tell clients how their scripts ended; end scripts whose client is gone."""
    for child, client in list(children.items()):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            client.sendall(b"%d\n" % (os.waitstatus_to_exitcode(status) % 256))
            children.pop(child).close()
        elif select.select([client], [], [], 0)[0]:
            os.kill(child, signal.SIGKILL)


def serve() -> None:
    import torch._dynamo  # noqa: F401  # pylint: disable=import-outside-toplevel,unused-import
    PLACE.unlink(missing_ok=True)
    children: Dict[int, socket.socket] = {}
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(PLACE))
        listening.listen(64)
        print("ready", flush=True)
        while True:
            if select.select([listening], [], [], 0.02)[0] and take(listening, children):
                return
            reap(children)


def turn() -> Tuple[int, object]:
    """Wait for a GPU, that of $TURN or any: its number, and what keeps it."""
    mine = os.environ.get("TURN")
    locks = {number: open(f"{tempfile.gettempdir()}/gpu{number}.turn", "w", encoding="utf-8")
             for number in ([int(mine)] if mine else range(count_gpus()))}
    while True:
        for number, lock in locks.items():
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return number, lock
            except BlockingIOError:
                continue
        time.sleep(0.02)


def main() -> int:
    if sys.argv[1:] == ["serve"]:
        serve()
        return 0
    if sys.argv[1:] == ["others"]:
        print(",".join(map(str, in_order()[count_gpus() * CORES:] or in_order())))
        return 0
    mine, _lock = turn()
    cores = in_order()[mine * CORES:(mine + 1) * CORES] or in_order()
    os.environ["CUDA_VISIBLE_DEVICES"] = str(mine)
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(str(PLACE))
        except OSError:  # nobody serves: a process as any other
            os.sched_setaffinity(0, cores)
            run(sys.argv[1:])
            return 0
        request = {"words": sys.argv[1:], "env": dict(os.environ), "folder": os.getcwd(),
                   "cores": cores}
        socket.send_fds(server, [json.dumps(request).encode() + b"\n"], [0, 1, 2])
        return int(server.makefile().readline() or 1)


if __name__ == "__main__":
    sys.exit(main())
