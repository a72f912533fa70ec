"""Traces of torch.profiler as other versions and other makers' GPUs write them."""

import json
from typing import Dict, List

import support


class Trace:
    """The events of a small trace; times in us."""

    def __init__(self) -> None:
        self.events: List[Dict] = []
        self.correlation = 0

    def add(self, cat, name, start, length, tid=1, pid=1, **args):
        self.events.append(dict(ph="X", cat=cat, name=name, pid=pid, tid=tid, ts=start,
                                dur=length, args=args))

    def launch(self, name, start, begin, length, cat="kernel", tid=1, **args):
        """A call of 5 us at `start` and what it does on the GPU from `begin` on."""
        self.correlation += 1
        self.add("cuda_runtime", "cudaLaunchKernel", start, 5, tid=tid,
                 correlation=self.correlation)
        if cat == "kernel":
            args = dict(grid=[8, 1, 1], block=[128, 1, 1], **args)
        self.add(cat, name, begin, length, pid=0, tid=7, device=0, stream=7,
                 correlation=self.correlation, **args)

    def write(self, path):
        path.write_text(json.dumps({
            "schemaVersion": 1, "traceEvents": self.events,
            "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}]}))
        return path


class Reading(support.Case):
    """What is not there is absent, and no reason to refuse the rest."""

    def test_copies_without_bytes(self):
        trace = Trace()
        trace.add("user_annotation", "decode", 0, 1000)
        for i in range(4):
            trace.launch("gemm_kernel", 10 + 50 * i, 20 + 50 * i, 30)
        trace.launch("Memcpy DtoD (Device -> Device)", 300, 310, 200, cat="gpu_memcpy")
        trace.launch("Memcpy HtoD (Pageable -> Device)", 550, 560, 100, cat="gpu_memcpy",
                     bytes=4096)
        trace.launch("Memset (Device)", 700, 710, 20, cat="gpu_memset")
        out = self.top / "bundle"
        said = self.does("report", trace.write(self.top / "a.json"), "--out", out).out.decode()
        self.assertIn("take 200.00 µs", said)
        rows = json.loads((out / "results.json").read_text())["transfers"]
        self.assertEqual([("device to device", None), ("host to device", 4096)],
                         [(row["direction"], row.get("bytes")) for row in rows])


class Stages(support.Case):
    """What a trace's stages are."""

    def stages(self, trace):
        out = self.top / "bundle"
        self.does("report", trace.write(self.top / "a.json"), "--out", out)
        return json.loads((out / "results.json").read_text())["stages"]

    def test_layers_are_no_tokens(self):
        trace = Trace()
        trace.add("user_annotation", "ProfilerStep#1", 0, 3300)
        for i, (name, length) in enumerate([("ViTModel_0", 3280), ("ViTEncoder_0", 3260)]):
            trace.add("python_function", "nn.Module: " + name, 5 + i, length)
        for layer in range(12):
            start = 100 + 250 * layer
            trace.add("python_function", f"nn.Module: ViTLayer_{layer}", start, 240)
            trace.add("python_function", "vit.py(88): forward", start + 1, 238)
            trace.add("python_function", f"nn.Module: ViTAttention_{layer}", start + 40, 100)
            for i, name in enumerate(["norm", "gemm_qkv", "flash_fwd_kernel", "gemm_out", "gelu",
                                      "gemm_down"]):
                trace.launch(name, start + 10 + 35 * i, start + 17 + 35 * i, 30)
        self.assertEqual(["ProfilerStep"], [stage["name"] for stage in self.stages(trace)])

    def test_backward_pass_of_a_thread_of_autograd(self):
        trace = Trace()
        for step in range(3):
            start = 1000 * step
            trace.add("user_annotation", f"ProfilerStep#{step}", start, 990)
            trace.add("user_annotation", "DistributedDataParallel.forward", start + 5, 390)
            trace.launch("gemm_kernel", start + 10, start + 20, 300)
            trace.add("cpu_op", "autograd::engine::evaluate_function: MmBackward0", start + 400,
                      500, tid=2)
            trace.launch("gemm_backward", start + 410, start + 420, 400, tid=2)
        stages = self.stages(trace)
        self.assertEqual([("ProfilerStep", 2, 700000)],
                         [(stage["name"], stage["launches"], stage["gpu_busy_ns"])
                          for stage in stages])
        said = self.does("-e", 'kernels:group("stage"):agg("count")', self.top / "a.json").out
        self.assertIn(b"ProfilerStep      6", said)


if __name__ == "__main__":
    support.main()
