"""Output files, and the schemas in docs/."""

import json
import os
import stat
import unittest
from pathlib import Path
from unittest import mock

import support  # finds the programs
import workload_common as common


class Writing(support.Case):
    def test_a_file(self):
        path = self.folder / "metrics.json"
        common.write_json(path, {"b": 1, "a": [1.5, None, "ü"]})
        self.assertEqual(json.loads(path.read_text(encoding="utf-8")),
                         {"b": 1, "a": [1.5, None, "ü"]})
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o644)
        self.assertEqual(os.listdir(self.folder), ["metrics.json"])

    def test_numbers_that_json_does_not_have(self):
        with self.assertRaises(ValueError):
            common.write_json(self.folder / "x.json", {"ms": float("nan")})
        self.assertEqual(os.listdir(self.folder), [])

    def test_the_old_file_stays_when_writing_fails(self):
        path = self.write("metrics.json", "old")
        with mock.patch.object(os, "replace", side_effect=OSError("full")):
            with self.assertRaises(OSError):
                common.write_json(path, {})
        self.assertEqual(path.read_text(encoding="utf-8"), "old")
        self.assertEqual(os.listdir(self.folder), ["metrics.json"])

    def test_where(self):
        with mock.patch.dict(os.environ, {"LLMPROF_WORKLOAD_DIR": ""}):
            self.assertIsNone(common.output_folder())
        with mock.patch.dict(os.environ, {"LLMPROF_WORKLOAD_DIR": str(self.folder)}):
            self.assertEqual(common.output_folder(), self.folder)


class Driver(unittest.TestCase):
    def version(self, text):
        with mock.patch.object(Path, "read_text", return_value=text):
            return common.driver_version()

    def test_as_the_kernel_module_tells(self):
        self.assertEqual(self.version(
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 2023\n"
            "GCC version: gcc version 12.2.0\n"), "535.104.05")
        self.assertEqual(self.version(
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n"),
            "580.95.05")
        self.assertIsNone(self.version("something else 1.2.3\n"))

    def test_no_driver(self):
        with mock.patch.object(Path, "read_text", side_effect=FileNotFoundError):
            self.assertIsNone(common.driver_version())


class Schemas(unittest.TestCase):
    """The checker of these tests sees what is wrong; programs are checked with it."""

    good = {"schema_version": 1, "model": {"name": "m", "weights": "random"}, "batch": 1,
            "prompt_tokens": 3, "new_tokens": 2,
            "repeats": [{"index": 1, "stages": {"decode": {"ms": 1.5, "steps_ms": [1.5]}}}]}

    def found(self, **changes):
        return support.problems({**self.good, **changes}, support.load_schema("metrics"))

    def test_metrics(self):
        self.assertEqual(self.found(), [])
        self.assertEqual(self.found(unknown=1), [])
        self.assertEqual(self.found(schema_version=2), ["$.schema_version: 2 is not 1"])
        self.assertEqual(self.found(batch=0), ["$.batch: 0 is too small"])
        self.assertEqual(self.found(batch=1.5), ["$.batch: 1.5 is not ['integer']"])
        self.assertEqual(self.found(repeats=[]), ["$.repeats: too short"])
        self.assertEqual(self.found(repeats=[{"index": 1, "stages": {"a": {}}}]),
                         ["$.repeats[0].stages.a: no ms"])
        self.assertEqual(self.found(model={"name": "m", "weights": "none"}),
                         ["$.model.weights: 'none' is none of ['random', 'checkpoint']"])
        self.assertEqual(self.found(inputs=[{"name": "a", "bytes": 1, "sha256": "0"}]),
                         ["$.inputs[0].sha256: '0' does not match"])

    def test_operators(self):
        operator = {"name": "aten::mm", "calls": 1, "host_total_ns": 1, "host_self_ns": 1,
                    "device_total_ns": None}
        schema = support.load_schema("operators")
        self.assertEqual(support.problems({"schema_version": 1, "operators": [operator]}, schema),
                         [])
        self.assertEqual(support.problems(
            {"schema_version": 1, "operators": [{**operator, "calls": 0}]}, schema),
            ["$.operators[0].calls: 0 is too small"])


if __name__ == "__main__":
    unittest.main()
