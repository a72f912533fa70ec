"""Timelines and captures whose parts contradict each other: a line each, no traceback."""

import json
import sqlite3

import support
from support import CAPTURE, FIXTURES, SMALL

EAGER = FIXTURES / "unmarked/eager.sqlite"
WHOLE = FIXTURES / "unmarked/whole.sqlite"
KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
NO_TIME = "-9223372036854775807 - 1"  # read as NULL is, which these columns refuse


def count(path, table):
    """Rows with times."""
    with sqlite3.connect(path) as database:
        return database.execute(f"SELECT count(*) FROM {table} WHERE start != {NO_TIME} "
                                f"AND end != {NO_TIME}").fetchone()[0]


class Compare(support.Case):
    def refused(self, sentence, fixture, sql):
        path = self.trace(fixture, sql)
        self.refuses(sentence, "compare", path, path)

    def test_grid_of_no_size(self):
        self.refused("have no usable grid_y", EAGER, f"UPDATE {KERNEL} SET gridY = -1")

    def test_end_at_the_beginning_of_time(self):
        self.refused("have no usable time", FIXTURES / "graphs/node.sqlite",
                     f"UPDATE {KERNEL} SET end = {NO_TIME}")

    def test_start_and_end_exchanged(self):
        self.refused("have no usable time", EAGER,
                     f"UPDATE {KERNEL} SET start = end, end = start")

    def test_one_graph_that_ends_first(self):
        path = self.trace(WHOLE, "UPDATE CUPTI_ACTIVITY_KIND_GRAPH_TRACE "
                          "SET start = end + 5000000 WHERE rowid = 2")
        self.does("compare", path, path)

    def test_times_that_add_up_to_too_much(self):
        self.refused("add up to more than 292 years", EAGER,
                     f"UPDATE {KERNEL} SET start = 0, end = 1 << 59")

    def test_start_far_off(self):
        self.refused("have no usable time", EAGER,
                     f"UPDATE {KERNEL} SET start = -(1 << 61), end = 5 - (1 << 61)")

    def test_times_since_1970(self):
        """As `nsys export --ts-normalize true` writes them: read as if from the session's start."""
        shift = "".join(f"UPDATE {table} SET start = start + 1732800000000000000, "
                        "end = end + 1732800000000000000;"
                        for table in (KERNEL, "CUPTI_ACTIVITY_KIND_MEMCPY",
                                      "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"))
        plain = self.does("stats", "-f", "csv", self.trace(EAGER, name="plain.sqlite"))
        shifted = self.does("stats", "-f", "csv", self.trace(EAGER, shift))
        self.assertEqual(plain.out, shifted.out)
        self.refused("have no usable time", EAGER,
                     f"UPDATE {KERNEL} SET start = start + (1 << 62), end = end + (1 << 62)")

    def test_one_time_since_1970(self):
        """A damaged row tells nothing of the others' times."""
        found = self.does("stats", "-r", "cuda_api_sum", "-f", "csv", self.trace(
            EAGER, f"UPDATE {KERNEL} SET start = 1500000000000000000, end = 1500000000000001000 "
            f"WHERE rowid = (SELECT min(rowid) FROM {KERNEL})"))
        self.assertIn(b"cudaLaunchKernel", found.out)

    def test_copies_without_a_kind(self):
        path = self.trace(WHOLE, "ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY DROP COLUMN copyKind")
        self.does("compare", path, path)


class Run(support.Case):
    def test_gpu_without_a_number(self):
        capture = self.capture(EAGER, "ALTER TABLE TARGET_INFO_GPU RENAME COLUMN id TO x")
        self.assertEqual(0, self.analyse(capture).status)

    def test_stages_of_no_length(self):
        capture = self.capture(FIXTURES / "repeats/run.1.sqlite",
                               "UPDATE NVTX_EVENTS SET end = start")
        self.assertEqual(0, self.analyse(capture).status)

    def test_start_and_end_exchanged(self):
        capture = self.capture(EAGER, f"UPDATE {KERNEL} SET start = end, end = start")
        self.assertIn("have no usable time", self.analyse(capture).err.decode())

    def test_samples_of_another_shape(self):
        capture = self.capture(of=SMALL)
        (capture / "gpu_samples.json").write_text('[{"t_ns": 1, "index": 0, "throttle": 5}]')
        self.assertIn("throttle: array expected, got 5", self.analyse(capture).last_line())

    def test_tokens_that_nobody_made(self):
        capture = self.capture(of=SMALL)
        path = capture / "metrics.json"
        metrics = json.loads(path.read_text())
        metrics["new_tokens"] = 5_000_000
        path.write_text(json.dumps(metrics))
        self.assertEqual(0, self.analyse(capture).status)  # and at once
        for key, tokens in (("new_tokens", 2**31 - 1), ("prompt_tokens", 10**18)):
            support.shutil.rmtree(self.top / "out")
            path.write_text(json.dumps({**metrics, key: tokens}))
            self.assertIn("more work than 64 bits count", self.analyse(capture).last_line())

    def test_a_few_events_without_a_time(self):
        capture = self.capture(sql=f"""
            UPDATE {KERNEL} SET end = {NO_TIME} WHERE rowid % 100 = 1;
            UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = {NO_TIME} WHERE rowid % 100 = 1;
            UPDATE NVTX_EVENTS SET start = {NO_TIME} WHERE rowid = 3;
            UPDATE NVTX_EVENTS SET end = start - 5 WHERE rowid = 4""")
        rows = [count(capture / "run.sqlite", table) for table in (
            KERNEL, "CUPTI_ACTIVITY_KIND_RUNTIME")]
        self.assertEqual(0, self.analyse(capture).status)
        results = json.loads((self.top / "out/results.json").read_text())
        self.assertEqual(rows, [results["totals"]["kernels"], results["totals"]["api_calls"]])
        for kernel in results["kernels"]:
            self.assertEqual(kernel["calls"], sum(shape["calls"] for shape in kernel["shapes"]))
        self.assertNotEqual("good", results["integrity"]["verdict"])
        said = {check["name"]: check["text"] for check in results["integrity"]["checks"]}["times"]
        self.assertRegex(said, r"GPU operations have no usable time and are left out; [\d,]+ of "
                         r"[\d,]+ API calls have no usable time and are left out; 2 of \d+ NVTX")

    def test_steps_of_a_process_without_kernels(self):
        capture = self.capture(sql=f"UPDATE {KERNEL} SET globalPid = globalPid + (1 << 24)")
        self.assertEqual(0, self.analyse(capture).status)

    def test_no_kernels(self):
        capture = self.capture(EAGER, f"DROP TABLE {KERNEL}")
        self.assertEqual(0, self.analyse(capture).status)

    def test_kernels_at_the_end_of_time(self):
        path = self.trace(FIXTURES / "tiny_h200/run.sqlite",
                          f"UPDATE {KERNEL} SET start = 9223372036854775807, "
                          "end = 9223372036854775807")
        self.does("stats", path)

    def test_names_lost(self):
        capture = self.capture(sql="UPDATE StringIds SET id = id + 1000000")
        self.assertEqual(0, self.analyse(capture).status)

    def test_date_that_is_none(self):
        capture = self.capture(of=SMALL)
        (capture / "capture.json").write_text('{"date": {"a": 1}}')
        self.assertIn('date: string expected, got {"a":1}', self.analyse(capture).last_line())

    def test_one_launch_of_another_short_name(self):
        capture = self.capture(sql=f"UPDATE {KERNEL} SET shortName = -156 WHERE rowid = 10198")
        self.assertEqual(0, self.analyse(capture).status)
        kernels = json.loads((self.top / "out/results.json").read_text())["kernels"]
        for kernel in kernels:
            self.assertEqual(kernel["calls"], sum(shape["calls"] for shape in kernel["shapes"]))

    def test_names_of_6_kb(self):
        capture = self.capture(sql="UPDATE StringIds SET value = value || id || "
                               "hex(zeroblob(3000)) WHERE id IN "
                               f"(SELECT mangledName FROM {KERNEL})")
        result = self.analyse(capture)
        self.assertEqual(0, result.status, result.last_line())
        selection = (self.top / "out/ncu/selection.json").read_text()
        self.assertIn("its name is too long for ncu", selection)

    def test_names_of_1_mb(self):
        capture = self.capture(sql="UPDATE StringIds SET value = value || id || "
                               "hex(zeroblob(500000)) WHERE id IN "
                               f"(SELECT mangledName FROM {KERNEL} LIMIT 5)")
        self.assertEqual(0, self.analyse(capture).status)


TIMELINE = support.FIXTURES / "small/run.sqlite"


class Names(support.Case):
    """What looks at a name must not take the square of its length: 10^12 steps here."""

    def test_names_that_begin_again_at_each_byte(self):
        for piece in ("a", " ", "<", "(", "a<"):
            size = 1000000 // len(piece)
            text = f"'k' || replace(hex(zeroblob({size // 2})), '0', '{piece}') || ' b'"
            path = self.trace(TIMELINE, f"UPDATE StringIds SET value = {text} WHERE id IN (SELECT "
                              f"demangledName FROM {KERNEL} UNION SELECT shortName FROM {KERNEL});"
                              f"UPDATE NVTX_EVENTS SET text = {text} WHERE rowid % 3 = 0;")
            for command in (["compare", path, path], ["ranks", path], ["stats", path],
                            ["-e", 'kernels:group("stage", "name"):sum("dur")', path],
                            ["export", path, "-o", self.top / "trace.json"]):
                with self.subTest(f"{piece} {command[0]}"):
                    self.assertIn(self.llmprof(*command).status, (0, 1, 2))


class Ranks(support.Case):
    def ranks(self, sql):
        path = self.trace(FIXTURES / "nccl2/rank0.sqlite", sql, "rank0.sqlite")
        return self.llmprof("ranks", path, FIXTURES / "nccl2/rank1.sqlite", "-o",
                            self.top / "ranks")

    def test_a_kernel_that_ends_before_it_starts(self):
        result = self.ranks(f"UPDATE {KERNEL} SET end = start - 13000000 WHERE rowid = 9")
        self.assertEqual(0, result.status)
        self.assertIn("rank0.sqlite: 1 of 1,000 GPU operations have no usable time",
                      result.last_line())

    def test_collectives_without_a_name(self):
        result = self.ranks("UPDATE StringIds SET id = 1 << 62 WHERE value = "
                            "'ncclDevKernel_AllReduce_Sum_bf16_RING_LL'")
        self.assertEqual(0, result.status)
        self.assertIn(b"(unnamed kernel)", result.out)


class Export(support.Case):
    def test_end_that_has_no_negative(self):
        path = self.trace(CAPTURE / "run.sqlite",
                          f"UPDATE {KERNEL} SET start = -9223372036854775807, "
                          "end = -9223372036854775807 - 1 WHERE rowid = 5")
        self.llmprof("export", path, "-o", self.top / "trace.json")


if __name__ == "__main__":
    support.main()
