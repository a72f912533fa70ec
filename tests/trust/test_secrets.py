"""Forty stand-in secrets, looked for in every byte that commands leave.

A stand-in nsys writes them wherever a real export may have them. What is for oneself may
hold what one typed and what the workload printed; what is handed on holds none.
"""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Dict, List, Optional

import support
from support import ROOT

NAMES = """AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN HF_TOKEN
HUGGING_FACE_HUB_TOKEN OPENAI_API_KEY ANTHROPIC_API_KEY GITHUB_TOKEN GH_TOKEN GITLAB_TOKEN
CI_JOB_TOKEN NPM_TOKEN PYPI_TOKEN DOCKER_PASSWORD KUBECONFIG_DATA SLACK_TOKEN
STRIPE_SECRET_KEY DATABASE_URL REDIS_URL PGPASSWORD MYSQL_PWD AZURE_CLIENT_SECRET
GOOGLE_API_KEY WANDB_API_KEY COMET_API_KEY NGC_API_KEY SENTRY_DSN JWT_SECRET SESSION_SECRET
ENCRYPTION_KEY SSH_PRIVATE_KEY VAULT_TOKEN CONSUL_HTTP_TOKEN DD_API_KEY HTTP_PROXY
PIP_INDEX_URL DD_COLLECT_API_KEY DEPLOY_WEBHOOK_TRIGGER MY_CUDA_SKIP_TOKEN
LLMPROF_SECRET""".split()

# How some are wrapped.
FORMS = {"DATABASE_URL": "postgres://u:%s@db/x", "REDIS_URL": "redis://:%s@h",
         "HTTP_PROXY": "http://u:%s@127.0.0.1:9", "PIP_INDEX_URL": "https://tok:%s@pypi.local/s",
         "SENTRY_DSN": "https://%s@sentry.invalid/1"}

# Those that are not in the environment: typed, in a path, printed by the workload.
TYPED, IN_PATH, PRINTED = "TYPED", "IN_PATH", "PRINTED"

# Files of a bundle for oneself, and what they may hold.
OWN = {"config.yaml": {TYPED, IN_PATH}, "manifest.json": {TYPED, IN_PATH},
       "nsys/cmd.txt": {TYPED, IN_PATH}, "ncu/cmd.txt": {TYPED, IN_PATH},
       "nsys/log.txt": {PRINTED}, "ncu/log.txt": {PRINTED}, "results.json": {TYPED, IN_PATH},
       "workload/before/log.txt": {PRINTED}, "workload/after/log.txt": {PRINTED},
       "workload/operators/log.txt": {PRINTED}, "run.log": {TYPED, IN_PATH, PRINTED}}


def make_secrets() -> Dict[str, str]:
    numbers = random.Random(7)
    return {name: "SeCr3t%02d%016x" % (i, numbers.getrandbits(64))
            for i, name in enumerate([*NAMES, TYPED, IN_PATH, PRINTED])}


def poison(path: str) -> None:
    """Put the environment wherever an export has texts."""
    with sqlite3.connect(path) as db:
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
        for name, columns in (
                ("META_DATA_CAPTURE", "name TEXT, value TEXT"),
                ("TARGET_INFO_SYSTEM_ENV", "globalVid INT, devStateName TEXT, name TEXT, "
                 "nameEnum INT, value TEXT"),
                ("ANALYSIS_FILE", "id INT, filename TEXT, content TEXT"),
                ("ProcessStreams", "globalPid INT, filenameId INT, contentId INT"),
                ("DIAGNOSTIC_EVENT", "timestamp INT, timestampType INT, source INT, "
                 "severity INT, text TEXT, globalPid INT"),
                ("PROCESSES", "globalPid INT, name TEXT"),
                ("CUPTI_ACTIVITY_KIND_UNKNOWN", "note TEXT")):
            if name not in tables:
                db.execute(f"CREATE TABLE {name} ({columns})")
        last = db.execute("SELECT max(id) FROM StringIds").fetchone()[0]
        for i, (name, value) in enumerate(os.environ.items(), last + 1):
            pair = f"{name}={value}"
            db.execute("INSERT INTO META_DATA_CAPTURE (name, value) VALUES (?, ?)",
                       (f"PROCESS_0:ENVIRONMENT:{name}", value))
            db.execute("INSERT INTO META_DATA_CAPTURE (name, value) VALUES (?, ?)",
                       ("PROCESS_0:COLLECT_" + name, value))
            db.execute("INSERT INTO TARGET_INFO_SYSTEM_ENV (name, value, devStateName) "
                       "VALUES (?, ?, ?)", (name, value, pair))
            db.execute("INSERT INTO StringIds VALUES (?, ?)", (i, pair))
            db.execute("INSERT INTO DIAGNOSTIC_EVENT (severity, text) VALUES (2, ?)",
                       (f"Process {value} started with {pair} in /home/{value}/x.",))
            db.execute("INSERT INTO PROCESSES (globalPid, name) VALUES (?, ?)",
                       (i << 24, f"/home/{value}/python3 --api-key {value}"))
            db.execute("INSERT INTO ANALYSIS_FILE VALUES (?, ?, ?)", (i, value, pair))
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_UNKNOWN VALUES (?)", (pair,))
    db.close()


def stand_in_nsys() -> None:
    """What `nsys` is in these tests: the stand-in, whose report and export know the
    environment as nsys's do."""
    words = sys.argv[2:]
    status = subprocess.run([str(ROOT / "tests/standin/nsys"), *words], check=False).returncode
    for word in words:
        if words[0] == "export" and word.startswith("--output="):
            poison(word[len("--output="):])
            time.sleep(float(os.environ.get("STANDIN_SLOW", "0")))
    sys.exit(status)


class Secrets(support.Case):
    def setUp(self) -> None:
        super().setUp()
        self.secrets = make_secrets()
        tools = self.top / "tools"
        tools.mkdir()
        nsys = tools / "nsys"
        nsys.write_text(f"#!/bin/sh\nexec {sys.executable} {__file__} --nsys \"$@\"\n")
        nsys.chmod(0o755)
        self.out = self.top / "out"
        (self.top / "log").mkdir()

    def env(self, **more: str) -> Dict[str, str]:
        env = super().env(STANDIN_LOG=str(self.top / "log"), **more)
        for name in NAMES:
            env[name] = FORMS.get(name, "%s") % self.secrets[name]
        env["PATH"] = f"{self.top}/tools:{ROOT}/tests/standin:{env['PATH']}"
        return env

    def words(self, *more: object) -> List[str]:
        return [support.program, "tests/standin/recipe.lua", f"out={self.out}",
                *map(str, more)]

    def held_by(self, folder: Path, but: Optional[Path] = None) -> Dict[str, set]:
        """File below folder -> the secrets in it."""
        found = {}
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink() and (not but or but not in path.parents):
                contents = path.read_bytes()
                held = {name for name, secret in self.secrets.items()
                        if secret.encode() in contents or secret in str(path)}
                if held:
                    found[str(path.relative_to(folder))] = held
        return found

    def test_no_byte_of_them_stays_or_is_handed_on(self):
        workload = self.top / "workload"
        workload.write_text(f"#!/bin/sh\necho {self.secrets[PRINTED]}\n"
                            f"exec {ROOT}/tests/standin/workload \"$@\"\n")
        workload.chmod(0o755)
        given = (f"dataset.subset_filelist=/home/{self.secrets[IN_PATH]}/{self.secrets[TYPED]}",
                 f"standin.program={workload}", "overhead=measure")
        run = self.llmprof(*self.words(*given)[1:], "--log", self.out.parent / "run.log", "-v")
        self.assertEqual(0, run.status, run.err)
        bundle = self.held_by(self.out)
        unexpected = {name: held - OWN.get(name, set()) for name, held in bundle.items()}
        self.assertEqual({}, {name: held for name, held in unexpected.items() if held})
        log = self.held_by(self.top).get("run.log", set())
        self.assertLessEqual(log, OWN["run.log"])
        for held in bundle.values():
            self.assertFalse(held & set(NAMES))
        handed = self.top / "handed"
        handed.mkdir()
        self.does("record", self.out, handed / "capture")
        self.does("scrub", self.out / "nsys/run.sqlite", "-o", handed / "scrubbed.sqlite")
        self.does("export", self.out, "-o", handed / "trace.json")
        raw = handed / "raw.sqlite"
        raw.write_bytes((self.out / "nsys/run.sqlite").read_bytes())
        subprocess.run([sys.executable, __file__, "--poison", str(raw)], env=self.env(),
                       check=True)
        self.does("scrub", raw, "-o", handed / "of_raw.sqlite")
        self.does("export", raw, "-o", handed / "of_raw.json")
        raw.unlink()
        for name in ("report.html", "report.md", "kernels.md", "stakeholder_summary.md"):
            (handed / name).write_bytes((self.out / name).read_bytes())
        for words in (("show", self.out, "stages"), ("doctor",), ("doctor", "--json"),
                      ("ls",), ("compare", self.out, self.out), ("stats", self.out /
                                                                 "nsys/run.sqlite")):
            result = self.llmprof(*words)
            (handed / "-".join(map(str, words[:1]))).write_bytes(result.out + result.err)
        self.assertEqual({}, self.held_by(handed))
        self.assertEqual({}, self.held_by(self.top / "cache"))

    def test_stacks_of_a_sampler(self):
        """They name scripts where they lie, and processes by all that was typed."""
        secret, stacks = self.secrets, self.top / "stacks.txt"
        script = f"/home/{secret[IN_PATH]}/run.py"
        stacks.write_text(f'process 7:"python3 {script} --key {secret[TYPED]}";main ({script}:3);'
                          f"step (/lib/{secret[IN_PATH]}/x.so) 12\n{script};leaf 3\n")
        self.does(*self.words("counters=off", "operators=off", f"cpu_stacks={stacks}")[1:])
        own = dict(OWN, **{"whole run.folded": {TYPED, IN_PATH}})
        self.assertEqual({}, self.held_beyond(self.out, own))
        self.does("record", self.out, self.top / "capture")
        self.assertEqual({}, self.held_by(self.top / "capture"))
        self.assertEqual("process 7;main (run.py);step (x.so) 12\nrun.py;leaf 3\n",
                         (self.top / "capture/stacks/whole run.folded").read_text())

    def held_beyond(self, folder: Path, allowed: Dict[str, set]) -> Dict[str, set]:
        """File below a folder -> what it holds and may not; by the names of files."""
        found = {name: held - allowed.get(Path(name).name, set())
                 for name, held in self.held_by(folder).items()}
        return {name: held for name, held in found.items() if held}

    def test_ranks_sweeps_and_baselines(self):
        """What other commands leave; a file of one's own may hold what was typed."""
        typed = {TYPED, IN_PATH}
        own = dict.fromkeys(("manifest.json", "config.yaml", "cmd.txt", "results.json",
                             "sweep.md"), typed)
        root, secret = self.top / "runs", self.secrets
        given = [f"dataset.subset_filelist=/home/{secret[IN_PATH]}/{secret[TYPED]}",
                 "counters=off", "operators=off"]
        fixtures = ROOT / "tests/fixtures/nccl2"
        env = self.env(STANDIN_SQLITE=f"{fixtures}/rank0.sqlite:{fixtures}/rank1.sqlite")
        recipe = "tests/standin/recipe.lua"
        self.does(recipe, "launch.ranks=2", *given, f"run.root={root}", "run.id=ranks", "-q",
                  env=env)
        self.does("sweep", recipe, "infer.max_new_tokens=5,6", *given, f"run.root={root}")
        self.does("baseline", "save", "--root", root, "ranks", "b")
        self.assertEqual({}, self.held_beyond(root, own))
        for number in range(2):
            raw = self.top / f"rank{number}.sqlite"
            raw.write_bytes((fixtures / raw.name).read_bytes())
            subprocess.run([sys.executable, __file__, "--poison", str(raw)], env=env, check=True)
        self.does("ranks", "-o", self.top / "merged", *sorted(self.top.glob("rank*.sqlite")))
        self.assertEqual({}, self.held_beyond(self.top / "merged", {}))
        said = [self.llmprof(*words).out for words in (
            ("ranks", *sorted(self.top.glob("rank*.sqlite"))), ("ls", "--root", root),
            ("digest", "--root", root, "ranks"), ("ls", "--root", root, "ranks"),
            ("ask", "--root", root, "results", "ranks"), ("-e", "print(results)", root / "ranks"))]
        for name, value in secret.items():
            self.assertNotIn(value.encode(), b"".join(said), name)

    def test_the_reports_are_for_oneself(self):
        self.does(*self.words("operators=off")[1:])
        for name in ("nsys/run.nsys-rep", "ncu/run.ncu-rep"):
            self.assertEqual(0o600, (self.out / name).stat().st_mode & 0o777, name)
        self.does("record", self.out, self.top / "capture")
        self.assertEqual([], list((self.top / "capture").rglob("*-rep")))

    def kill(self, number: int, delay: float) -> None:
        """End a run with a signal while its export is being made, or after `delay` s."""
        child = subprocess.Popen(self.words("counters=off", "operators=off", "-q"), cwd=ROOT,
                                 env=self.env(STANDIN_SLOW="1"), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while child.poll() is None and not list(self.out.glob("nsys/.llmprof-*/run.sqlite")):
            time.sleep(0.005)
        time.sleep(delay)
        child.send_signal(number)
        child.wait()

    def test_the_unscrubbed_export_does_not_survive(self):
        for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
            for delay in (0, 0.3):
                with self.subTest(f"{number.name} after {delay} s"):
                    self.kill(number, delay)
                    if number == signal.SIGKILL:
                        left = list(self.out.glob("nsys/.llmprof-*"))
                        for path in left:
                            self.assertEqual(0o700, path.stat().st_mode & 0o777)
                        self.llmprof("--version")
                    self.assertEqual([], list(self.out.glob("nsys/.llmprof-*")))
                    self.assertEqual({}, {name: held for name, held
                                          in self.held_by(self.out).items()
                                          if held & set(NAMES)})
                    self.does("tests/standin/recipe.lua", "--resume", self.out,
                              "counters=off", "operators=off", "-q")
                    self.assertEqual([], list(self.out.rglob(".llmprof-*")))
                    subprocess.run(["rm", "-r", str(self.out)], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--nsys"]:
        stand_in_nsys()
    elif sys.argv[1:2] == ["--poison"]:
        poison(sys.argv[2])
    else:
        support.main()
