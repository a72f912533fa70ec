#!/usr/bin/env python3
"""Starts a program as several ranks, each with a log of its own, and sees them to their end.

    launch.py --ranks N --with local|torchrun|mpirun|srun [OPTION...] -- PROGRAM [ARGUMENT...]

Every rank is told RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and
MASTER_PORT, whatever started it; {rank} in a word of PROGRAM is its number. Rank 0 writes
where $LLMPROF_WORKLOAD_DIR says, the others into rank<N> there; what a rank prints is in
rank<N>.log of --logs, and that of rank 0 is printed, too. When a rank has failed, the others
have --grace seconds, then all are ended. Exit status: 1 when a rank failed, 2 usage, 3 the
launcher is missing.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import BinaryIO, Dict, List, Optional, Sequence

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import workload_common as common
from workload_common import MISSING, USAGE, WorkloadError
from workload_server import end_on_signals

KINDS = ("local", "torchrun", "mpirun", "srun")

# Where each launcher says a rank's number, and that on its machine.
RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
LOCALS = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")
LOCAL_SIZES = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
               "SLURM_NTASKS_PER_NODE")

# Between two looks, s; lines of a log that an error shows.
PAUSE, TAIL = 0.2, 12

# Bytes of a log that are copied at a time, and of a status that are read.
PIECE, STATUS = 1 << 20, 16


def parse(argv: Sequence[str]) -> argparse.Namespace:
    words = list(argv)
    split = words.index("--") if "--" in words else len(words)
    parser = common.Parser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--ranks", type=common.whole(1), required=True)
    parser.add_argument("--with", dest="kind", choices=KINDS, default="local")
    parser.add_argument("--gpus", choices=["all", "one"], default="all",
                        help="one: each rank sees its own alone")
    parser.add_argument("--logs", type=common.folder, required=True)
    parser.add_argument("--grace", type=common.whole(0), default=30, metavar="S")
    parser.add_argument("--port", type=common.whole(0), default=0,
                        help="MASTER_PORT; 0: a free one")
    parser.add_argument("--args", action="append", default=[], help="more for the launcher")
    parser.add_argument("--as-rank", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(words[:split])
    args.program = words[split + 1:]
    if not args.program:
        raise WorkloadError("no program: launch.py [OPTION...] -- PROGRAM [ARGUMENT...]", USAGE)
    return args


# ---- one rank ----

def first_number(names: Sequence[str]) -> Optional[int]:
    for name in names:
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return None


def count_gpus() -> int:
    """How many the driver knows of on this machine; 0 where there is none."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return 0
    count = ctypes.c_uint(0)
    if nvml.nvmlInit_v2() != 0:
        return 0
    failed = nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0
    nvml.nvmlShutdown()
    return 0 if failed else count.value


def gpus_here() -> List[str]:
    """What CUDA calls the GPUs of this machine that it shows; empty where nothing tells."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [gpu for gpu in named.split(",") if gpu]
    return [str(number) for number in range(count_gpus())]


def own_gpu(args: argparse.Namespace, local: int, size: int) -> Optional[str]:
    """The GPU that a rank sees alone; None: it sees all, of which LOCAL_RANK says its own.
    That would be none of them where ranks are more than GPUs: these take turns."""
    gpus = gpus_here()
    if gpus and size > len(gpus):
        return gpus[local % len(gpus)]
    if args.gpus == "all":
        return None
    return gpus[local] if gpus else str(local)


def own_environment(args: argparse.Namespace, rank: int) -> Dict[str, str]:
    """What the program of a rank is told."""
    local, size = first_number(LOCALS), first_number(LOCAL_SIZES)
    local = rank if local is None else local
    env = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(args.ranks), LOCAL_RANK=str(local))
    env.setdefault("LOCAL_WORLD_SIZE", str(size or args.ranks))
    env.setdefault("MASTER_ADDR", "127.0.0.1")
    env.setdefault("MASTER_PORT", str(args.port))
    gpu = own_gpu(args, local, max(size or 0, local + 1))
    if gpu is not None:
        env.update(CUDA_VISIBLE_DEVICES=gpu, LOCAL_RANK="0")
    folder = os.environ.get("LLMPROF_WORKLOAD_DIR")
    if folder and rank > 0:
        env["LLMPROF_WORKLOAD_DIR"] = str(Path(folder) / f"rank{rank}")
        os.makedirs(env["LLMPROF_WORKLOAD_DIR"], exist_ok=True)
    return env


def run_rank(args: argparse.Namespace) -> None:
    """Be one rank: run the program, keep what it prints and how it ends. The launcher is
    told that all is well, or it would end the others at once."""
    rank = first_number(RANKS)
    if rank is None:
        raise WorkloadError("nothing says which rank this is")
    argv = [word.replace("{rank}", str(rank)) for word in args.program]
    status, log = args.logs / f"rank{rank}.status", args.logs / f"rank{rank}.log"
    with open(log, "wb") as output:
        try:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output,
                                     stderr=subprocess.STDOUT, env=own_environment(args, rank))
        except OSError as error:
            output.write(f"{argv[0]}: {error.strerror}\n".encode())
            status.write_text("127", encoding="ascii")
            return
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda received, _: child.send_signal(received))
        code = child.wait()
    status.write_text(str(code), encoding="ascii")


# ---- all of them ----

def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def rank_command(args: argparse.Namespace) -> List[str]:
    return [sys.executable, os.path.realpath(__file__), "--as-rank", "--ranks", str(args.ranks),
            "--gpus", args.gpus, "--logs", str(args.logs), "--port", str(args.port), "--",
            *args.program]


def launcher_command(args: argparse.Namespace) -> List[str]:
    """What starts all ranks at once."""
    count, more = str(args.ranks), args.args
    if not shutil.which(args.kind):
        raise WorkloadError(f"launch.with={args.kind}: {args.kind} is not there", MISSING)
    if args.kind == "torchrun":  # it takes options before "--" for its own, even the program's
        return ["torchrun", "--nproc-per-node", count, "--master-port", str(args.port), *more,
                "--no-python", "--", *rank_command(args)]
    if args.kind == "mpirun":
        return ["mpirun", "-np", count, *more, *rank_command(args)]
    return ["srun", "--ntasks", count, *more, *rank_command(args)]


def start(args: argparse.Namespace) -> List[subprocess.Popen[bytes]]:
    """In our own process group: who ends that ends them all."""
    if args.kind != "local":
        return [subprocess.Popen(launcher_command(args), stdin=subprocess.DEVNULL)]
    children = []
    for rank in range(args.ranks):
        env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank),
                   LOCAL_WORLD_SIZE=str(args.ranks))
        children.append(subprocess.Popen(rank_command(args), stdin=subprocess.DEVNULL, env=env))
    return children


def codes_of(args: argparse.Namespace) -> Dict[int, int]:
    """Exit statuses of the ranks that have ended."""
    codes = {}
    for rank in range(args.ranks):
        with contextlib.suppress(OSError, ValueError):
            with open(args.logs / f"rank{rank}.status", encoding="ascii") as file:
                codes[rank] = int(file.read(STATUS))
    return codes


def end(children: Sequence[subprocess.Popen[bytes]], grace: float) -> None:
    """SIGTERM, which profilers take as the end of the program; SIGKILL after `grace` s."""
    for child in children:
        if child.poll() is None:
            child.terminate()
    deadline = time.monotonic() + grace
    while any(child.poll() is None for child in children) and time.monotonic() < deadline:
        time.sleep(PAUSE)
    for child in children:
        if child.poll() is None:
            child.kill()
        child.wait()


class Printer:
    """Prints what rank 0 has said since it was last asked."""

    def __init__(self, path: Path):
        self.path = path
        self.file: Optional[BinaryIO] = None

    def go_on(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.file = self.file or open(self.path, "rb")
        while self.file:
            piece = self.file.read(PIECE)
            sys.stdout.buffer.write(piece)
            sys.stdout.flush()
            if len(piece) < PIECE:
                break


def see_through(args: argparse.Namespace, children: Sequence[subprocess.Popen[bytes]]) -> None:
    """Until all have ended; the others of one that failed have their time."""
    printer, deadline = Printer(args.logs / "rank0.log"), None
    try:
        while any(child.poll() is None for child in children):
            printer.go_on()
            time.sleep(PAUSE)
            if deadline is None and any(codes_of(args).values()):
                deadline = time.monotonic() + args.grace
            if deadline is not None and time.monotonic() > deadline:
                break
    finally:
        end(children, args.grace)
        printer.go_on()


def last_lines(path: Path) -> List[str]:
    try:
        with open(path, "rb") as log:
            log.seek(max(0, path.stat().st_size - 4096))
            return log.read().decode("utf-8", "replace").splitlines()[-TAIL:]
    except OSError:
        return []


def how(code: Optional[int]) -> str:
    if code is None:
        return "ended without a word"
    if code < 0:
        known = -code in {number.value for number in signal.Signals}
        return f"was killed by {signal.Signals(-code).name if known else f'signal {-code}'}"
    return f"ended with exit status {code}"


def judge(args: argparse.Namespace) -> None:
    """Of the ranks that failed their last lines, then one line."""
    codes = codes_of(args)
    failed = [rank for rank in range(args.ranks) if codes.get(rank) != 0]
    for rank in failed:
        for line in last_lines(args.logs / f"rank{rank}.log"):
            print(f"rank {rank}: {line}", file=sys.stderr)
    if failed:
        said = "; ".join(f"rank {rank} {how(codes.get(rank))}" for rank in failed)
        raise WorkloadError(f"{len(failed)} of {args.ranks} ranks failed: {said}")


def say_shares(args: argparse.Namespace) -> None:
    """That ranks share GPUs, where all are on this machine. llmprof keeps the line as a note."""
    gpus = gpus_here()
    here = args.kind in ("local", "torchrun") or args.kind == "mpirun" and not args.args
    if here and gpus and args.ranks > len(gpus):
        print(f"launch.py: note: {args.ranks} ranks take turns at {len(gpus)} "
              f"GPU{'s' if len(gpus) > 1 else ''}: each sees one alone, as LOCAL_RANK 0",
              flush=True)


def main(argv: Sequence[str]) -> None:
    args = parse(argv)
    if args.as_rank:
        run_rank(args)
        return
    say_shares(args)
    end_on_signals()
    args.logs = args.logs.resolve()
    args.port = args.port or free_port()
    for rank in range(args.ranks):
        (args.logs / f"rank{rank}.status").unlink(missing_ok=True)
    see_through(args, start(args))
    judge(args)


if __name__ == "__main__":
    sys.exit(common.run(main))
