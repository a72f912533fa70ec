#!/usr/bin/env python3
"""A serving engine under a load, to be profiled.

    serve.py [OPTION...] -- SERVER [ARGUMENT...]

Starts the server, waits until it is ready, warms up, opens the profiling window,
sends requests to its OpenAI-compatible completions endpoint, closes the window and
ends the server with all its processes. Requests come in rounds (those of one are
sent at once, and the next begins when all are answered), with --rate each at a time
of its own, or from --command, another load generator. With --attach the server is
there already. Times as a client sees them go to $LLMPROF_WORKLOAD_DIR/metrics.json,
the server's output to server.log there. Exit status: 1 failed, 2 usage, 3 the
server's program is missing.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import workload_common as common
import workload_foreign as foreign
import workload_serving as serving
from workload_client import Load, complaint_of, model_name, send_at, send_round
from workload_collector import Windowed
from workload_common import MISSING, USAGE, WorkloadError, first_line
from workload_load import ARRIVALS, FIRST_TOKEN, Lengths, Prompts, RequestFile
from workload_scrape import Scraper, parse_names
from workload_server import Attached, Endpoint, Server, end_on_signals, wait_for

# Seconds from SIGTERM to SIGKILL where nothing is to be kept any more.
HURRY = 3

# Seconds in which a server that closes its connections has died, if it does.
DEATH = 2

# What a program of --await answers 200 to.
AWAITED = "/health"

# Commands around the window, as JSON lists of words.
WINDOW = OPEN, CLOSE = "LLMPROF_WINDOW_OPEN", "LLMPROF_WINDOW_CLOSE"

# Of a load at a rate, the first requests come again for counters: those of so many seconds.
COUNTED_S = 20

# How many further windows there are for counters.
COUNTERS = "LLMPROF_COUNTERS"

# A module for servers that leave out their CUDA graphs when they are asked to.
INSIDE = "workload_vllm.py"

Record = Dict[str, Any]


# ---- options ----

def typed(convert: Any) -> Any:
    """An option's type whose ValueError is the user's to read."""

    def of(text: str) -> Any:
        try:
            return convert(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return of


def positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"'{text}': a number >= 0 is expected")
    return value


def word_list(text: str) -> List[str]:
    """A list of words, as JSON."""
    try:
        words = json.loads(text)
    except ValueError:
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise argparse.ArgumentTypeError(f"'{text}': a JSON list of words is expected")
    return words


def add_server_options(parser: common.Parser) -> None:
    group = parser.add_argument_group("server")
    group.add_argument("--url", type=typed(Endpoint), default="http://127.0.0.1:8000",
                       help="where it listens")
    group.add_argument("--attach", action="store_true",
                       help="it is there already, and is left running")
    group.add_argument("--also", type=word_list, action="append", default=[], metavar="JSON",
                       help="a program that is started before it, and ended with it")
    group.add_argument("--peer", type=typed(Endpoint), action="append", default=[],
                       metavar="URL", help="a server behind it, which has the window, the page "
                       "and the model; the programs of --also are these, in their order")
    group.add_argument("--peer-health", default="/health", metavar="PATH")
    group.add_argument("--await", type=typed(Endpoint), action="append", default=[],
                       dest="awaited", metavar="URL", help="a program whose /health answers 200 "
                       "before requests are sent")
    group.add_argument("--health", default="/health", help="answers 200 once it is ready")
    group.add_argument("--ready-timeout", type=common.whole(1), default=900, metavar="S")
    group.add_argument("--stop-timeout", type=common.whole(0), default=60, metavar="S",
                       help="from SIGTERM to SIGKILL")
    group.add_argument("--answer-timeout", type=common.whole(1), default=300, metavar="S",
                       help="without a word from the server")
    group.add_argument("--metrics-path", default="",
                       help="its Prometheus page, looked at before, in and after the window")
    group.add_argument("--metric", action="append", default=[], metavar="FIGURE=NAME",
                       help="what a figure is called there")
    group = parser.add_argument_group("profiling window")
    group.add_argument("--start-path", default="", help="a POST that opens it")
    group.add_argument("--start-body", default="", metavar="JSON")
    group.add_argument("--stop-path", default="", help="a POST that closes it")
    group.add_argument("--spools", default="", metavar="FOLDER",
                       help="of a server with llmprof's collector inside: its window is opened "
                            "through the socket there, if it calls on it")
    group.add_argument("--window-timeout", type=common.whole(1), default=300, metavar="S",
                       help="of each command that opens or closes somebody's capture")
    group.add_argument("--counter-rounds", type=common.whole(0), default=1,
                       help="how often the load comes again in each further window, whose "
                            f"times are nowhere, where {COUNTERS} asks for some: a round, the "
                            f"first {COUNTED_S} s of requests at a rate, or the command")
    group.add_argument("--eager-path", default="", help="a POST before these windows, from which "
                       f"on it leaves out its CUDA graphs; it may import {INSIDE}")
    group.add_argument("--eager-body", default="", metavar="JSON")


def add_load_options(parser: common.Parser) -> None:
    group = parser.add_argument_group("load")
    group.add_argument("--rounds", type=common.whole(1), default=3)
    group.add_argument("--warmup", type=common.whole(0), default=2,
                       help="rounds before that, outside the window")
    group.add_argument("--concurrency", type=common.whole(1), default=1,
                       help="requests of a round")
    group.add_argument("--rate", type=positive, default=0,
                       help="requests per second in place of rounds")
    group.add_argument("--arrivals", choices=sorted(ARRIVALS), default="poisson")
    group.add_argument("--requests", type=common.whole(1), default=64,
                       help="how many, at a rate")
    group.add_argument("--prompt-tokens", type=typed(Lengths), default="512",
                       help="N or a distribution: uniform:N-M, normal:MEAN,DEVIATION, "
                            "lognormal:MEDIAN,SIGMA, exponential:MEAN")
    group.add_argument("--new-tokens", type=typed(Lengths), default="64", help="the same")
    group.add_argument("--prefix-tokens", type=common.whole(0), default=0,
                       help="at the beginning of prompts, shared by several")
    group.add_argument("--prefixes", type=common.whole(1), default=1,
                       help="how many different ones")
    group.add_argument("--file", type=common.file, default=None,
                       help="requests: JSON a line, or in ShareGPT's form")
    group.add_argument("--vocabulary", type=common.whole(FIRST_TOKEN + 1), default=32000,
                       help="prompts are drawn from the token ids below it")
    group.add_argument("--slo-ttft", type=positive, default=0, metavar="MS",
                       help="requests within it are good ones")
    group.add_argument("--slo-tpot", type=positive, default=0, metavar="MS")
    group.add_argument("--command", type=word_list, default=None, metavar="JSON",
                       help="another generator, with {url}, {host}, {port}, {model}, {result}")
    group.add_argument("--timeout", type=common.whole(1), default=3600, metavar="S",
                       help="end it after so long")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    words = list(argv)
    split = words.index("--") if "--" in words else len(words)
    parser = common.Parser(description=__doc__.split("\n\n")[0])
    add_server_options(parser)
    add_load_options(parser)
    args = parser.parse_args(words[:split])
    args.server = words[split + 1:]
    if not args.server and not args.attach:
        raise WorkloadError("no server: serve.py [OPTION...] -- SERVER [ARGUMENT...]", USAGE)
    if args.also and len(args.peer) > len(args.also):
        raise WorkloadError("argument --peer: more of them than programs of --also", USAGE)
    try:
        args.names = parse_names(args.metric)
    except ValueError as error:
        raise WorkloadError(f"argument --metric: {error}", USAGE) from error
    if common.operators_wanted():
        raise WorkloadError("a server has no operators pass; operators=off leaves it out", MISSING)
    return args


# ---- the window ----

class Capture:
    """The one who captures a server that is not ours: the commands in the environment that open
    and close its window. Without them it does nothing."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.commands = {name: word_list(os.environ[name]) for name in WINDOW
                         if name in os.environ}

    def __bool__(self) -> bool:
        return bool(self.commands)

    def run(self, name: str) -> Optional[str]:
        """What it prints is shown; what went wrong, or None."""
        argv = self.commands.get(name)
        if not argv:
            return None
        try:
            status, said = self.carry_out(argv)
        except OSError as error:
            return f"'{argv[0]}' cannot be started: {error.strerror}"
        print(said, end="" if said.endswith("\n") or not said else "\n", flush=True)
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        return None if status == 0 else (
            f"{os.path.basename(argv[0])} {' '.join(argv[1:2])} "
            + (f"did not end within {self.patience:g} s and was ended" if status is None
               else f"ended with exit status {status}") + (f": {lines[0]}" if lines else ""))

    def carry_out(self, argv: Sequence[str]) -> Tuple[Optional[int], str]:
        """Its exit status, None when it took too long, and what it printed. What it leaves
        running may hold its output open, and is not waited for."""
        with tempfile.TemporaryFile() as output:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output,
                                     stderr=subprocess.STDOUT, start_new_session=True)
            status: Optional[int] = None
            try:
                status = child.wait(self.patience)
            except subprocess.TimeoutExpired:
                pass
            finally:
                if child.returncode is None:
                    foreign.end_group(child)
            output.seek(0)
            return status, output.read().decode("utf-8", "replace")


class InsideCapture:
    """The collector inside of a server that is not ours: its window is opened through its
    socket. Where no process calls on that, the window is the engine's own to open."""

    def __init__(self, folder: str, has_window: bool) -> None:
        self.processes, self.has_window = Windowed(folder), has_window
        self.is_open = False

    def __bool__(self) -> bool:
        return self.is_open

    def run(self, name: str) -> Optional[str]:
        try:
            return self.open() if name == OPEN else self.close()
        except WorkloadError as error:
            self.processes.close()
            return str(error)

    def open(self) -> Optional[str]:
        count = self.processes.call_in()
        if count == 0:
            self.processes.close()
            return None if self.has_window else (
                f"no process calls on {self.processes.path}, and this engine opens no window by "
                "itself: unit.by = socket in the plan, LLMPROF_COLLECTOR_SOCKET names the path")
        self.processes.begin()
        self.is_open = True
        print(f"{count} process{'' if count == 1 else 'es'} of the server began to record",
              flush=True)
        return None

    def close(self) -> Optional[str]:
        if self.is_open:
            self.processes.end()
            self.processes.close()
        return None


def capture_of(args: argparse.Namespace) -> Union[Capture, InsideCapture]:
    if args.spools:
        return InsideCapture(args.spools, bool(args.start_path))
    return Capture(args.window_timeout)


class Window:
    """The profiling window, where the engine has an endpoint for it or somebody captures it,
    and its numbers."""

    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.capture = capture_of(args)
        self.urls = args.peer or [args.url]
        self.scraper = Scraper(self.urls[-1], args.metrics_path, args.names)
        self.complaints: List[str] = []
        self.failure: Optional[str] = None

    def switch(self, path: str, body: str) -> None:
        for url in self.urls if path else []:
            self.switch_one(url, path, body)

    def switch_one(self, url: Endpoint, path: str, body: str) -> None:
        status, said = url.ask("POST", path, body.encode() or None, self.args.answer_timeout)
        if status == 200:
            return
        wrong = f"the server answers {status} to {path}: {complaint_of(said)}"
        if not self.capture:
            raise WorkloadError(f"{wrong}; nsys.capture_range=none captures the whole process "
                                "instead")
        self.complaints.append(f"{wrong}; its steps may not be marked")

    def open(self) -> None:
        wrong = self.capture.run(OPEN)
        if wrong:
            raise WorkloadError(wrong)
        if self.capture:
            print("the window is open", flush=True)

    def close(self) -> None:
        wrong = self.capture.run(CLOSE)
        if wrong:
            self.failure = self.failure or wrong
            print(f"serve.py: {wrong}", file=sys.stderr)

    def again(self) -> int:
        """How often it is to be opened once more, for counters."""
        known = self.args.counter_rounds and self.args.start_path
        return int(os.environ.get(COUNTERS) or 0) if known else 0

    def __enter__(self) -> Window:
        self.open()
        try:
            self.switch(self.args.start_path, self.args.start_body)
        except BaseException:
            self.close()
            raise
        self.scraper.__enter__()
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            self.scraper.__exit__()
            if kind is None:
                self.stop()
        finally:
            self.close()

    def stop(self) -> None:
        """A server that has died cannot be told: what was answered until then stays."""
        try:
            self.switch(self.args.stop_path, "")
        except WorkloadError as error:
            self.failure = str(error)
        except (OSError, http.client.HTTPException) as error:
            self.failure = (f"the server did not answer to {self.args.stop_path}: "
                            f"{first_line(error)}")


# ---- the load ----

Source = Union[Prompts, RequestFile]


def source_of(args: argparse.Namespace) -> Source:
    prompts = Prompts(args.prompt_tokens, args.new_tokens, args.vocabulary, args.prefix_tokens,
                      args.prefixes)
    return RequestFile(args.file, prompts) if args.file else prompts


def due_of(args: argparse.Namespace) -> List[float]:
    """Seconds from the first request at a rate to each."""
    return ARRIVALS[args.arrivals](args.rate, args.requests)


class Sender:
    """Sends the load, and says what became of it: repeats of metrics.json, `load` of it,
    and complaints; a failure comes last, when all of that is known."""

    def __init__(self, args: argparse.Namespace, server: Together, source: Source, model: str,
                 folder: Optional[Path]):
        self.args, self.server, self.folder = args, server, folder
        self.source = source
        self.load = Load(model, self.source.request, args.answer_timeout)
        self.repeats: List[Record] = []
        self.record: Optional[Record] = None
        self.complaints: List[str] = []
        self.failure: Optional[str] = None
        self.window = Window(args)

    def warm_up(self) -> int:
        """How many requests that were."""
        for i in range(self.args.warmup):
            send_round(self.args.url, self.load, i * self.args.concurrency,
                       self.args.concurrency)
        return self.args.warmup * self.args.concurrency

    def send(self) -> None:
        number = self.warm_up()
        if self.args.command:
            self.run_command()
        elif self.args.rate:
            self.at_rate(number)
        else:
            self.in_rounds(number)
        if not self.failure and not self.window.failure:
            self.for_counters(number)

    def for_counters(self, first: int) -> None:
        """The same load once more in each window, as far as it is needed: steps of other shapes
        run other kernels. It is slowed down by what is measured in it and of no other use, so
        that the run is none the worse without it."""
        windows = self.window.again()
        if windows and self.args.eager_path:
            self.leave_graphs_out()
        for i in range(windows):
            wrong = self.in_window(first, i * self.args.counter_rounds)
            if wrong:
                self.complaints.append(f"the load for counters broke off: {wrong}")
                return

    def leave_graphs_out(self) -> None:
        path, body = self.args.eager_path, self.args.eager_body
        try:
            for url in self.window.urls:
                status, said = url.ask("POST", path, body.encode(), self.args.answer_timeout)
                if status != 200:
                    self.complaints.append("CUDA graphs were not left out: the server answers "
                                           f"{status} to {path}: {complaint_of(said)}")
        except (OSError, http.client.HTTPException) as error:
            self.complaints.append(f"CUDA graphs were not left out: {first_line(error)}")

    def in_window(self, first: int, sent: int) -> Optional[str]:
        """One such window, after `sent` rounds in others; returns what went wrong."""
        wrong: Optional[str] = None
        try:
            self.window.switch(self.args.start_path, self.args.start_body)
            try:
                for i in range(self.args.counter_rounds):
                    wrong = wrong or self.count(first, sent + i)
            finally:
                self.window.switch(self.args.stop_path, "")
        except (WorkloadError, OSError, http.client.HTTPException) as error:
            wrong = wrong or first_line(error)
        return wrong

    def count(self, first: int, i: int) -> Optional[str]:
        """A round of it; what went wrong. Steps are decided by requests that come while others
        are answered, and by how long they are: the load's first ones come again, at its rate."""
        args = self.args
        if args.command:
            with tempfile.TemporaryDirectory() as name:
                return self.generate(Path(name) / "load.log", Path(name) / "result.json")
        sent = args.requests if args.rate else args.rounds * args.concurrency
        load = dataclasses.replace(
            self.load, request=lambda j: self.source.again(j, (i + 1) * sent))
        if not args.rate:
            send_round(args.url, load, first + i % args.rounds * args.concurrency,
                       args.concurrency)
            return None
        due = [at for at in due_of(args) if at < COUNTED_S]
        outcomes = send_at(args.url, load, [load.request(first + j) for j in range(len(due))],
                           due, self.server.is_alive)
        return next((outcome.error for outcome in outcomes if outcome.error), None)

    def in_rounds(self, number: int) -> None:
        with self.window:
            for i in range(self.args.rounds):
                answers = send_round(self.args.url, self.load, number, self.args.concurrency)
                number += self.args.concurrency
                self.repeats.append(serving.round_record(i + 1, answers))
                print(serving.show_round(i + 1, answers), flush=True)

    def at_rate(self, first: int) -> None:
        count, args = self.args.requests, self.args
        requests = [self.load.request(first + i) for i in range(count)]
        with self.window:
            outcomes = send_at(args.url, self.load, requests, due_of(args), self.server.is_alive)
        self.record = serving.rate_record(outcomes, {
            "kind": "rate", "arrivals": args.arrivals, "rate_per_s": args.rate,
            "requests": count})
        answers = [outcome.answer for outcome in outcomes if outcome.answer]
        self.keep([serving.request_record(answer) for answer in answers])
        self.failure = self.server.ended(DEATH if self.record["failed"] else 0)
        if not answers and not self.failure:
            self.failure = (f"all {len(outcomes)} requests failed: "
                            f"{self.record['errors'][0]['text']}")
        else:
            self.complaints += serving.complaints_of(self.record)

    def generate(self, log: Path, result: Path) -> Optional[str]:
        """Another generator, to its end; what is wrong."""
        url = self.args.url
        return foreign.generate(foreign.filled(self.args.command, {
            "url": f"http://{url.host}:{url.port}", "host": url.host, "port": str(url.port),
            "model": self.load.model, "result": str(result)}), log, self.args.timeout)

    def run_command(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            result = Path(name) / "result.json"
            log = (self.folder or Path(name)) / "load.log"
            with self.window:
                begin = time.perf_counter()
                wrong = self.generate(log, result)
                duration = time.perf_counter() - begin
            requests, failed, unread, seconds = foreign.read_result(result)
        self.record = {"kind": "command", "command": self.args.command, "errors": [],
                       "duration_s": seconds or duration}
        if unread:
            self.record["unread"] = unread
        if requests or failed:
            self.record.update(requests=len(requests) + failed, completed=len(requests),
                               failed=failed)
        self.complaints += [] if wrong else [unread] if unread else []
        self.keep(requests)
        self.failure = self.server.ended(0) or wrong

    def keep(self, requests: List[Record]) -> None:
        """All requests of the window."""
        assert self.record
        duration = self.record.get("duration_s")
        self.repeats.append(serving.repeat_of(requests, duration))
        if "requests" not in self.record:
            return
        self.record["slo"] = serving.slo_record(requests, self.args.slo_ttft, self.args.slo_tpot)
        completed = self.record["completed"]
        print(f"load: {completed} of {self.record['requests']} requests"
              + (f" in {duration:.1f} s" if duration is not None else "")
              + (f", {self.record['slo']['met']} within the limits" if self.record["slo"] else ""),
              flush=True)


class Together:
    """Servers that are alive together, or have ended."""

    def __init__(self, servers: Sequence[Union[Server, Attached]]):
        self.servers = servers

    def is_alive(self) -> bool:
        return all(one.is_alive() for one in self.servers)

    def ended(self, patience: float) -> Optional[str]:
        """How the first that has done so has; what it said last is shown."""
        for one in self.servers:
            how = one.ended(patience)
            if how:
                one.show_last_lines()
                return how
            patience = 0
        return None

    def check_alive(self, patience: float) -> None:
        for one in self.servers:
            one.check_alive(patience)
            patience = 0


def await_programs(args: argparse.Namespace, programs: Sequence[Server]) -> None:
    """Until those of --await are ready, while ours live."""
    def check() -> None:
        for one in programs:
            one.check_alive()

    for url in args.awaited:
        last = wait_for(url, AWAITED, args.ready_timeout, check)
        if last:
            raise WorkloadError(f"{url.host}:{url.port} was not ready after "
                                f"{args.ready_timeout:g} s ({last})")


def profile(args: argparse.Namespace, server: Union[Server, Attached],
            peers: Sequence[Union[Server, Attached]], others: Sequence[Server],
            folder: Optional[Path]) -> Tuple[Record, Optional[str]]:
    """metrics.json, and what failed although there is one."""
    source = source_of(args)
    for peer in peers:
        peer.wait_until_ready(args.peer_health, args.ready_timeout)
    server.start(is_first=bool(peers) or not args.also)
    server.wait_until_ready(args.health, args.ready_timeout)
    together = Together([server, *peers])
    await_programs(args, [*others, *([server] if isinstance(server, Server) else [])])
    try:
        model = model_name(args.peer[-1] if args.peer else args.url,
                           args.ready_timeout if args.also else 0)
        sender = Sender(args, together, source, model, folder)
        sender.send()
    except WorkloadError:
        if peers:  # what a proxy answers then says little
            together.check_alive(DEATH)
        raise
    except (OSError, http.client.HTTPException) as error:
        together.check_alive(DEATH)
        raise WorkloadError(f"the server broke off: {first_line(error)}") from error
    for line in [*sender.complaints, *sender.window.complaints]:
        print(f"serve.py: {line}", file=sys.stderr)
    return metrics_of(args, sender), sender.failure or sender.window.failure


# ---- metrics.json ----

def weights_of(*servers: Sequence[str]) -> str:
    """vLLM and SGLang make weights up with --load-format dummy; servers: of one run."""
    words = " ".join(word for server in servers for word in server)
    words = words.replace("--load-format=", "--load-format ")
    return "random" if "--load-format dummy" in words else "checkpoint"


def without_folders(name: str) -> str:
    """Of a path, which engines name their model by, its last part; other names as they are."""
    return os.path.basename(name.rstrip("/")) if name.startswith(("/", ".")) else name


def facts_of(args: argparse.Namespace) -> Record:
    """What is the same for all requests."""
    facts: Record = {}
    if not args.rate and not args.command:
        facts["batch"] = args.concurrency
    if not args.file and not args.command:
        for name, lengths in (("prompt_tokens", args.prompt_tokens),
                              ("new_tokens", args.new_tokens)):
            if lengths.text.isdigit():
                facts[name] = int(lengths.text)
    return facts


def metrics_of(args: argparse.Namespace, sender: Sender) -> Record:
    model = {"name": without_folders(sender.load.model)}
    if args.server:
        model["weights"] = weights_of(args.server, *args.also)
    metrics = {
        "schema_version": common.SCHEMA_VERSION,
        "workload": "serve",
        "model": model,
        "options": {"warmup": args.warmup, **(
            {"server": without_folders(args.server[0])} if args.server else {})},
        **facts_of(args),
        "repeats": sender.repeats,
    }
    seen = sender.window.scraper.record()
    if sender.record:
        metrics["load"] = sender.record
    if seen:
        metrics["engine_metrics"] = seen
    return metrics


def servers_of(args: argparse.Namespace, folder: Optional[Path]
               ) -> Tuple[Union[Server, Attached], List[Server], List[Union[Server, Attached]]]:
    """The one that is asked, the programs started before it, and which servers are behind."""
    if args.attach:
        return Attached(args.url), [], [Attached(peer) for peer in args.peer]
    server = Server(args.server, args.url, folder / "server.log" if folder else None)
    others = [Server(words, args.peer[i] if i < len(args.peer) else args.url,
                     folder / f"server{i + 1}.log" if folder else None)
              for i, words in enumerate(args.also)]
    return server, others, list(others[:len(args.peer)])


@contextlib.contextmanager
def importable(name: str) -> Iterator[None]:
    """For servers, a module that lies next to this one, without the others."""
    with tempfile.TemporaryDirectory() as folder:
        if name:
            shutil.copy(Path(__file__).with_name(name), folder)
            known = os.environ.get("PYTHONPATH")
            os.environ["PYTHONPATH"] = folder + (os.pathsep + known if known else "")
        yield


def main(argv: Sequence[str]) -> None:
    args = parse(argv)
    with importable(INSIDE if args.eager_path else ""):
        run(args)


def run(args: argparse.Namespace) -> None:
    folder = common.output_folder()
    end_on_signals()
    server, others, peers = servers_of(args, folder)
    patience = HURRY
    try:
        for i, other in enumerate(others):
            other.start(is_first=i == 0 or i < len(args.peer))
        metrics, failure = profile(args, server, peers, others, folder)
        patience = args.stop_timeout
    finally:
        for one in [server, *others]:
            one.end(patience)
    if folder:
        common.write_json(folder / "metrics.json", metrics)
    if failure:
        raise WorkloadError(failure)


if __name__ == "__main__":
    sys.exit(common.run(main))
