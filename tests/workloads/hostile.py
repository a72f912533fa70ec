"""A server that answers with whatever it was given: bytes, as they are, piece by piece."""

import random
import socket
import threading
from typing import Iterable, Iterator

HEAD = b"HTTP/1.1 200 OK\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(data: bytes) -> bytes:
    return b"data: " + data + b"\n\n"


TOKEN = event(b'{"choices": [{"text": "a", "finish_reason": null}]}')
DONE = event(b"[DONE]")
GOOD = HEAD + b"\r\n" + TOKEN + TOKEN + event(b'{"usage": {"completion_tokens": 2}}') + DONE


class Server:
    """Listens on `port` until it is ended; each connection is given the pieces anew."""

    def __init__(self, pieces):
        self.pieces, self.over = pieces, threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while not self.over.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection: socket.socket) -> None:
        with connection:
            try:
                connection.recv(1 << 16)
                for piece in self.pieces():
                    if self.over.is_set():
                        return
                    connection.sendall(piece)
                # What is closed with a request half read is reset, the answer with it.
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(5)
                while connection.recv(1 << 16):
                    pass
            except OSError:
                return

    def drip(self, pieces: Iterable[bytes], pause: float = 0.05) -> Iterator[bytes]:
        """With a pause after each, so that no single one is late."""
        for piece in pieces:
            yield piece
            if self.over.wait(pause):
                return

    def end(self) -> None:
        self.over.set()
        self.listener.close()


# ---- answers by chance ----

WORDS = [b"HTTP/1.1 ", b"HTTP/9.9 ", b"100", b"200", b"-1", b"\r\n", b"\n", b"\r\n\r\n", b":", b" ",
         b"Content-Length: ", b"Transfer-Encoding: chunked\r\n", b"Connection: close\r\n", b"data:",
         b"[DONE]", b"{", b"}", b"[", b"]", b'"choices"', b'"usage"', b'"completion_tokens"',
         b'"error"', b"1e999", b"NaN", b"9" * 30, b"null", b"true", b"-", b"\0", b"\xff\xfe",
         b"ffffffffffffffffffff\r\n", b"0\r\n\r\n", b"[" * 2000, b"vllm:num_requests_running ",
         b'{a="}"} ', b"+Inf", b"#", b"x" * 70000, TOKEN, DONE, chunk(TOKEN)]


def by_chance(number: int) -> bytes:
    """An answer that is changed in a few places; the same for the same number."""
    dice = random.Random(number)
    answer = bytearray(dice.choice([GOOD, HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
                                    + chunk(TOKEN) + chunk(DONE) + b"0\r\n\r\n",
                                    HEAD + b"Content-Length: 40\r\n\r\nvllm:kv_cache_usage_perc 0.5"
                                    b"\nrunning 2\n"]))
    for _ in range(dice.randrange(1, 6)):
        at = dice.randrange(len(answer) + 1)
        answer[at:at + dice.choice([0, 0, 1, 4, 30])] = dice.choice(WORDS)
    return bytes(answer)
