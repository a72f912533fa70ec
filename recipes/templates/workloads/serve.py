#!/usr/bin/env python3
"""@NAME@: starts a server, waits until it answers, sends it a fixed load, stops it.

The words after -- are the server's command, PORT in them the port it is to
listen on. Without, this program answers itself. Exit status: 1 failed, 2 usage,
3 the server cannot be started.
"""

import argparse
import http.server
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

STAND_IN = [sys.executable, os.path.realpath(__file__), "--stand-in", "PORT"]


class Failure(Exception):
    """A message for people, and the exit status."""

    def __init__(self, message, status=1):
        super().__init__(message)
        self.status = status


class StandIn(http.server.BaseHTTPRequestHandler):
    """Answers as an engine does, one word an event."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()
        for index in range(asked["max_tokens"]):
            event = {"choices": [{"text": f" word{index}"}]}
            self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass


# ---- the server ----

def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(command, port):
    argv = [word.replace("PORT", str(port)) for word in command]
    try:
        return subprocess.Popen(argv)
    except OSError as error:
        raise Failure(f"{argv[0]}: {error.strerror}", 3) from error


def answers(address):
    for path in ("/health", "/v1/models"):
        try:
            with urllib.request.urlopen(address + path, timeout=5):
                return True
        except OSError:
            pass
    return False


def wait_until_ready(server, address, patience):
    deadline = time.monotonic() + patience
    while not answers(address):
        if server.poll() is not None:
            raise Failure(f"the server ended with {server.returncode} before it was ready")
        if time.monotonic() > deadline:
            raise Failure(f"the server did not answer within {patience} s")
        time.sleep(0.2)


def stop(server):
    server.terminate()
    try:
        server.wait(30)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


# ---- the load ----

def ask(address, args):
    """One request: ms until the first token and from it to the last, tokens."""
    body = {"model": args.model, "prompt": "word " * args.prompt_words, "stream": True,
            "max_tokens": args.max_new_tokens, "temperature": 0, "ignore_eos": True}
    request = urllib.request.Request(address + "/v1/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    start_s, first, last, tokens = time.perf_counter(), None, None, 0
    try:
        with urllib.request.urlopen(request, timeout=600) as answer:
            for line in answer:
                if line.startswith(b"data: {"):
                    last = time.perf_counter()
                    first, tokens = first or last, tokens + 1
    except OSError as error:
        raise Failure(f"a request failed: {error}") from error
    if first is None:
        raise Failure("the server sent no token")
    return {"prefill": {"ms": (first - start_s) * 1e3},
            "decode": {"ms": (last - first) * 1e3, "tokens": tokens - 1, "steps": tokens - 1}}


def write_metrics(metrics):
    folder = os.environ.get("LLMPROF_WORKLOAD_DIR")
    if not folder:
        return
    path = os.path.join(folder, "metrics.json")
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(metrics, file, indent=2)
    os.replace(path + ".part", path)


def drive(args):
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    server = start(args.command or STAND_IN, port)
    try:
        wait_until_ready(server, address, args.ready_s)
        ask(address, args)  # warm-up
        repeats = [{"index": i + 1, "stages": ask(address, args)} for i in range(args.requests)]
    finally:
        stop(server)
    write_metrics({"schema_version": 1, "workload": "@NAME@", "model": {"name": args.model},
                   "batch": 1, "new_tokens": args.max_new_tokens, "repeats": repeats})


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--requests", type=int, default=8)
    parser.add_argument("--prompt-words", type=int, default=128)
    parser.add_argument("--max-new-tokens", type=int, default=32)
    parser.add_argument("--ready-s", type=int, default=600)
    parser.add_argument("--model", default="@NAME@")
    parser.add_argument("--stand-in", type=int, help=argparse.SUPPRESS)
    parser.add_argument("command", nargs="*", help="the server, after --")
    return parser.parse_args()


def main():
    args = parse()
    if args.stand_in:
        http.server.ThreadingHTTPServer(("127.0.0.1", args.stand_in), StandIn).serve_forever()
    elif os.environ.get("LLMPROF_OPERATORS") != "1":  # an engine has no operators.json
        drive(args)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.stderr.write(f"@NAME@: {failure}\n")
        sys.exit(failure.status)
