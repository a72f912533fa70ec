"""PerfAdvisor's seven scenarios of one host, after their descriptions (ground_truth_meta.json).

Each has `work(faulty)`, one pass: as described, and with the fix that is suggested first. Where
PerfAdvisor uses MPI, ranks meet by gloo, in ranges named after MPI's calls.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any, Callable, Dict, Iterator

import torch

KERNELS = r"""
extern "C" __global__ void spin(float *data, int count, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float value = data[i];
  for (int round = 0; round < rounds; round++) value = value * 0.999f + 1;
  data[i] = value;
}
"""


@contextlib.contextmanager
def call(name: str) -> Iterator[None]:
    torch.cuda.nvtx.range_push(name)
    yield
    torch.cuda.nvtx.range_pop()


class Scenario:
    count = 1 << 20

    def __init__(self, rank: int):
        self.rank = rank
        self.kernel = torch.cuda._compile_kernel(KERNELS, "spin")
        self.data = torch.zeros(self.count, device="cuda")

    def prepare(self, faulty: bool) -> None:
        self.spin(self.data, 1)

    def spin(self, data: torch.Tensor, rounds: int) -> None:
        self.kernel(((data.numel() + 255) // 256, 1, 1), (256, 1, 1),
                    (data, data.numel(), rounds))

    def work(self, faulty: bool) -> None:
        raise NotImplementedError


class TinyKernels(Scenario):
    """A thousand launches, each waited for after 5 us of sleep; in one CUDA graph without."""
    count = 256

    def prepare(self, faulty: bool) -> None:
        super().prepare(faulty)
        if faulty:
            return
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            for _ in range(1000):
                self.spin(self.data, 10)

    def work(self, faulty: bool) -> None:
        if not faulty:
            self.graph.replay()
            return
        for _ in range(1000):
            self.spin(self.data, 10)
            time.sleep(5e-6)
            torch.cuda.current_stream().synchronize()


class SyncStall(Scenario):
    """The CPU waits for each kernel, and prepares the next only then."""

    def work(self, faulty: bool) -> None:
        for _ in range(200):
            self.spin(self.data, 400)
            begun = time.perf_counter()
            while time.perf_counter() - begun < 20e-6:
                pass
            if faulty:
                torch.cuda.current_stream().synchronize()


class Transfers(Scenario):
    """134 MB in 16 chunks: to the GPU, one kernel, and back."""
    count = 1 << 25

    def __init__(self, rank: int):
        super().__init__(rank)
        self.host = torch.zeros(self.count).pin_memory()
        self.back = torch.zeros(self.count).pin_memory()
        self.streams = [torch.cuda.Stream() for _ in range(4)]

    def chunks(self, waits: bool) -> None:
        parts = zip(self.host.chunk(16), self.data.chunk(16), self.back.chunk(16))
        for number, (there, here, back) in enumerate(parts):
            with torch.cuda.stream(self.streams[number % 4]):
                here.copy_(there, non_blocking=True)
                self.spin(here, 20)
                back.copy_(here, non_blocking=True)
            if waits:
                self.streams[number % 4].synchronize()
        for stream in self.streams:
            stream.synchronize()


class TransferBound(Transfers):
    """The fix keeps the data on the GPU."""

    def work(self, faulty: bool) -> None:
        if faulty:
            self.chunks(False)
        else:
            self.spin(self.data, 20)


class OverlapMissing(Transfers):
    """Each chunk is waited for; the fix lets four be under way."""

    def work(self, faulty: bool) -> None:
        self.chunks(faulty)


class Staged(Scenario):
    """Data of the GPU goes to other ranks through the host."""
    count = 1 << 22

    def __init__(self, rank: int):
        super().__init__(rank)
        self.got = torch.zeros(self.count, device="cuda")
        self.host, self.host_got = (torch.zeros(self.count).pin_memory() for _ in range(2))


class HaloStaged(Staged):
    def work(self, faulty: bool) -> None:
        other = 1 - self.rank
        for _ in range(4):
            self.spin(self.data, 100)
            if not faulty:
                moves = [torch.distributed.P2POp(torch.distributed.isend, self.data, other),
                         torch.distributed.P2POp(torch.distributed.irecv, self.got, other)]
                for work in torch.distributed.batch_isend_irecv(moves):
                    work.wait()
                continue
            self.host.copy_(self.data)
            with call("MPI_Sendrecv"):
                sent = torch.distributed.isend(self.host, other)
                torch.distributed.recv(self.host_got, other)
                sent.wait()
            self.got.copy_(self.host_got)


class AllreduceStaged(Staged):
    def work(self, faulty: bool) -> None:
        for _ in range(4):
            self.spin(self.data, 100)
            if not faulty:
                torch.distributed.all_reduce(self.data)
                continue
            self.host.copy_(self.data)
            with call("MPI_Allreduce"):
                torch.distributed.all_reduce(self.host)
            self.data.copy_(self.host)


class BarrierStall(Scenario):
    """The second rank has three times the work; with the fix both have the mean."""

    def work(self, faulty: bool) -> None:
        share = (1 + 2 * self.rank) / 2 if faulty else 1
        for _ in range(4):
            for _ in range(int(20 * share)):
                self.spin(self.data, 2000)
            torch.cuda.synchronize()
            with call("MPI_Barrier"):
                torch.distributed.all_reduce(torch.zeros(1))


SCENARIOS: Dict[str, Callable[[int], Any]] = {
    "tiny_kernels": TinyKernels,
    "sync_stall": SyncStall,
    "transfer_bound": TransferBound,
    "overlap_missing": OverlapMissing,
    "p2p_staged": HaloStaged,
    "mpi_barrier_stall": BarrierStall,
    "mpi_allreduce": AllreduceStaged,
}
