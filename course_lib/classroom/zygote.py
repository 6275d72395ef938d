"""A process with torch loaded, in the sandbox, from which a child is forked for each submission in a few milliseconds.

    python -m course_lib.classroom.zygote SOCKET [trusted]

It never holds a key: it is started afresh, imports only what learners have too, and cannot see the instructor's folders.
Each order on the socket is a JSON line with two open files: the line to the marking side, and one to call the child off.
"""

import contextlib
import json
import os
import select
import signal
import socket
import sys
import sysconfig
import time

CLASSROOM = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(CLASSROOM))


def readable():
    """The folders that a learner's process may read: Python, its packages, the shared libraries, and the course."""
    paths = sysconfig.get_paths()
    course = [os.path.join(ROOT, name) for name in ("course_lib", "quizzes")]
    python = [sys.prefix, sys.base_prefix, sys.exec_prefix, *(paths[k] for k in ("stdlib", "platstdlib", "purelib", "platlib"))]
    return ["/usr", "/lib", "/lib64", *_outermost(python), *course]


def _outermost(folders):
    return [f for f in dict.fromkeys(map(os.path.realpath, folders)) if f not in ("/", "/usr")]


def prepare(trusted):
    """Load what answers need, then close the door."""
    import torch

    from course_lib.classroom import child, sandbox
    from course_lib.exercises import registry

    torch.set_num_threads(1)
    registry.all_exercises()  # what the notebooks import; public
    size = sandbox.size()
    if not trusted:
        sandbox.enclose(hidden=[CLASSROOM], readable=readable())
    return child, sandbox, size


def supervise(order, line, stop, child, sandbox):
    """Run one child to its end, or until it is called off or out of time. Tells on `stop` how it ended."""
    trusted = order["trusted"]
    if not trusted:
        sandbox.separate()
    process = os.fork()
    if process == 0:
        try:
            stop.close()
            _become(order, line, child, sandbox)
        finally:
            os._exit(70)
    line.close()
    ended = _wait(process, stop, time.monotonic() + order["wall"])
    with contextlib.suppress(OSError):  # nobody waits for it any more
        stop.sendall(ended.encode())


def _wait(process, stop, end):
    """How a child ended, in words. It is killed when `stop` speaks or closes, or when its time is over."""
    watch = [os.pidfd_open(process)] if hasattr(os, "pidfd_open") else []
    while True:
        left = end - time.monotonic()
        ready, _, _ = select.select([stop, *watch], [], [], max(0, left if watch else min(left, 0.05)))
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return _in_words(os.waitstatus_to_exitcode(status))
        if stop in ready or left <= 0:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return "it was out of time"


def _in_words(code):
    return f"stopped by the signal {signal.Signals(-code).name}" if code < 0 else f"it ended by itself, with exit code {code}"


def _become(order, line, child, sandbox):
    """From here on this process belongs to the learner."""
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_DFL)
    null = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    kept = os.dup2(line.fileno(), 3) if line.fileno() != 3 else 3
    os.closerange(4, 4096)
    sock = socket.socket(fileno=kept)
    if not order["trusted"]:
        sandbox.scratch()
    sandbox.limit(order["cpu"], order["size"] and order["memory"] + order["size"])
    if not order["trusted"]:
        sandbox.drop_rights()
    child.serve(sock)
    os._exit(0)


def main(number, trusted):
    """Fork a supervisor with its child for every order, until the other side hangs up."""
    orders = socket.socket(fileno=number)
    child, sandbox, size = prepare(trusted)
    orders.sendall(b"ready\n")
    while True:
        message, files, _, _ = socket.recv_fds(orders, 4096, 2)
        if not message:
            return
        while True:  # earlier supervisors that are done
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    break
            except ChildProcessError:
                break
        line, stop = (socket.socket(fileno=f) for f in files)
        if os.fork() == 0:
            try:
                orders.close()
                supervise(json.loads(message) | {"trusted": trusted, "size": size}, line, stop, child, sandbox)
            finally:
                os._exit(0)
        line.close()
        stop.close()
        orders.sendall(b"forked\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), "trusted" in sys.argv[2:])
