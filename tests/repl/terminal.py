"""A program at a pseudo-terminal, driven by what it prints: no waiting by the
clock but for giving up."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios

LIMIT = float(os.environ.get("LLMPROF_TEST_LIMIT", 60))  # seconds without the text waited for


class Terminal:
    """One program; `log` is what its screen would have shown."""

    def __init__(self, argv, env, rows=24, columns=80):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:  # its size is known before the program begins
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execve(argv[0], argv, env)
        self.raw = b""
        self.seen = 0

    def _read(self):
        ready, _, _ = select.select([self.fd], [], [], LIMIT)
        if not ready:
            raise TimeoutError(f"nothing more after {self.raw[-500:]!r}")
        try:
            return os.read(self.fd, 65536)
        except OSError:  # the other side is gone
            return b""

    def wait(self, text):
        """Read until `text` comes after what was waited for before."""
        wanted = text.encode()
        while wanted not in self.raw[self.seen:]:
            got = self._read()
            if not got:
                raise EOFError(f"ended before {text!r}: {self.raw[self.seen:]!r}")
            self.raw += got
        self.seen = self.raw.index(wanted, self.seen) + len(wanted)

    def send(self, text):
        os.write(self.fd, text.encode())

    def finish(self):
        """Read to the end; the exit status, negative for a signal."""
        while True:
            got = self._read()
            if not got:
                break
            self.raw += got
        _, status = os.waitpid(self.pid, 0)
        self.pid = None
        return os.waitstatus_to_exitcode(status)

    def terminate(self):
        os.kill(self.pid, signal.SIGTERM)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.pid = None

    def close(self):
        """End what is still there."""
        if self.pid:
            self.kill()
        os.close(self.fd)


class Screen:
    """What a terminal that never scrolls its top away shows of raw output:
    enough of one for what libedit writes to TERM=xterm."""

    CONTROL = re.compile(rb"\x1b\[(\d*)([A-Za-z])|\r|\n|\x08|\x07")

    def __init__(self):
        self.lines = [""]
        self.column = 0

    def _write(self, text):
        line = self.lines[-1].ljust(self.column)
        self.lines[-1] = line[:self.column] + text + line[self.column + len(text):]
        self.column += len(text)

    def _control(self, match):
        number, letter = match.group(1), match.group(2)
        if match.group() == b"\n":
            self.lines.append("")
        elif match.group() == b"\r":
            self.column = 0
        elif match.group() == b"\x08":
            self.column -= 1
        elif letter == b"K":
            self.lines[-1] = self.lines[-1][:self.column]
        elif letter == b"G":
            self.column = int(number) - 1
        elif letter == b"C":
            self.column += int(number or 1)
        elif letter == b"D":
            self.column -= int(number or 1)
        elif letter is not None:
            raise ValueError(f"the screen does not know {match.group()!r}")

    def feed(self, raw):
        at = 0
        for match in self.CONTROL.finditer(raw):
            self._write(raw[at:match.start()].decode())
            self._control(match)
            at = match.end()
        self._write(raw[at:].decode())
        return "\n".join(line.rstrip() for line in self.lines)
