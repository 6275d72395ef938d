"""Loaded into a notebook's kernel under test: notes what each cell costs, and keeps it off the network.

An IPython extension. After every cell it writes JSON to the file that WATCH_FILE names:
{"cells": [{"code", "cpu", "ok"}], "cpu", "peak", "refused"}, in CPU seconds, bytes, and addresses asked for.
"""

import ipaddress
import json
import os
import socket
import sys
import time
import warnings
from pathlib import Path

import psutil

refused = []


def is_local(host):
    """True for this machine itself, as a name or an address."""
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    try:
        return host in (None, "", "localhost") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def guard(function, host_of):
    """`function`, but for this machine only. What is refused is noted, for the error may be swallowed."""

    def guarded(*args, **kwargs):
        host = host_of(*args)
        if not is_local(host):
            refused.append(str(host))
            raise OSError(f"a notebook must run without the network; this one asked for {host}")
        return function(*args, **kwargs)

    return guarded


def host_in_address(sock, *args):
    """The host that connect, connect_ex or sendto is to reach; None for a socket between processes."""
    return args[-1][0] if isinstance(args[-1], tuple) else None


def close_the_network():
    for name in ("connect", "connect_ex", "sendto"):
        setattr(socket.socket, name, guard(getattr(socket.socket, name), host_in_address))
    socket.getaddrinfo = guard(socket.getaddrinfo, lambda host, *args: host)
    socket.gethostbyname = guard(socket.gethostbyname, lambda host: host)


def cpu_seconds():
    """CPU seconds of this process, all its threads, and the processes it has waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def peak_memory():
    """The most bytes that this process has held at once."""
    if sys.platform == "win32":
        return psutil.Process().memory_info().peak_wset
    if sys.platform == "linux":  # where ru_maxrss starts from what the parent process held
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return 1024 * int(status.split("VmHWM:")[1].split()[0])
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Watch:
    def __init__(self, file):
        self.file, self.cells = file, []

    def before(self, info):
        self.begin = cpu_seconds()

    def after(self, result):
        cell = {"code": result.info.raw_cell, "cpu": cpu_seconds() - self.begin, "ok": result.success}
        self.cells.append(cell)
        report = {"cells": self.cells, "cpu": cpu_seconds(), "peak": peak_memory(), "refused": refused}
        self.file.write_text(json.dumps(report), encoding="utf-8")


def load_ipython_extension(shell):
    close_the_network()
    for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
        warnings.filterwarnings("error", category=category, module=r"(__main__|course_lib)(\..*)?$")
    watch = Watch(Path(os.environ["WATCH_FILE"]))
    shell.events.register("pre_run_cell", watch.before)
    shell.events.register("post_run_cell", watch.after)
