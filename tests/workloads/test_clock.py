"""Ranges, times and operators, against a stand-in for PyTorch."""

import contextlib
import json
import os
import types
import unittest
from unittest import mock

import support  # finds the programs
import workload_clock as clock
import workload_common as common


class FakeCuda:
    """Writes down what is called; each event is one millisecond after the last."""

    def __init__(self):
        self.log, self.time = [], 0.0
        self.nvtx = types.SimpleNamespace(
            range_push=lambda name: self.log.append(f"push {name}"),
            range_pop=lambda: self.log.append("pop"))

    def Event(self, enable_timing):
        cuda = self

        class Event:
            def record(self):
                cuda.time += 1.0
                self.at = cuda.time
                cuda.log.append("event")

            def elapsed_time(self, end):
                return end.at - self.at

        return Event()

    def synchronize(self):
        self.log.append("synchronise")

    def cudart(self):
        return types.SimpleNamespace(cudaProfilerStart=lambda: self.log.append("start"),
                                     cudaProfilerStop=lambda: self.log.append("stop"))


def fake_torch():
    return types.SimpleNamespace(cuda=FakeCuda())


GPU, CPU = types.SimpleNamespace(type="cuda"), types.SimpleNamespace(type="cpu")


class Clocks(unittest.TestCase):
    def test_a_stage_ends_when_the_gpu_has(self):
        torch = fake_torch()
        measured = clock.Clock(torch, GPU, True)
        with measured.stage("prefill"):
            with measured.stage("sam"):
                torch.cuda.log.append("work")
        self.assertEqual(torch.cuda.log, [
            "push prefill", "event", "push sam", "event", "work", "event", "synchronise", "pop",
            "event", "synchronise", "pop"])
        stages = measured.take()
        self.assertEqual(list(stages), ["sam", "prefill"])
        self.assertEqual((stages["sam"]["gpu_ms"], stages["prefill"]["gpu_ms"]), (1.0, 3.0))
        self.assertGreaterEqual(stages["prefill"]["ms"], stages["sam"]["ms"])
        self.assertEqual(measured.take(), {})

    def test_parts_of_the_same_name_add_up(self):
        measured = clock.Clock(fake_torch(), GPU, True)
        for _ in range(3):
            with measured.stage("sam"):
                pass
        sam = measured.take()["sam"]
        self.assertEqual((sam["count"], sam["gpu_ms"]), (3, 3.0))

    def test_steps(self):
        torch = fake_torch()
        measured = clock.Clock(torch, GPU, True)
        with measured.stage("decode"):
            for number in measured.steps("decode_step", 2):
                torch.cuda.log.append(f"work {number}")
        self.assertEqual(torch.cuda.log, [
            "push decode", "event", "event",
            "push decode_step", "work 0", "pop", "event",
            "push decode_step", "work 1", "pop", "event",
            "event", "synchronise", "pop"])
        times = measured.take_steps()
        self.assertEqual(times["steps_gpu_ms"], [1.0, 1.0])
        self.assertEqual(len(times["steps_ms"]), 2)

    def test_steps_that_nobody_waited_for_have_no_wall_time(self):
        measured = clock.Clock(fake_torch(), GPU, False)
        for _ in measured.steps("decode_step", 1):
            pass
        self.assertIsNone(measured.take_steps()["steps_ms"])

    def test_a_range_is_closed_when_its_work_fails(self):
        torch = fake_torch()
        with self.assertRaises(ZeroDivisionError):
            with clock.Clock(torch, GPU, True).stage("prefill"):
                raise ZeroDivisionError
        self.assertEqual(torch.cuda.log[-2:], ["synchronise", "pop"])

    def test_without_a_gpu(self):
        measured = clock.Clock(object(), CPU, False)
        with measured.stage("decode"):
            self.assertEqual(list(measured.steps("decode_step", 3)), [0, 1, 2])
        self.assertIsNone(measured.take()["decode"]["gpu_ms"])
        times = measured.take_steps()
        self.assertEqual(len(times["steps_ms"]), 3)
        self.assertIsNone(times["steps_gpu_ms"])

    def test_quiet(self):
        quiet = clock.QuietClock()
        with quiet.stage("prefill"):
            self.assertEqual(list(quiet.steps("decode_step", 2)), [0, 1])

    def test_capture_window(self):
        torch = fake_torch()
        with clock.capture_window(torch, GPU):
            torch.cuda.log.append("work")
        self.assertEqual(torch.cuda.log, ["synchronise", "start", "push measured", "work",
                                          "synchronise", "pop", "stop"])
        with clock.capture_window(None, CPU):
            pass

    def test_operator_ranges(self):
        torch = fake_torch()
        log = torch.cuda.log

        @contextlib.contextmanager
        def emit_nvtx(record_shapes):
            log.append(f"ranges on, shapes {record_shapes}")
            yield
            log.append("off")

        torch.autograd = types.SimpleNamespace(profiler=types.SimpleNamespace(emit_nvtx=emit_nvtx))
        with clock.operator_ranges(torch):
            log.append("work")
        self.assertEqual(log, ["synchronise", "push operators", "ranges on, shapes True", "work",
                               "off", "synchronise", "pop"])

    def test_summary(self):
        record = {"index": 2, "stages": {"prefill": {"ms": 56.789},
                                         "decode": {"ms": 350.25, "steps": 15}}}
        self.assertEqual(clock.summary(record),
                         "repeat 2  prefill 56.79 ms  decode 350.25 ms  23.350 ms/step")


def row(key, count, host, host_self, device, device_self, kind="CPU", shapes=None):
    return types.SimpleNamespace(
        key=key, count=count, cpu_time_total=host, self_cpu_time_total=host_self,
        device_time_total=device, self_device_time_total=device_self, input_shapes=shapes,
        device_type=types.SimpleNamespace(name=kind))


class Operators(support.Case):
    def assert_readable(self, found):
        self.write("operators.json", json.dumps(found))
        self.written("operators")

    def test_rows_become_operators(self):
        rows = [
            row("aten::mm", 2, 30.0, 20.5, 40.0, 40.0, shapes=[[1, 2], [2, 3]]),
            row("aten::mm", 5, 50.0, 30.0, 60.0, 60.0, shapes=[[4, 4], [4, 4]]),
            row("aten::linear", 7, 90.0, 10.0, 100.0, 0.0, shapes=[[], []]),
            row("cudaLaunchKernel", 7, 9.0, 9.0, 0.0, 0.0),
            row("prefill", 1, 99.0, 1.0, 100.0, 0.0),
            row("void gemm<float>", 7, 0.0, 0.0, 100.0, 100.0, kind="CUDA"),
        ]
        self.assertEqual(clock.operators_of(rows, {"prefill"}, True), [
            {"name": "aten::mm", "calls": 7, "host_total_ns": 80000, "host_self_ns": 50500,
             "device_total_ns": 100000, "device_self_ns": 100000,
             "input_shapes": [[4, 4], [4, 4]]},
            {"name": "aten::linear", "calls": 7, "host_total_ns": 90000, "host_self_ns": 10000,
             "device_total_ns": 100000, "device_self_ns": 0},
            {"name": "cudaLaunchKernel", "calls": 7, "host_total_ns": 9000,
             "host_self_ns": 9000, "device_total_ns": 0, "device_self_ns": 0},
        ])

    def test_stages_and_kernels_of_operators(self):
        def event(name, parent, host, device, kernels=(), kind="CPU"):
            return types.SimpleNamespace(
                name=name, cpu_parent=parent, self_cpu_time_total=host,
                self_device_time_total=device,
                kernels=[types.SimpleNamespace(name=kernel, duration=us) for kernel, us in kernels],
                device_type=types.SimpleNamespace(name=kind))

        decode = event("decode", None, 5.0, 0.0)
        step = event("decode_step", decode, 1.0, 0.0)
        linear = event("aten::linear", step, 2.0, 0.0)
        events = [decode, step, linear, event("aten::mm", linear, 3.5, 9.0, [("gemm", 9.0)]),
                  event("aten::mm", step, 1.0, 6.0, [("gemm", 4.0), ("splitK", 2.0)]),
                  event("aten::mm", None, 1.0, 1.0, [("gemm", 1.0)]),
                  event("gemm", None, 0.0, 14.0, kind="CUDA")]
        operators = [{"name": "aten::mm"}, {"name": "aten::linear"}, {"name": "aten::add"}]
        clock.add_details(operators, events, {"decode", "decode_step"}, True)
        self.assertEqual(operators, [
            {"name": "aten::mm",
             "stages": [{"name": "decode", "calls": 2, "host_self_ns": 4500,
                         "device_self_ns": 15000}],
             "kernels": [{"name": "gemm", "calls": 3, "device_ns": 14000},
                         {"name": "splitK", "calls": 1, "device_ns": 2000}]},
            {"name": "aten::linear",
             "stages": [{"name": "decode", "calls": 1, "host_self_ns": 2000,
                         "device_self_ns": 0}]},
            {"name": "aten::add"}])

    def test_launches_in_order(self):
        def event(name, parent=None, id=0, start=0.0, kind="CPU"):
            return types.SimpleNamespace(
                name=name, cpu_parent=parent, id=id, kernels=[],
                time_range=types.SimpleNamespace(start=start),
                device_type=types.SimpleNamespace(name=kind))

        prefill, decode = event("prefill"), event("decode")
        step = event("decode_step", decode)
        mm, linear = event("aten::mm", step, 7), event("aten::linear", step, 8)
        events = [
            prefill, decode, step, mm, linear,
            event("cudaLaunchKernel", linear, 12, 30.0),
            event("cudaLaunchKernel", event("Buffer Flush", mm), 11, 20.0),
            event("cuLaunchKernel", event("cudaGraphLaunch", step), 13, 40.0),
            event("cudaMemcpyAsync", event("aten::copy_", prefill), 7, 10.0),
            event("cudaDeviceSynchronize", None, 14, 50.0),
            event("cudaLaunchKernel", None, 15, 60.0),
            event("add", id=12, kind="CUDA"), event("gemm", id=11, kind="CUDA"),
            event("Memcpy HtoD", id=7, kind="CUDA"), event("triton", id=13, kind="CUDA"),
            event("gemm", id=15, kind="CUDA"), event("splitK", id=15, kind="CUDA"),
            event("decode", id=7, kind="CUDA")]
        ranges = {"prefill", "decode", "decode_step"}
        found = clock.launches_of(events, ranges)
        self.assertEqual(found, {
            "kernels": ["Memcpy HtoD", "gemm", "add", "triton", "splitK"],
            "operators": ["aten::copy_", "aten::mm", "aten::linear"],
            "places": [{"kernel": 0, "operator": 0}, {"kernel": 1, "operator": 1},
                       {"kernel": 2, "operator": 2}, {"kernel": 3, "operator": None},
                       {"kernel": 1, "operator": None}, {"kernel": 4, "operator": None}],
            "stages": [{"name": "prefill", "order": "0"}, {"name": "decode", "order": "1 2 3"},
                       {"name": None, "order": "4 5"}],
            "left_out": None})
        with mock.patch.object(clock, "LAUNCHES", 3):
            found = clock.launches_of(events, ranges)
        self.assertEqual((found["left_out"], found["stages"][1:]),
                         (3, [{"name": "decode", "order": "1 2"}, {"name": None, "order": ""}]))
        self.assertIsNone(clock.launches_of([prefill, mm], ranges))
        self.assert_readable({"schema_version": 1, "operators": [], "launches": found})

    def test_gpu_time_of_graph_replays_is_nobodys(self):
        rows = [row("aten::mm", 1, 3.0, 2.0, 5.0, 5.0), row("decode", 1, 9.0, 1.0, 12.0, 7.0),
                row("gemm", 2, 0.0, 0.0, 12.0, 12.0, kind="CUDA"),
                row("Memcpy DtoH", 1, 0.0, 0.0, 1.0, 1.0, kind="CUDA"),
                row("decode", 1, 0.0, 0.0, 20.0, 20.0, kind="CUDA")]
        torch = fake_torch()
        torch.__version__ = "2.11.0"
        profiler = mock.MagicMock()
        profiler.__enter__.return_value.key_averages.return_value = rows
        profiler.__enter__.return_value.events.return_value = []
        torch.profiler = mock.Mock(profile=mock.Mock(return_value=profiler))

        def work(ranges):
            for _ in ranges.steps("decode", 1):
                pass

        with mock.patch.object(torch.profiler, "record_function", return_value=profiler):
            found = clock.profile(torch, GPU, work, "")
        self.assertEqual(
            (found["device_ns"], found["unattributed_device_ns"], len(found["operators"])),
            (13000, 8000, 1))
        self.assert_readable(found)

    def test_without_a_gpu_there_is_no_device_time(self):
        operator, = clock.operators_of([row("aten::mm", 1, 3.0, 2.0, 0.0, 0.0)], set(), False)
        self.assertEqual((operator["device_total_ns"], operator["device_self_ns"]), (None, None))

    def test_names_of_old_pytorch(self):
        old = row("aten::mm", 1, 3.0, 2.0, 0.0, 0.0)
        del old.device_time_total, old.self_device_time_total
        old.cuda_time_total, old.self_cuda_time_total = 5.0, 4.0
        operator, = clock.operators_of([old], set(), True)
        self.assertEqual((operator["device_total_ns"], operator["device_self_ns"]), (5000, 4000))

    def test_what_the_environment_rules_out(self):
        with mock.patch.dict(os.environ, {"LLMPROF_OPERATORS": "1", "LLMPROF_WORKLOAD_DIR": ""}):
            self.fails(common.USAGE, "LLMPROF_OPERATORS=1 needs LLMPROF_WORKLOAD_DIR",
                       clock.check_environment)
        inside = {"LLMPROF_OPERATORS": "1", "LLMPROF_WORKLOAD_DIR": str(self.folder)}
        with mock.patch.dict(os.environ, {**inside, "CUDA_INJECTION64_PATH": "/x.so"}):
            self.fails(common.USAGE, "LLMPROF_OPERATORS=1 under another profiler "
                       "(CUDA_INJECTION64_PATH is set): run the operators pass without nsys and "
                       "ncu", clock.check_environment)
        with mock.patch.dict(os.environ, {"LLMPROF_WORKLOAD_DIR": str(self.folder / "no")}):
            self.fails(common.USAGE, f"LLMPROF_WORKLOAD_DIR '{self.folder}/no': not a folder to "
                       "write in", clock.check_environment)


if __name__ == "__main__":
    unittest.main()
