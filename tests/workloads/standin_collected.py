#!/usr/bin/env python3
"""A stand-in for a process of an engine with the collector inside: calls on FOLDER/socket,
again and again, and does what it is told.

    standin_collected.py FOLDER [FAULT]

FAULT: mute (says hello and nothing else), short (goes after `begin`), elsewhere (never
calls). What it was told is a line of FOLDER/told."""

import os
import socket
import sys
import time
from pathlib import Path

FOLDER, FAULT = Path(sys.argv[1]), (sys.argv[2:] or [""])[0]


def serve(connection):
    connection.sendall(b"hello pid=%d spool=x\n" % os.getpid())
    unit = 0
    for line in connection.makefile("r"):
        word = line.strip()
        with open(FOLDER / "told", "a", encoding="utf-8") as told:
            told.write(f"{word}\n")
        unit += word == "begin"
        if FAULT != "mute":
            connection.sendall(b"unit %d timeline %s\n" % (unit, word.encode()))
        if FAULT == "short":
            os._exit(3)


(FOLDER / f"{os.getpid()}-1.spool").touch()
print("ready", flush=True)
while True:
    with socket.socket(socket.AF_UNIX) as calling:
        try:
            if FAULT != "elsewhere":
                calling.connect(str(FOLDER / "socket"))
                serve(calling)
        except OSError:
            pass
    time.sleep(0.05)
