"""A program at a pseudo-terminal, driven by what it prints: no waiting by the
clock but for giving up."""

import os
import pty
import select
import signal
import termios
import struct
import fcntl

LIMIT = 60  # seconds without the text that is waited for


class Terminal:
    """One program; `log` is what its screen would have shown."""

    def __init__(self, argv, env, rows=24, columns=80):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(argv[0], argv, env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
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
        return os.waitstatus_to_exitcode(status)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
