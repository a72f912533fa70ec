"""Machines that refuse: no memory, no descriptors, no stack, no room, nobody who reads.

Every command ends with a line and a status of its own, leaves nothing half written, and
works again where the machine does.
"""

import os
import resource
import subprocess
from pathlib import Path
from typing import Callable, Iterator, List, Optional, Sequence, Tuple

import support
from support import CAPTURE, RECIPE, ROOT

TRACE = ROOT / "tests/fixtures/small/run.sqlite"
FIXTURES = ROOT / "tests/fixtures"
BUNDLE = FIXTURES / "compare/graph"
STATUSES = (0, 1, 2, 3)

# What prints, and how much of it does not matter.
PRINTING = (["stats", TRACE], ["stats", "-f", "csv", TRACE],
            ["stats", "-r", "nvtx_kern_sum", "-f", "json", TRACE],
            ["-e", 'kernels:group("name"):sum("dur")', TRACE], ["-e", "kernels:show(500)", TRACE],
            ["compare", TRACE, TRACE], ["compare", "-f", "json", TRACE, TRACE], ["help"],
            ["help", "recipes"], ["--version"], ["--help"], ["doctor"], ["doctor", "--json"],
            ["completion", "bash"], ["completion", "fish"], [RECIPE, "--print-config"],
            [RECIPE, "--dry-run", "capture=recorded"], ["operators", CAPTURE / "operators.json"],
            ["digest", BUNDLE], ["digest", "-f", "json", BUNDLE], ["show", BUNDLE],
            ["show", BUNDLE, "kernels"], ["ls", "--root", BUNDLE.parent],
            ["ls", BUNDLE], ["check", RECIPE],
            ["clean", "--dry-run", "--root", BUNDLE.parent], ["clean", "--cache", "--dry-run"],
            ["ranks", "-f", "json", FIXTURES / "two_gpus/run.sqlite"],
            ["sweep", "--dry-run", RECIPE, "infer.batch=1,2"], ["new", "--help"],
            ["-e", "io.write 'x'", TRACE], ["complete", "--", "st"])

# What an agent and a user at the prompt ask: an answer to each.
ASKED = ('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
         '{"jsonrpc":"2.0","id":2,"method":"resources/list"}\n')

# What needs no file of its own to write to, and more memory than a start.
READING = (["digest", BUNDLE], ["show", BUNDLE, "kernels"], ["ls", "--root", BUNDLE.parent],
           ["compare", BUNDLE, BUNDLE.parent / "eager"],
           ["compare", CAPTURE / "run.sqlite", CAPTURE / "run.sqlite"],
           ["stats", CAPTURE / "run.sqlite"], ["ranks", FIXTURES / "two_gpus/run.sqlite"],
           ["-e", 'kernels:group("name"):sum("dur")', CAPTURE / "run.sqlite"],
           ["check", RECIPE], [RECIPE, "--print-config"], ["doctor"], ["help", "recipes"],
           ["operators", CAPTURE / "operators.json"])


def limit(what: int, amount: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(what, (amount, amount))


class Machine(support.Case):
    def left_over(self) -> List[Path]:
        """Temporaries, but for what was noted: the next command removes it."""
        self.does("--version")
        return [path for path in self.top.rglob(".llmprof-*")]

    def limited(self, what: int, amount: int, *words: object) -> None:
        """Some commands under a limit; none is hurt."""
        written = [self.top / name for name in ("p.json.gz", "s.sqlite")]
        commands: List[List[object]] = [
            ["stats", TRACE], ["-e", "kernels:head(3)", TRACE],
            ["export", "-o", written[0], TRACE], ["scrub", TRACE, "-o", written[1]],
            [RECIPE, "capture=recorded", f"recorded={TRACE.parent}", f"out={self.top}/out", "-q"]]
        for command in commands:
            with self.subTest(f"{amount} {command[0]}"):
                result = self.under(limit(what, amount), command)
                # the loader has no words of ours
                loaded = b"error while loading shared libraries" not in result.err
                if loaded:
                    self.assertIn(result.status, STATUSES, result.err)
                    self.assertEqual(result.status != 0, b"llmprof: " in result.err, result.err)
                self.assertEqual([], self.left_over())
                for path in written:
                    self.assertEqual(result.status == 0 and str(path) in map(str, command),
                                     path.exists())
                    path.unlink(missing_ok=True)
        if (self.top / "out").is_dir():
            self.does(*commands[-1][:-2], "--resume", self.top / "out", "-q")
            subprocess.run(["rm", "-r", str(self.top / "out")], check=True)

    def under(self, prepare: Callable[[], None], command: List[object],
              out: Optional[int] = subprocess.PIPE) -> support.Result:
        done = subprocess.run([support.program, *map(str, command)], cwd=ROOT, env=self.env(),
                              stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
                              timeout=support.PATIENCE, check=False, preexec_fn=prepare)
        self.check_said(done.stdout or b"", done.stderr)
        return support.Result(done)

    def test_few_descriptors(self):
        for amount in (4, 6, 8, 10):
            self.limited(resource.RLIMIT_NOFILE, amount)

    def test_small_files(self):
        for amount in (0, 1000, 30000):
            self.limited(resource.RLIMIT_FSIZE, amount)

    def skip_where_memory_is_watched(self) -> None:
        if b"__asan_init" in Path(support.program).read_bytes():
            self.skipTest("the sanitizer needs more itself")

    def test_little_stack(self):
        self.skip_where_memory_is_watched()
        self.limited(resource.RLIMIT_STACK, 128 * 1024)

    def test_little_stack_and_names_alike(self):
        """Each byte of them is what tells thirty from the rest."""
        self.skip_where_memory_is_watched()
        names, begin = self.top / "names.lua", ""
        lines = []
        for depth in range(140):
            lines += [f"{begin}{chr(32 + (3 * depth + 8 * i + 1) % 90)}{i}" for i in range(30)]
            begin += chr(32 + 3 * depth % 90)
        values = ", ".join(f"[=[{line}]=]" for line in lines)
        names.write_text('local rows = require("llmprof.frame").new('
                         f'{len(lines)}, {{ {{ name = "name", type = "string", '
                         f'values = {{ {values} }} }} }})\n'
                         'print(#assert(rows:sort { { "name", false } }))\n')
        result = self.under(limit(resource.RLIMIT_STACK, 128 * 1024), ["exec", names])
        self.assertEqual((0, b"4200\n"), (result.status, result.out))

    def test_hardly_any_stack(self):
        self.skip_where_memory_is_watched()
        for kib in (32, 64, 127):
            result = self.under(limit(resource.RLIMIT_STACK, kib * 1024), ["--version"])
            self.assertEqual(1, result.status)
            self.assertIn(f"the stack is limited to {kib} KiB and 128 are needed",
                          result.last_line())

    def test_little_memory(self):
        self.skip_where_memory_is_watched()
        for amount in (24, 48):
            self.limited(resource.RLIMIT_AS, amount << 20)

    def test_memory_that_ends_is_one_line(self):
        """Of no file, and nobody's usage; nothing of it is a word of Lua's."""
        self.skip_where_memory_is_watched()
        ended = 0
        for amount in (14, 16, 18, 20, 22, 24, 28, 32):
            for command in READING:
                with self.subTest(f"{amount} {command[0]}"):
                    result = self.under(limit(resource.RLIMIT_AS, amount << 20), command)
                    self.assertIn(result.status, (0, 1, 3, 127), result.err)
                    if result.status == 1:
                        self.assertEqual(b"llmprof: out of memory\n", result.err)
                        ended += 1
        self.assertGreater(ended, 5)

    def test_the_limit_on_memory_is_named(self):
        for command in READING[4:7]:
            result = self.llmprof(*command, env=self.env(LLMPROF_LIMITS="bytes=1500000"))
            said = b"llmprof: out of memory: more than 1500000 bytes (limits.bytes)\n"
            self.assertEqual((1, said), (result.status, result.err))

    def printing(self) -> Iterator[Tuple[Sequence[object], dict]]:
        """Commands, and what they are started with."""
        for command in PRINTING:
            yield command, {}
        yield ["new", self.top / "recipe"], {}
        yield ["export", TRACE, "-o", self.top / "timeline.json"], {}
        yield ["scrub", TRACE, "-o", self.top / "scrubbed.sqlite"], {}
        yield ["baseline", "save", "--root", self.top, BUNDLE, "b"], {}
        yield ["baseline", "list", "--root", self.top], {}
        for command, said in (["mcp"], ASKED), (["repl", TRACE], "kernels"):
            asked = self.top / "asked"
            asked.write_text(said, encoding="ascii")
            with asked.open() as file:
                yield command, {"stdin": file}

    def test_a_full_disk_under_standard_output(self):
        for command, more in self.printing():
            with self.subTest(command), open("/dev/full", "wb") as full:
                result = self.llmprof(*command, stdout=full, **more)
                self.assertEqual(1, result.status)
                self.assertIn("standard output: No space left on device", result.last_line())

    def test_nobody_reads(self):
        """A reader that has gone ends every command alike and in silence, with the status
        that shells give to SIGPIPE."""
        for command, more in self.printing():
            with self.subTest(command):
                read, write = os.pipe()
                os.close(read)
                with open(write, "wb") as pipe:
                    result = self.llmprof(*command, stdout=pipe, **more)
                self.assertEqual((141, b""), (result.status, result.err))

    def test_no_reason_for_a_run_to_stop(self):
        """A bundle that is whole is no error, unless the line about it could not be written."""
        for shell, status in (('exec 3> >(exit 0); wait $!; exec "$@" >&3', 0),
                              ('exec "$@" >/dev/full', 1)):
            out = self.top / f"out{status}"
            done = subprocess.run(
                ["bash", "-c", shell, "bash", support.program, RECIPE, "capture=recorded",
                 f"recorded={TRACE.parent}", f"out={out}"], cwd=ROOT, env=self.env(),
                stderr=subprocess.PIPE, check=False, timeout=support.PATIENCE)
            self.assertEqual((status, status == 0), (done.returncode, done.stderr == b""))
            self.assertIn('"status": "done"', (out / "manifest.json").read_text())

    def test_an_error_of_another_kind_keeps_its_status(self):
        for words in (["stats"], ["stats", "/proc/none"]):
            self.assertEqual(2, self.under(lambda: os.close(1), words, None).status)
        for shell in ('exec "$@" 2>/dev/full', 'exec "$@" 2>&-'):
            done = subprocess.run(["sh", "-c", shell, "sh", support.program, "stats", TRACE],
                                  cwd=ROOT, env=self.env(), stdout=subprocess.DEVNULL, check=False)
            self.assertEqual(0, done.returncode)

    def test_closed_streams(self):
        for command in PRINTING:
            with self.subTest(command):
                result = self.under(lambda: os.close(1), command, None)
                self.assertEqual(1, result.status)
                self.assertIn("standard output", result.last_line())
        out = self.top / "out"
        done = subprocess.run(
            ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", support.program, RECIPE,
             "capture=recorded", f"recorded={TRACE.parent}", f"out={out}", "-q"],
            cwd=ROOT, env=self.env(), check=False, timeout=support.PATIENCE)
        self.assertIn(done.returncode, (0, 1))
        self.does("show", out, "stages")


if __name__ == "__main__":
    support.main()
