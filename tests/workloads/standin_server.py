#!/usr/bin/env python3
"""A stand-in for a serving engine: streams tokens, and does what it is told wrong.

    standin_server.py PORT [FAULT]

FAULT: die (after a line), deaf (never ready), refuse (400 to completions), break (the
stream ends early), error (the stream says one), late (dies in the first completion),
stubborn (ignores SIGTERM, and so does a child of its own), some (every third completion
is refused), midway (dies in the fourth), empty (has no model at first), huge and
endless (its metrics), ill (500 to /stop_profile). Each profiling call is a line on stdout.
"""

import importlib.util
import itertools
import json
import os
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, FAULT = int(sys.argv[1]), (sys.argv[2:] or [""])[0]


COUNT = itertools.count(1)


def say(*words):
    """A line at once: requests are answered side by side."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/health":
            self.answer(503 if FAULT == "deaf" else 200, {})
        elif self.path == "/v1/models":
            late = FAULT == "empty" and next(COUNT) < 3
            self.answer(200, {"data": [] if late else [{"id": "stand-in"}]})
        elif self.path == "/metrics":
            self.metrics()
        else:
            self.answer(404, {})

    def metrics(self):
        self.send_response(200)
        self.end_headers()
        line = b'# HELP\nvllm:num_requests_running{model_name="a b"} 2.0\nvllm:other NaN\n'
        if FAULT in ("huge", "endless"):
            try:
                for _ in range(50 if FAULT == "huge" else 600):
                    self.wfile.write(b"# " + (1 << 20) * b"x" + b"\n" if FAULT == "huge" else b"#")
                    self.wfile.flush()
                    time.sleep(0 if FAULT == "huge" else 0.1)
            except OSError:
                return
        self.wfile.write(line + b"vllm:kv_cache_usage_perc 0.25\nvllm:num_preemptions_total %d\n"
                         % next(COUNT))

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/v1/completions":
            say(self.path, body.decode())
            if FAULT == "ill" and self.path == "/stop_profile":
                self.answer(500, {"error": {"message": "EngineCore encountered an issue"}})
                return
            eager = self.path == "/collective_rpc" and importlib.util.find_spec("workload_vllm")
            self.answer(200 if eager or self.path.endswith("_profile") else 404, {})
        elif FAULT == "refuse":
            self.answer(400, {"error": {"message": "the prompt is\ntoo long"}})
        elif FAULT == "some" and next(COUNT) % 3 == 0:
            self.answer(503, {"error": {"message": "too busy"}})
        elif FAULT == "late" or FAULT == "midway" and next(COUNT) == 4:
            say("CUDA error: out of memory")
            os._exit(9)
        else:
            self.stream(json.loads(body))

    def event(self, value):
        value = {"object": "text_completion", "model": "stand-in", **value}
        self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")
        self.wfile.flush()

    def stream(self, asked):
        prompt = asked["prompt"].split() if isinstance(asked["prompt"], str) else asked["prompt"]
        say("completion of", len(prompt), "tokens,", hash(tuple(prompt)))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for i in range(asked["max_tokens"]):
            if FAULT == "break" and i == 2:
                return
            if FAULT == "error" and i == 2:
                self.event({"error": {"message": "out of\nblocks", "code": 500}})
                return
            self.event({"choices": [{"text": f" {i}", "finish_reason": None}]})
        self.event({"choices": [{"text": "", "finish_reason": "length"}]})
        self.event({"choices": [], "usage": {"prompt_tokens": len(prompt),
                                             "completion_tokens": asked["max_tokens"]}})
        self.wfile.write(b"data: [DONE]\n\n")


def main():
    if FAULT == "die":
        print("no such model")
        sys.exit(4)
    if FAULT == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
    ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()


if __name__ == "__main__":
    main()
