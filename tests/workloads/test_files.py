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


class Reading(support.Case):
    @unittest.skipUnless(os.environ.get("LLMPROF"), "LLMPROF does not name the program")
    def test_what_llmprof_refuses(self):
        path = self.write("metrics.json", '{"schema_version": 2}')
        self.assertEqual(support.refusal("metrics", path),
                         f"{path}: $.schema_version: 1 expected, got 2\n")


if __name__ == "__main__":
    unittest.main()
