"""launch.py with programs that say which rank they are: what each is told, and what goes
wrong."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import support  # finds the programs
import launch
import workload_common as common

SAY = ("import os, sys\nprint('I am', *(os.environ[n] for n in sys.argv[2:]), sys.argv[1])\n")
TOLD = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "LLMPROF_WORKLOAD_DIR")


# As torchrun reads its words: by argparse, for which "--logs" of a program is one of its own
# "--logs-specs" unless it stands behind "--".
TORCHRUN = """
import argparse, os, subprocess
parser = argparse.ArgumentParser()
for name in ("nproc-per-node", "master-port", "log-dir", "logs-specs"):
    parser.add_argument("--" + name, "--" + name.replace("-", "_"))
for name in ("no-python", "more"):
    parser.add_argument("--" + name, action="store_true")
parser.add_argument("script")
parser.add_argument("words", nargs=argparse.REMAINDER)
args = parser.parse_args()
ranks = [subprocess.Popen([args.script, *args.words],
                          env=dict(os.environ, RANK=str(i), LOCAL_RANK=str(i)))
         for i in range(int(args.nproc_per_node))]
raise SystemExit(max(rank.wait() for rank in ranks))
"""


class Launching(support.Case):
    def command(self, *words, code=SAY, names=TOLD):
        return ["--logs", str(self.folder), *words, "--", sys.executable, "-c", code, "word{rank}",
                *names]

    def launch(self, *words, **given):
        return support.run_program("launch.py", *self.command(*words, **given),
                                   environment={"LLMPROF_WORKLOAD_DIR": str(self.folder)})

    def log(self, rank):
        return (self.folder / f"rank{rank}.log").read_text(encoding="utf-8")


class Ranks(Launching):
    def test_each_is_told_who_it_is(self):
        status, stdout, stderr = self.launch("--ranks", "3")
        self.assertEqual((status, stderr), (0, ""))
        self.assertEqual(stdout, self.log(0))
        for rank in range(3):
            folder = self.folder if rank == 0 else self.folder / f"rank{rank}"
            self.assertEqual(self.log(rank), f"I am {rank} {rank} 3 3 {folder} word{rank}\n")
            self.assertTrue(folder.is_dir())

    def test_all_meet_at_one_address(self):
        self.launch("--ranks", "2", names=("MASTER_ADDR", "MASTER_PORT"))
        said = {self.log(rank).rsplit(" ", 1)[0] for rank in range(2)}
        self.assertEqual(len(said), 1)
        self.assertRegex(said.pop(), r"^I am 127\.0\.0\.1 [1-9]\d+$")

    def test_a_gpu_of_its_own(self):
        self.launch("--ranks", "2", "--gpus", "one", names=("CUDA_VISIBLE_DEVICES", "LOCAL_RANK"))
        self.assertEqual([self.log(rank)[:8] for rank in range(2)], ["I am 0 0", "I am 1 0"])

    def seen(self, count, gpus, *words):
        """What each rank is told of GPUs; CUDA_VISIBLE_DEVICES and LOCAL_RANK."""
        names = ("CUDA_VISIBLE_DEVICES", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
        status, stdout, stderr = support.run_program(
            "launch.py", *self.command("--ranks", str(count), *words, names=names),
            environment={"CUDA_VISIBLE_DEVICES": gpus})
        self.assertEqual((status, stderr), (0, ""))
        return stdout.splitlines()[:-1], [self.log(rank).split()[2:5] for rank in range(count)]

    def test_more_ranks_than_gpus_take_turns(self):
        for words in ((), ("--gpus", "one")):
            said, seen = self.seen(5, "4,GPU-7", *words)
            self.assertEqual(said, ["launch.py: note: 5 ranks take turns at 2 GPUs: each sees one "
                                    "alone, as LOCAL_RANK 0"])
            self.assertEqual(seen, [[gpu, "0", "5"] for gpu in ("4", "GPU-7", "4", "GPU-7", "4")])

    def test_as_many_ranks_as_gpus_are_as_they_were(self):
        self.assertEqual(self.seen(2, "4,7"), ([], [["4,7", "0", "2"], ["4,7", "1", "2"]]))
        self.assertEqual(self.seen(2, "4,7", "--gpus", "one"), ([], [["4", "0", "2"],
                                                                     ["7", "0", "2"]]))

    def test_gpus_are_counted_where_nothing_names_them(self):
        nvml = mock.Mock()
        nvml.nvmlInit_v2.return_value = nvml.nvmlDeviceGetCount_v2.return_value = 0
        nvml.nvmlDeviceGetCount_v2.side_effect = lambda count: setattr(count._obj, "value", 2) or 0
        with mock.patch.dict(os.environ), mock.patch("ctypes.CDLL", return_value=nvml) as library:
            os.environ.pop("CUDA_VISIBLE_DEVICES", None)
            self.assertEqual(launch.gpus_here(), ["0", "1"])
            nvml.nvmlInit_v2.return_value = 9
            self.assertEqual(launch.gpus_here(), [])
            library.side_effect = OSError
            self.assertEqual(launch.gpus_here(), [])
            library.side_effect, nvml.nvmlInit_v2.return_value = None, 0
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
            self.assertEqual(launch.gpus_here(), [])

    def test_one_that_dies_leaves_the_others_and_its_last_lines(self):
        code = ("import os, sys, time\nrank = int(os.environ['RANK'])\nprint('here', rank)\n"
                "sys.stdout.flush()\nif rank == 1: os.kill(os.getpid(), 9)\n"
                "if rank == 2: sys.exit(7)\n")
        status, stdout, stderr = self.launch("--ranks", "4", code=code)
        self.assertEqual((status, stdout), (1, "here 0\n"))
        self.assertEqual(stderr, "rank 1: here 1\nrank 2: here 2\nlaunch.py: 2 of 4 ranks failed: "
                         "rank 1 was killed by SIGKILL; rank 2 ended with exit status 7\n")
        self.assertEqual(self.log(3), "here 3\n")

    def test_the_others_of_one_that_died_are_ended(self):
        code = ("import os, sys, time\nif os.environ['RANK'] == '1': sys.exit(3)\n"
                "print('waiting', flush=True)\ntime.sleep(600)\n")
        status, _, stderr = self.launch("--ranks", "2", "--grace", "1", code=code)
        self.assertEqual(status, 1)
        self.assertIn("rank 0 was killed by SIGTERM; rank 1 ended with exit status 3", stderr)

    def test_a_program_that_is_not_there(self):
        status, _, stderr = support.run_program(
            "launch.py", "--ranks", "1", "--logs", str(self.folder), "--", "/no/such")
        self.assertEqual((status, stderr), (1, "rank 0: /no/such: No such file or directory\n"
                                            "launch.py: 1 of 1 ranks failed: rank 0 ended with "
                                            "exit status 127\n"))

    def test_a_signal_ends_all(self):
        code = ("import os, time\nopen(os.environ['PIDS'] + '/' + os.environ['RANK'] + '.pid', "
                "'w').write(str(os.getpid()))\ntime.sleep(600)\n")
        program = subprocess.Popen(
            [sys.executable, str(support.PROGRAMS / "launch.py"),
             *self.command("--ranks", "3", "--grace", "2", code=code)],
            stderr=subprocess.PIPE, text=True, env={**os.environ, "PIDS": str(self.folder)})
        pids = [self.folder / f"{rank}.pid" for rank in range(3)]
        while not all(path.exists() and path.read_text() for path in pids):
            time.sleep(0.05)
            self.assertIsNone(program.poll())
        program.send_signal(signal.SIGTERM)
        _, stderr = program.communicate(timeout=60)
        self.assertEqual((program.returncode, stderr), (common.INTERRUPTED,
                                                        "launch.py: interrupted\n"))
        for path in pids:
            self.assertFalse(Path(f"/proc/{path.read_text()}").exists())


class Launchers(Launching):
    def standin(self, name, lines):
        """A launcher that starts ranks as its namesake does, of the words behind its own."""
        path = self.write(f"bin/{name}", "#!/bin/bash\n" + lines)
        path.chmod(0o755)
        return {"PATH": f"{path.parent}:{os.environ['PATH']}",
                "LLMPROF_WORKLOAD_DIR": str(self.folder)}

    def check(self, kind, lines, wanted):
        env = self.standin(kind, f'printf "%s\\n" "$*" >"{self.folder}/words"\n{lines}')
        status, _, stderr = support.run_program(
            "launch.py", *self.command("--ranks", "2", "--with", kind, "--args=--more"),
            environment=env)
        self.assertEqual((status, stderr), (0, ""))
        for rank in range(2):
            self.assertIn(f"I am {rank} {rank} 2", self.log(rank))
        self.assertRegex((self.folder / "words").read_text(encoding="utf-8"), wanted)

    def test_mpirun(self):
        self.check("mpirun", "shift 3\nfor i in 0 1; do OMPI_COMM_WORLD_RANK=$i "
                   'OMPI_COMM_WORLD_LOCAL_RANK=$i "$@" & done\nwait', r"^-np 2 --more \S*python")

    def test_srun(self):
        self.check("srun", "shift 3\nfor i in 0 1; do SLURM_PROCID=$i SLURM_LOCALID=$i "
                   '"$@" & done\nwait', r"^--ntasks 2 --more \S*python")

    def test_torchrun(self):
        program = self.write("bin/torchrun.py", TORCHRUN)
        self.check("torchrun", f'exec "{sys.executable}" "{program}" "$@"',
                   r"^--nproc-per-node 2 --master-port \d+ --more --no-python -- \S*python")

    def test_one_that_is_not_there(self):
        status, _, stderr = support.run_program(
            "launch.py", *self.command("--ranks", "2", "--with", "srun"),
            environment={"PATH": str(self.folder)})
        self.assertEqual((status, stderr), (3, "launch.py: launch.with=srun: srun is not there\n"))

    def test_the_real_mpirun(self):
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        tried = shutil.which("mpirun") and subprocess.run(
            ["mpirun", "--oversubscribe", "-np", "2", "true"], env={**os.environ, **root},
            capture_output=True, check=False)
        if not tried or tried.returncode != 0:
            self.skipTest("no mpirun of Open MPI that starts processes here")
        status, _, stderr = support.run_program(
            "launch.py", *self.command("--ranks", "2", "--with", "mpirun",
                                       "--args=--oversubscribe"),
            environment={"LLMPROF_WORKLOAD_DIR": str(self.folder), **root})
        self.assertEqual(status, 0, stderr)
        for rank in range(2):
            self.assertIn(f"I am {rank} {rank} 2 2 ", self.log(rank))
