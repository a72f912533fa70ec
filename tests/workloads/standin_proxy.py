#!/usr/bin/env python3
"""A stand-in for the proxy before two servers: a request goes to the first for one token,
then to the second, whose answer is handed on.

    standin_proxy.py PORT PREFILL_PORT DECODE_PORT
"""

import http.client
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, PREFILL, DECODE = map(int, sys.argv[1:4])


def ask(port, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    return connection.getresponse()


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send_response(200 if self.path == "/healthcheck" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            ask(PREFILL, self.path, {**body, "max_tokens": 1}).read()
            answer = ask(DECODE, self.path, body)
        except OSError:
            self.send_response(500)
            self.end_headers()
            return
        self.send_response(answer.status)
        self.end_headers()
        for line in answer:
            self.wfile.write(line)
            self.wfile.flush()


ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
