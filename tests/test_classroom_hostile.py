"""Hostile submissions: none earns a point that it has not earned, and none harms anything or anybody."""

import os
import time
from pathlib import Path

import pytest
import torch
from handed_in import answered, as_bytes

from course_lib.classroom import sandbox, tasks
from course_lib.classroom.marking import mark_file
from course_lib.classroom.session import Zygote
from course_lib.exercises.registry import all_exercises

NOTEBOOK = "01_multi_head_intuition"
pytestmark = pytest.mark.skipif(bool(sandbox.why_not()), reason=f"no sandbox here: {sandbox.why_not()}")

# Bodies of split_heads(x, n_heads). Each tells what it managed to do by returning the text "HARM", or by doing it.
HOSTILE = {
    "endless loop that swallows every exception": """
        while True:
            try:
                while True: pass
            except BaseException: pass""",
    "forks until nothing is left": """
        import os
        while True:
            try: os.fork()
            except OSError: return "refused" """,
    "starts programs": """
        import subprocess, os
        for command in (["/bin/sh", "-c", "true"], ["/usr/bin/env"]):
            try: subprocess.run(command); return "HARM"
            except OSError: pass
        return "refused" """,
    "fills the memory": """
        import torch
        kept = []
        while True: kept.append(torch.ones(10_000_000))""",
    "fills the disk": """
        import os
        def full(folder):
            for i in range(100000):
                with open(f"{folder}/{i}", "wb") as f:
                    for _ in range(100): f.write(b"x" * 1_000_000)
        for folder in ("/", "/dev", "/usr", ROOT, "."):
            try: full(folder)
            except OSError: pass
        total = sum(os.path.getsize(f) for f in os.listdir(".") if os.path.isfile(f))
        return "HARM" if total > 2**26 else "refused" """,
    "reads the keys and the other submissions": """
        import os, sys
        places = [ROOT + "/course_lib/classroom/private/probes.py", ROOT + "/tests/conftest.py", CANARY, "/etc/passwd",
                  "/proc/1/environ", ROOT + "/.git/config", "/root", "/home"]
        for place in places:
            try:
                os.listdir(place) if os.path.isdir(place) else open(place).read()
                return "HARM"
            except OSError: pass
        if any("private" in name for name in sys.modules): return "HARM"
        try:
            import course_lib.classroom.private.probes
            return "HARM"
        except ImportError: return "refused" """,
    "rewrites the checks in its process": """
        import sys, gc
        import course_lib.exercises.judge as j, course_lib.exercises.compare as c, course_lib.exercises.verdict as v
        j.judge = lambda *a: (v.Verdict("passed"), None); c.distance = lambda *a: 0.0; c.agrees = lambda *a: True
        for module in list(sys.modules.values()):
            for name in ("agrees", "distance"):
                if hasattr(module, name): setattr(module, name, lambda *a, **k: True)
        for thing in gc.get_objects():
            if type(thing).__name__ == "Submission": thing.call = lambda *a: {"status": "passed"}
        return x""",
    "exits with 0": """
        import os
        os._exit(0)""",
    "replaces torch.allclose and its like": """
        import torch
        torch.allclose = torch.equal = lambda *a, **k: True
        torch.Tensor.__eq__ = lambda *a: True
        torch.Tensor.__sub__ = lambda self, other: self * 0
        return x""",
    "prints a result that it has not": """
        import sys, os
        print('{"status": "passed"}', flush=True)
        for fd in (0, 1, 2): os.write(fd, b'passed')
        return "passed" """,
    "writes a forged answer into the line": """
        import json, os, struct
        text = json.dumps({"dict": [["answer", {"dict": [["status", "passed"], ["output", {"odd": "x"}], ["after", [None, None]],
                          ["gradients", None], ["raised", None]]}]]}).encode()
        while True: os.write(3, struct.pack("!QQ", len(text), 0) + text)""",
    "opens sockets": """
        import socket
        for kind in (socket.AF_INET, socket.AF_UNIX):
            try: socket.socket(kind, socket.SOCK_STREAM); return "HARM"
            except OSError: pass
        return "refused" """,
    "deletes its notebook and all that it can": """
        import os
        for top in (os.path.dirname(CANARY), ROOT + "/notebooks", ROOT + "/course_lib", "/tmp"):
            for folder, _, files in os.walk(top):
                for name in files:
                    try: os.remove(os.path.join(folder, name)); return "HARM"
                    except OSError: pass
        return "refused" """,
    "kills whom it can see": """
        import os, signal
        for process in (-1, *range(2, 400)):
            try: os.kill(process, signal.SIGKILL)
            except OSError: pass
        return "refused" """,
    "leaves the sandbox again": """
        import ctypes
        libc = ctypes.CDLL(None)
        if libc.unshare(0x10000000) == 0 or libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0: return "HARM"
        if libc.chroot(b"/tmp") == 0 or libc.ptrace(0, 0, 0, 0) == 0: return "HARM"
        return "refused" """,
}  # fmt: skip


@pytest.fixture(scope="module")
def zygote():
    torch.set_num_threads(1)
    with Zygote() as started:
        yield started


def answer_of(body, canary):
    """The text of a split_heads with this body."""
    lines = [line.removeprefix("        ") for line in body.strip("\n").splitlines()]
    head = f"def split_heads(x, n_heads):\n    ROOT, CANARY = {str(tasks.ROOT)!r}, {str(canary)!r}\n"
    return head + "\n".join("    " + line for line in lines) + "\n"


def hand_in(zygote, body, canary):
    raw = as_bytes(answered(NOTEBOOK, {"split_heads": answer_of(body, canary)}, only=("split_heads", "merge_heads")))
    chosen = [t for t in tasks.tasks_of(NOTEBOOK) if t.exercise in ("split_heads", "merge_heads")]
    return mark_file(zygote, raw, chosen, all_exercises(), "seed")


QUICK = [name for name in HOSTILE if not name.startswith(("endless", "fills", "forks", "writes"))]


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in HOSTILE])
def test_it_earns_nothing_and_harms_nobody(zygote, tmp_path, name):
    canary = tmp_path / "other.ipynb"
    canary.write_text("untouched", encoding="utf-8")
    started = time.monotonic()
    found = hand_in(zygote, HOSTILE[name], canary)
    mine, next_ = found[f"{NOTEBOOK}/split_heads"], found[f"{NOTEBOOK}/merge_heads"]
    assert mine["status"] not in ("passed", "not_started"), mine
    assert "HARM" not in mine["message"], mine
    if 'return "refused"' in HOSTILE[name]:
        assert "str" in mine["message"], mine  # it ran to its end, and everything was refused
    assert next_["status"] == "passed", next_  # the honest answer beside it keeps its point
    assert canary.read_text(encoding="utf-8") == "untouched"
    assert time.monotonic() - started < 200
    assert nothing_left(zygote), "processes are left"


def nothing_left(zygote):
    """True as soon as the zygote has no living child."""
    for _ in range(100):
        if not any(map(alive_below(zygote.process.pid), Path("/proc").iterdir())):
            return True
        time.sleep(0.1)
    return False


def alive_below(parent):
    """(folder of /proc) -> whether it is a living process with this parent."""

    def asked(folder):
        if not folder.name.isdigit():
            return False
        try:
            state, above = (folder / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[:2]
        except OSError:  # it has just ended
            return False
        return int(above) == parent and state != "Z"

    return asked


def test_what_is_marked_as_harm_is_really_seen(zygote, tmp_path):
    """The gate can go red: the same words where nothing forbids them."""
    body = HOSTILE["reads the keys and the other submissions"]
    canary = tmp_path / "other.ipynb"
    canary.write_text("untouched", encoding="utf-8")
    space = {}
    exec(answer_of(body, canary), space)
    assert space["split_heads"](None, None) == "HARM"


def test_a_test_that_only_counts_its_calls_does_not_win_a_bug_hunt(zygote):
    counting = ("CALLS = []\ndef test(module):\n    import torch, gc\n    torch.calls = getattr(torch, 'calls', 0) + 1\n"
                "    assert torch.calls <= 4\n")  # fmt: skip
    by_name = "def test(module):\n    assert 'Before' not in type(module).__name__\n"
    for text in (counting, by_name):
        raw = as_bytes(answered(NOTEBOOK, {"bug_hunt_heads_before_projection": text}, only=("bug_hunt_heads_before_projection",)))
        chosen = [t for t in tasks.tasks_of(NOTEBOOK) if t.exercise == "bug_hunt_heads_before_projection"]
        found = mark_file(zygote, raw, chosen, all_exercises(), "seed")
        assert [a["status"] for a in found.values()] == ["failed"], found


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_hostile_file_does_not_change_anothers_mark(zygote, tmp_path):
    for name in HOSTILE:
        hand_in(zygote, HOSTILE[name], tmp_path / "none")
    raw = as_bytes(answered(NOTEBOOK, only=("split_heads", "merge_heads")))
    chosen = [t for t in tasks.tasks_of(NOTEBOOK) if t.exercise in ("split_heads", "merge_heads")]
    assert {a["status"] for a in mark_file(zygote, raw, chosen, all_exercises(), "seed").values()} == {"passed"}
    assert os.path.exists(tasks.NOTEBOOKS / f"{NOTEBOOK}.ipynb")
