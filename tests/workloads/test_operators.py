"""The operators pass, on the CPU."""

import json
import unittest
from unittest import mock

import support  # finds the programs
import causal_lm
import workload_clock as clock
import workload_common as common

WORDS = ("--device", "cpu", "--dtype", "fp32", "--new-tokens", "3", "--repeats", "1",
         "--warmup", "0", "--prompt-tokens", "8", "--preset", "tiny")


@support.needs_torch
class Operators(support.Case):
    def run_main(self, *words):
        return support.call_main(causal_lm.main, (*WORDS, *words), {
            "LLMPROF_WORKLOAD_DIR": str(self.folder), "LLMPROF_OPERATORS": "1"})

    def test_operators(self):
        out = self.run_main()
        self.assertEqual([path.name for path in self.folder.iterdir()], ["operators.json"])
        self.assertNotIn("repeat", out)
        found = self.written("operators")
        self.assertRegex(found["source"], "^torch.profiler, PyTorch [0-9]")
        by_name = {operator["name"]: operator for operator in found["operators"]}
        self.assertEqual(len(by_name), len(found["operators"]))
        # Prefill and two steps, two layers each, seven products a layer and the output layer.
        self.assertEqual(by_name["aten::linear"]["calls"], 3 * (2 * 7 + 1))
        self.assertIsNone(by_name["aten::linear"]["device_total_ns"])
        self.assertGreater(found["wall_ms"] * 1e6, by_name["aten::linear"]["host_total_ns"])
        shapes = by_name["aten::linear"]["input_shapes"]
        self.assertEqual([len(shape) for shape in shapes[:2]], [3, 2])
        self.assertFalse({"prefill", "decode", "decode_step"} & set(by_name))
        order = [operator["host_self_ns"] for operator in found["operators"]]
        self.assertEqual(order, sorted(order, reverse=True))

    def test_a_chrome_trace(self):
        trace = self.folder / "trace.json"
        self.run_main("--trace-out", str(trace))
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
        names = [event.get("name") for event in events]
        self.assertEqual(names.count("decode_step"), 2)

    def test_a_trace_that_cannot_be_written(self):
        path = f"{self.folder}/no/trace.json"
        self.fails(common.USAGE, f"--trace-out '{path}': no such folder", self.run_main,
                   "--trace-out", path)
        self.fails(common.FAILED, f"--trace-out {path}: PyTorch could not write it",
                   clock.export_trace, mock.Mock(), path)

    def test_a_profiler_that_sees_no_gpu(self):
        import torch
        gpu = mock.Mock(type="cuda")
        with mock.patch.object(torch.cuda, "synchronize"):
            self.fails(common.FAILED, "torch.profiler saw no GPU work: CUPTI is not usable here, "
                       "or another profiler holds it", clock.profile, torch, gpu,
                       lambda _: torch.zeros(3) + 1, "")


if __name__ == "__main__":
    unittest.main()
