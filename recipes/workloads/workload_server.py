"""A server as a child process: started, waited for, ended with all it started."""

from __future__ import annotations

import contextlib
import functools
import http.client
import io
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, List, Optional, Sequence, Tuple
from urllib.parse import urlsplit

from workload_common import MISSING, WorkloadError

# Seconds between two looks, for one answer to a question of state, and lines of
# the log that an error shows.
PAUSE, PATIENCE, TAIL = 0.2, 10, 12

# Bytes of an answer, with its head, unless a request says otherwise.
MOST = 1 << 20

# Signals that end this program.
ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


class TooMuch(http.client.HTTPException):
    """An answer is longer than it may be."""


class Patient(io.RawIOBase):
    """What a socket receives, until a moment and up to so many bytes, however it comes: a
    server that trickles, or never ends, is given up."""

    def __init__(self, sock: socket.socket, most: int, patience: float):
        super().__init__()
        self.sock, self.left = sock, most
        self.raw = sock.makefile("rb", buffering=0)  # keeps the socket open
        self.give(patience)

    def give(self, patience: float) -> None:
        """So many seconds from now."""
        self.until = time.monotonic() + patience

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        patience = self.until - time.monotonic()
        if patience <= 0:
            raise socket.timeout("the answer takes too long")
        if self.left <= 0:
            raise TooMuch("the answer is too long")
        self.sock.settimeout(patience)
        count = self.raw.readinto(memoryview(buffer)[:self.left])  # type: ignore[attr-defined]
        self.left -= count or 0
        return count or 0

    def close(self) -> None:
        self.raw.close()
        super().close()


class Response(http.client.HTTPResponse):
    """With limits that its head, too, is held to."""

    def __init__(self, sock: socket.socket, *args: Any, most: int, patience: float, **more: Any):
        super().__init__(sock, *args, **more)
        self.fp.close()
        self.patient = Patient(sock, most, patience)
        self.fp = io.BufferedReader(self.patient)

    def begin(self) -> None:
        """One that announces more than it may have is not waited for."""
        super().begin()
        if (self.length or 0) > self.patient.left:
            raise TooMuch("the answer is too long")

    def read(self, *args: Any) -> bytes:
        return self.bounded(super().read, *args)

    def readline(self, *args: Any) -> bytes:
        return self.bounded(super().readline, *args)

    @staticmethod
    def bounded(read: Callable[..., bytes], *args: Any) -> bytes:
        """A chunk may announce more than a number or the memory holds, or less than none."""
        try:
            return read(*args)
        except (OverflowError, MemoryError) as error:
            raise TooMuch("the answer is too long") from error
        except ValueError as error:
            raise http.client.HTTPException("a chunk of no size") from error


class Endpoint:
    """Where a server listens: http://HOST:PORT."""

    def __init__(self, url: str):
        parts = urlsplit(url)
        try:
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if parts.scheme != "http" or not host or not port:
            raise ValueError(f"'{url}': http://HOST:PORT is expected")
        self.host: str = host
        self.port: int = port

    def connect(self, timeout: float, most: int = MOST) -> http.client.HTTPConnection:
        """An answer has `timeout` seconds, and `most` bytes."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        connection.response_class = functools.partial(  # type: ignore[assignment]
            Response, most=most, patience=timeout)
        return connection

    def ask(self, method: str, path: str, body: Optional[bytes] = None,
            timeout: float = PATIENCE) -> Tuple[int, bytes]:
        """One question: status and body. OSError, HTTPException when nobody answers."""
        connection = self.connect(timeout)
        try:
            headers = {"Content-Type": "application/json"} if body else {}
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def is_taken(self) -> bool:
        try:
            with socket.create_connection((self.host, self.port), timeout=PATIENCE):
                return True
        except OSError:
            return False


def running(group: int) -> List[int]:
    """The processes of a group, without those that are dead and not waited for: where
    nothing waits for orphans they stay."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # it ended meanwhile
            continue
        if int(its_group) == group and state not in "ZX":
            found.append(int(path.parent.name))
    return found


def wait_for(endpoint: Endpoint, path: str, timeout: float,
             check: Callable[[], None]) -> Optional[str]:
    """Until a path answers 200; what it answered last when it does not within `timeout`
    seconds. `check` may raise before each look."""
    deadline, last = time.monotonic() + timeout, "nothing listens"
    while time.monotonic() < deadline:
        check()
        try:
            status, _ = endpoint.ask("GET", path)
            if status == 200:
                return None
            last = f"{path} answers {status}"
        except (OSError, http.client.HTTPException) as error:
            last = f"{path}: {type(error).__name__}"
        time.sleep(PAUSE)
    return last


class Attached:
    """A server that somebody else started, and that goes on when we have ended."""

    def __init__(self, endpoint: Endpoint):
        self.endpoint = endpoint

    def start(self, is_first: bool = True) -> None:
        if is_first and not self.endpoint.is_taken():
            raise WorkloadError(f"server.url: nothing listens on {self.endpoint.host}:"
                                f"{self.endpoint.port}")

    def wait_until_ready(self, path: str, timeout: float) -> None:
        last = wait_for(self.endpoint, path, timeout, lambda: None)
        if last:
            raise WorkloadError(f"server.url: not ready after {timeout:g} s ({last})")

    def is_alive(self) -> bool:
        return True

    def ended(self, patience: float) -> Optional[str]:
        """Does nobody answer any more?"""
        if patience and not self.endpoint.is_taken():
            return "the server does not answer any more"
        return None

    def check_alive(self, patience: float = 0) -> None:
        how = self.ended(patience)
        if how:
            raise WorkloadError(how)

    def show_last_lines(self) -> None:
        """The process that started it has its output."""

    def end(self, patience: float) -> None:
        """It is not ours to end."""


class Server:
    """A child in a process group of its own; its output goes to `log`."""

    def __init__(self, argv: Sequence[str], endpoint: Endpoint, log: Optional[Path]):
        self.argv, self.endpoint = argv, endpoint
        self.child: Optional[subprocess.Popen[bytes]] = None
        if log:
            log.unlink(missing_ok=True)
        # for appending: the child's place in the file is ours too
        self.output = open(log, "a+b") if log else tempfile.TemporaryFile("a+b")

    def start(self, is_first: bool = True) -> None:
        """What a signal interrupts, end() can end: none comes between the child's
        birth and the note of it. Of several the first finds the port free."""
        if is_first and self.endpoint.is_taken():
            raise WorkloadError(f"port {self.endpoint.port} is in use: end what listens there, "
                                "or choose another with server.port")
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            self.child = subprocess.Popen(
                self.argv, stdin=subprocess.DEVNULL, stdout=self.output,
                stderr=subprocess.STDOUT, start_new_session=True,
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING))
        except OSError as error:
            raise WorkloadError(f"the server '{self.argv[0]}' cannot be started: "
                                f"{error.strerror}", MISSING) from error
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)

    def started(self) -> subprocess.Popen[bytes]:
        """The child of a server that was started."""
        if not self.child:
            raise WorkloadError(f"the server '{self.argv[0]}' was not started")
        return self.child

    def show_last_lines(self) -> None:
        size = self.output.seek(0, os.SEEK_END)
        self.output.seek(max(0, size - 4096))
        for line in self.output.read().decode("utf-8", "replace").splitlines()[-TAIL:]:
            print(f"server: {line}", file=sys.stderr)

    def fail(self, message: str) -> None:
        """Show the last lines that it printed, then raise."""
        self.show_last_lines()
        raise WorkloadError(message)

    def is_alive(self) -> bool:
        return self.started().poll() is None

    def ended(self, patience: float) -> Optional[str]:
        """How it has ended, or does so in `patience` seconds; None: it has not."""
        try:
            status = self.started().wait(patience)
        except subprocess.TimeoutExpired:
            return None
        how = (f"was killed by {signal.Signals(-status).name}" if status < 0
               else f"ended with exit status {status}")
        return f"the server {how}"

    def check_alive(self, patience: float = 0) -> None:
        """Raise when it has ended, or does so in `patience` seconds."""
        how = self.ended(patience)
        if how:
            self.fail(how)

    def wait_until_ready(self, path: str, timeout: float) -> None:
        """Until the health path answers 200; `timeout` in seconds."""
        last = wait_for(self.endpoint, path, timeout, self.check_alive)
        if last:
            self.fail(f"the server was not ready after {timeout:g} s ({last}); "
                      "server.ready_timeout_s gives it longer")

    def signal_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.started().pid, number)

    def group_lives(self) -> bool:
        child = self.started()
        child.poll()
        return bool(running(child.pid))

    def wait_for_group(self, deadline: float) -> None:
        while self.group_lives() and time.monotonic() < deadline:
            time.sleep(PAUSE / 4)

    def end(self, patience: float) -> None:
        """SIGTERM to its group, after `patience` seconds SIGKILL: profilers in the
        workers write their files when they end by themselves."""
        if self.child:
            self.end_group(time.monotonic() + patience)
        self.output.close()

    def end_group(self, deadline: float) -> None:
        self.signal_group(signal.SIGTERM)
        with contextlib.suppress(KeyboardInterrupt):  # a second one: now
            self.wait_for_group(deadline)
        self.signal_group(signal.SIGKILL)
        self.started().wait()
        self.wait_for_group(time.monotonic() + PATIENCE)  # its children die a moment later


def end_on_signals() -> None:
    """SIGTERM and SIGHUP raise as Ctrl-C does, so that the server is ended too."""
    for number in ENDING - {signal.SIGINT}:
        signal.signal(number, signal.default_int_handler)
