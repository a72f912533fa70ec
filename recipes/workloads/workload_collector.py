"""The window of an engine that somebody else started with llmprof's collector inside: its
processes call on a socket in the folder of their spools, and begin and end what they record
when they are told so."""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
import time
from pathlib import Path
from typing import Callable, Dict, List, Optional

from workload_common import WorkloadError

# The socket's name in the folder; spools are PID-STARTTIME.spool.
NAME, SPOOL = "socket", re.compile(r"([0-9]+)-[0-9]+\.spool$")

# Seconds for the processes to call, which they try four times in one, and for an answer.
CALLING, ANSWERING = 3.0, 30.0

# The longest line that is read.
LONGEST = 1 << 16


class Caller:
    """A process that has called."""

    def __init__(self, connection: socket.socket):
        self.connection = connection
        self.rest = b""
        self.pid: Optional[int] = None
        self.gone = False
        self.said: List[str] = []

    def hear(self) -> None:
        """Take the lines that have come."""
        try:
            came = self.connection.recv(4096)
        except OSError:
            came = b""
        self.gone = not came
        *lines, self.rest = (self.rest + came).split(b"\n")
        self.gone = self.gone or len(self.rest) > LONGEST
        for line in lines:
            text = line.decode("utf-8", "replace")
            self.said.append(text)
            hello = re.match(r"hello pid=([0-9]+)", text)
            if hello:
                self.pid = int(hello.group(1))

    def tell(self, word: str) -> None:
        self.said = []
        try:
            self.connection.sendall(word.encode() + b"\n")
        except OSError:
            self.gone = True

    def has_said(self, ending: str) -> bool:
        return any(re.fullmatch(rf"unit [0-9]+ [a-z]+ {ending}", text) for text in self.said)


def living(folder: Path) -> List[int]:
    """Processes with a spool there that are alive."""
    found = (SPOOL.match(name) for name in os.listdir(folder))
    return [int(match.group(1)) for match in found
            if match and os.path.exists(f"/proc/{match.group(1)}")]


class Windowed:
    """Those processes, and the socket on which they call. `patience` in seconds."""

    def __init__(self, folder: str, calling: float = CALLING, answering: float = ANSWERING):
        self.folder = Path(folder)
        self.calling, self.answering = calling, answering
        self.callers: Dict[int, Caller] = {}
        self.listener: Optional[socket.socket] = None
        self.begun = 0

    @property
    def path(self) -> str:
        return str(self.folder / NAME)

    # ---- the socket ----

    def listen(self) -> None:
        """A socket that nobody listens on any more is taken over."""
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(self.path)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(self.path)
            else:
                raise WorkloadError(f"server.spools: somebody listens on {self.path} already")
        self.listener = socket.socket(socket.AF_UNIX)
        try:
            self.listener.bind(self.path)
        except OSError as error:
            raise WorkloadError(f"server.spools: no socket in {self.folder}: "
                                f"{error.strerror or error}") from error
        self.listener.listen(64)

    def pump(self, seconds: float) -> None:
        """Hear what comes within so long, once."""
        assert self.listener
        sockets = [self.listener.fileno(), *self.callers]
        for number in select.select(sockets, [], [], seconds)[0]:
            if number == self.listener.fileno():
                connection, _ = self.listener.accept()
                self.callers[connection.fileno()] = Caller(connection)
            else:
                self.callers[number].hear()
        for number in [number for number, caller in self.callers.items() if caller.gone]:
            self.callers.pop(number).connection.close()

    def wait(self, seconds: float, enough: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + seconds
        while not enough():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self.pump(min(left, 0.1))
        return True

    def called(self) -> List[int]:
        return [caller.pid for caller in self.callers.values() if caller.pid is not None]

    # ---- the window ----

    def call_in(self) -> int:
        """How many processes have called: all with a spool, or those that did in time."""
        self.listen()
        self.wait(self.calling, lambda: set(living(self.folder)) <= set(self.called()))
        return len(self.called())

    def everybody(self, word: str) -> None:
        """Tell all, and wait until all have done it."""
        for caller in self.callers.values():
            caller.tell(word)
        done = self.wait(self.answering, lambda: all(
            caller.has_said(word) for caller in self.callers.values()))
        if not done:
            raise WorkloadError(f"server.spools: a process did not {word} its window within "
                                f"{self.answering:g} s; is unit.by = socket in its plan?")

    def begin(self) -> None:
        self.begun = len(self.callers)
        self.everybody("begin")

    def end(self) -> None:
        """Those that ended before have left what they saw until then."""
        self.everybody("end")
        gone = self.begun - len(self.callers)
        if gone:
            raise WorkloadError(f"{gone} of {self.begun} processes of the server were gone when "
                                "the window closed")

    def close(self) -> None:
        """A window that is open ends with the connection."""
        for caller in self.callers.values():
            caller.connection.close()
        self.callers = {}
        if self.listener:
            self.listener.close()
            self.listener = None
            with contextlib.suppress(OSError):
                os.unlink(self.path)
