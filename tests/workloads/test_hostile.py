"""The load's client and servers that mean it ill: an error in a line, or numbers, in the
end. That nothing goes on for ever is seen by the time limit of the test."""

import contextlib
import http.client
import itertools
import json
import os
import unittest

import support  # finds the programs
import hostile
import launch
import workload_client as client
import workload_foreign as foreign
import workload_load as load
import workload_scrape as scrape
import workload_server as server
from hostile import DONE, HEAD, TOKEN, chunk, event
from workload_common import WorkloadError

CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
PATIENCE = 0.4  # s, of a client whose server never ends; others have time

# Answers by chance; a campaign takes more.
ANSWERS = int(os.environ.get("HOSTILE_ANSWERS", "150"))

# What the programs turn into a line.
ENDS = (WorkloadError, OSError, http.client.HTTPException)


def of(pieces):
    return lambda: iter(pieces)


def without_end(piece):
    return lambda: itertools.repeat(piece)


class Attacked(support.Case):
    def serve(self, pieces):
        made = hostile.Server(pieces)
        self.addCleanup(made.end)
        return made, server.Endpoint(f"http://127.0.0.1:{made.port}")

    def complete(self, endpoint, new_tokens=2, patience=30):
        request = load.Request([1, 2, 3], new_tokens)
        return client.complete(endpoint, client.Load("m", lambda _: request, patience), request)

    def dripping(self, pieces, pause=0.05):
        """Each piece comes in time, and the answer never ends."""
        made = hostile.Server(lambda: made.drip(pieces(), pause))
        self.addCleanup(made.end)
        return server.Endpoint(f"http://127.0.0.1:{made.port}")


class Streams(Attacked):
    def refuses(self, pieces, said):
        _, endpoint = self.serve(pieces)
        with self.assertRaisesRegex(ENDS, said):
            self.complete(endpoint)

    def test_the_good_one(self):
        _, endpoint = self.serve(of([hostile.GOOD]))
        made = self.complete(endpoint)
        self.assertEqual((made.tokens, len(made.arrivals)), (2, 2))

    def test_without_end(self):
        head = HEAD + b"\r\n"
        self.refuses(lambda: itertools.chain([head], itertools.repeat(TOKEN)),
                     "^the server does not stop: 1008 events and no ")
        self.refuses(lambda: itertools.chain([head], itertools.repeat(b"x" * 9999)),
                     "^the server streams a line without end$")
        self.refuses(lambda: itertools.chain([head], itertools.repeat(b": ping\n" * 1000)),
                     "^the answer (is|takes) too long$")

    def test_heads_without_end(self):
        for piece in (b"HTTP/1.1 100 Continue\r\n\r\n", b"x" * 999, HEAD + b"a: b\r\n" * 99):
            self.refuses(without_end(piece), ".")

    def test_trailers_without_end(self):
        self.refuses(lambda: itertools.chain([CHUNKED + chunk(TOKEN) + b"0\r\n"],
                                             itertools.repeat(b"a: b\r\n" * 100)), ".")

    def test_drop_by_drop(self):
        for head, piece in ((b"", b"H"), (HEAD, b"a"), (HEAD + b"\r\n", b":\n"), (CHUNKED, b"1"),
                            (CHUNKED + b"0\r\n", b"a: b\r\n")):
            endpoint = self.dripping(lambda head=head, piece=piece: itertools.chain(
                [head] if head else [], itertools.repeat(piece)))
            with self.subTest(head=head, piece=piece), self.assertRaises(ENDS):
                self.complete(endpoint, patience=PATIENCE)

    def test_a_slow_one_that_goes_on_is_waited_for(self):
        endpoint = self.dripping(of([HEAD + b"\r\n", *[TOKEN] * 12, DONE]), 0.2)
        self.assertEqual(self.complete(endpoint, patience=2).tokens, 12)

    def test_what_is_no_event(self):
        for data, said in ((b"[]", "no event"), (b"7", "no event"), (b"{", "no JSON"),
                           (b"[" * 100000, "no JSON"), (b'{"error": 7}', "gave up"),
                           (b'{"error": {"message": {"a": []}}}', "gave up"),
                           (b"9" * 9999, "no ")):
            self.refuses(of([HEAD + b"\r\n", event(data)]), said)

    def test_numbers_that_cannot_be(self):
        for usage in ("7", "[]", '{"completion_tokens": "many"}', '{"completion_tokens": -5}',
                      '{"completion_tokens": 1e999}', '{"completion_tokens": true}',
                      '{"completion_tokens": %s}' % ("9" * 400), '{"prompt_tokens": NaN}'):
            _, endpoint = self.serve(of([HEAD + b"\r\n", TOKEN,
                                         event(b'{"usage": %s}' % usage.encode()), DONE]))
            made = self.complete(endpoint)
            self.assertEqual((made.tokens, made.prompt_tokens), (1, 3))
        for choices in ("7", '"a"', "[7]", "{}", '[{"finish_reason": "x"}]'):
            _, endpoint = self.serve(of([HEAD + b"\r\n", TOKEN,
                                         event(b'{"choices": %s}' % choices.encode()), DONE]))
            self.assertEqual(self.complete(endpoint).tokens, 1)

    def test_rubbish_in_chunks(self):
        for body in (b"zz\r\n", b"-1\r\n", b"-9\r\n", b"f" * 40 + b"\r\n", b"5\r\nab", b"\r\n\r\n",
                     chunk(TOKEN) + b"\0\r\n"):
            self.refuses(of([CHUNKED, body]), ".")
            _, endpoint = self.serve(of([CHUNKED, body]))
            with contextlib.suppress(scrape.PageError):  # of some the beginning is read
                scrape.fetch(endpoint, "/metrics")


class Answers(Attacked):
    def test_errors_are_short(self):
        for body in (b"x" * 9000000, b'{"error":' * 60000,
                     b'{"error": {"message": "a\\n\\u001b"}}'):
            _, endpoint = self.serve(of([b"HTTP/1.1 500 No\r\n\r\n", body]))
            with self.assertRaises(ENDS) as caught:
                self.complete(endpoint)
            self.assertLess(len(str(caught.exception)), 300)

    def test_a_length_that_is_not_allocated(self):
        _, endpoint = self.serve(of([HEAD + b"Content-Length: %d\r\n\r\n" % (1 << 50)]))
        for ask in (lambda: endpoint.ask("GET", "/health", timeout=30),
                    lambda: self.complete(endpoint)):
            with self.assertRaises(ENDS):
                ask()

    def test_models(self):
        for body in (b"{}", b"[]", b"7", b'{"data": 7}', b'{"data": "ab"}', b'{"data": [7]}',
                     b'{"data": {"0": 1}}', b"[" * 100000, b"\xff"):
            _, endpoint = self.serve(of([HEAD + b"\r\n", body]))
            with self.assertRaises(ENDS):
                client.model_name(endpoint)
        _, endpoint = self.serve(of([HEAD + b"\r\n", json.dumps(
            {"data": [{"id": "m" * 5000}]}).encode()]))
        self.assertEqual(len(client.model_name(endpoint)), 1000)


class Pages(Attacked):
    def test_sums_that_are_no_number(self):
        page = 'a{x="1"} 1e308\na{x="2"} 1e308\nb 2\n'
        self.assertEqual(scrape.figures_of(page, {"running": ["a"], "waiting": ["b"]}),
                         {"waiting": 2})

    def test_lines_that_are_hard_to_match(self):
        for line in ("a{" + "} " * 200000, "a" + " " * 400000 + "x", "a{}" + " 1" * 200000,
                     "a{" + "}" * 400000, "a " + "1" * 400000):
            scrape.numbers_of(line)

    def test_by_chance(self):
        for number in range(ANSWERS):
            made, endpoint = self.serve(of([hostile.by_chance(number)]))
            for ask in (lambda end: scrape.figures_of(scrape.fetch(end, "/metrics"),
                                                      {"running": ["running"]}),
                        self.complete, client.model_name):
                with self.subTest(number), contextlib.suppress(*ENDS, scrape.PageError):
                    ask(endpoint)
            made.end()


class Generators(support.Case):
    def test_numbers_that_cannot_be(self):
        for ttft, tokens in (("NaN", "3"), ("1e400", "3"), ("9" * 400, "3"), ("-1", "3"),
                             ("0.1", "1e999"), ("0.1", "true"), ("0.1", "9" * 400), ("[]", "3")):
            path = self.write("result.json", f'{{"ttfts": [{ttft}], "itls": [[0.1]], '
                                             f'"output_lens": [{tokens}]}}')
            good, _, wrong, _ = foreign.read_result(path)
            self.assertEqual(good, [])
            self.assertTrue(wrong.startswith("load.command wrote a {result} "), wrong)

    def test_depth(self):
        path = self.write("result.json", "[" * 100000)
        self.assertEqual(foreign.read_result(path)[2],
                         "load.command wrote a {result} that is no JSON of a generator")


class Statuses(support.Case):
    def test_what_a_rank_may_have_written(self):
        args = launch.parse(["--ranks", "4", "--logs", str(self.folder), "--", "true"])
        for rank, text in enumerate(("0", "-999", "9" * 100000, "\0rubbish")):
            self.write(f"rank{rank}.status", text)
        codes = launch.codes_of(args)
        self.assertEqual((codes[0], codes[1], codes.get(3)), (0, -999, None))
        for code in codes.values():
            launch.how(code)
        self.assertEqual(launch.how(-999), "was killed by signal 999")


if __name__ == "__main__":
    unittest.main()
