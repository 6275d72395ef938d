"""The marking side's end: starts the zygote, has a child forked for a submission, and asks it, always with a deadline."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from course_lib.classroom import wire
from course_lib.classroom.peer import Peer
from course_lib.classroom.sandbox import SCRATCH

ROOT = Path(__file__).resolve().parents[2]
LIMITS = {"cpu": 60, "wall": 150, "memory": 1 << 30}  # of one child: seconds, seconds, bytes on top of what torch takes
LONGEST_CALL = 25.0  # seconds of waiting for one answer; the child's own watchdog strikes much earlier


class Gone(Exception):
    """The child is no longer there; the text says how it ended."""


class Zygote:
    """The process that children are forked from. A context manager."""

    def __init__(self, trusted=False):
        self.orders, theirs = socket.socketpair()
        self.folder = tempfile.TemporaryDirectory()  # in the sandbox nobody sees it; there the scratch folder is home
        home = self.folder.name if trusted else SCRATCH
        clean = {"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": home, "TMPDIR": home, "COURSE_LIB_HOME": home, "OMP_NUM_THREADS": "1",
                 "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT),
                 "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip
        command = [sys.executable, "-m", "course_lib.classroom.zygote", str(theirs.fileno())]
        self.process = subprocess.Popen(command + ["trusted"] * trusted, env=clean, cwd=self.folder.name, pass_fds=[theirs.fileno()],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # fmt: skip
        theirs.close()
        self._expect(b"ready\n")

    def _expect(self, word):
        if self.orders.recv(len(word), socket.MSG_WAITALL) != word:
            self.orders.close()
            problem = self.process.communicate()[1].decode("utf-8", "replace").strip().splitlines()
            raise RuntimeError(f"the process that runs submissions did not start: {problem[-1] if problem else 'no reason given'}")

    def fork(self, limits):
        """(line, stop): a socket to a fresh child, and one whose closing ends it."""
        line, theirs = socket.socketpair()
        stop, stops = socket.socketpair()
        with theirs, stops:
            socket.send_fds(self.orders, [json.dumps(limits).encode()], [theirs.fileno(), stops.fileno()])
        self._expect(b"forked\n")
        return line, stop

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.orders.close()
        self.process.stderr.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()


class Session:
    """One child that holds one submission."""

    def __init__(self, zygote, limits=None):
        self.line, self.stop = zygote.fork(LIMITS | (limits or {}))
        self.peer, self.ended = Peer(self.line, careful=True), ""

    def ask(self, operation, *args, wait=LONGEST_CALL):
        """The child's answer. Raises Gone if it does not come, and what the child raised if it says so."""
        if self.ended:
            raise Gone(self.ended)
        self.peer.deadline = time.monotonic() + wait
        try:
            return self.peer.ask(operation, *args)
        except wire.WireError as error:
            self._bury(str(error))
            raise Gone(self.ended) from error

    def _bury(self, problem):
        """Find out how the child ended, or end it."""
        if problem == "time":
            self.ended = "it was out of time"
        elif problem != "gone":
            self.ended = problem
        else:
            self.stop.settimeout(3)
            with contextlib.suppress(OSError):
                self.ended = self.stop.recv(200).decode("utf-8", "replace")
            self.ended = self.ended or "it hung up"
        self.close()

    def close(self, reason="it was closed"):
        """End the child, if it still runs."""
        self.line.close()
        self.stop.close()
        self.ended = self.ended or reason

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
