"""A hub on 127.0.0.1, and learners who do over HTTP what a browser does: log in, follow a link, run cells, answer, save."""

import contextlib
import html
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
import urllib.parse
import uuid
from pathlib import Path

import psutil
import requests
import websocket
from labkit import free_port

from course_lib.classroom import hub_links

ROOT = Path(__file__).resolve().parents[1]
PASSWORD = "one for all"
LIMIT = 300  # seconds for anything that a learner waits for
SHOWN = {"stream", "display_data", "execute_result", "error"}  # what a notebook keeps of a cell's messages


class Hub:
    """The command `python3 -m course_lib hub --dummy`, over the folder `state`. Use it in a with block."""

    def __init__(self, state):
        self.state, self.port = Path(state), free_port()
        self.base = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        self.state.mkdir(parents=True, exist_ok=True)
        self.log = open(self.state / "hub.log", "ab")
        command = [sys.executable, "-m", "course_lib.classroom.hub", "--dummy", "--port", str(self.port), "--state", str(self.state)]
        variables = os.environ | {"COURSE_HUB_PASSWORD": PASSWORD, "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL,
                                        start_new_session=True)  # fmt: skip
        self._wait()
        return self

    def __exit__(self, *exception):
        """One Ctrl-C must end the hub, its proxy and every learner's server; what is left is killed, and is an error."""
        members = psutil.Process(self.process.pid).children(recursive=True)
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.close()
        _, left = psutil.wait_procs(members, timeout=30)
        for process in left:
            process.kill()
        if left and not any(exception):
            raise RuntimeError(f"Ctrl-C left these running: {left}")

    def _wait(self):
        """Until the hub itself answers: the proxy is there first, and says 404."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(requests.RequestException, ValueError):
                if "version" in requests.get(f"{self.base}/hub/api", timeout=5).json():
                    return
            time.sleep(0.2)
        raise RuntimeError("the hub did not start:\n" + self.said())

    def said(self):
        return (self.state / "hub.log").read_text(encoding="utf-8", errors="replace")[-4000:]

    def home(self, name):
        return self.state / "homes" / name

    def processes(self, name):
        """The learner's processes: (server, [kernels])."""
        own = [p for p in psutil.Process(self.process.pid).children(recursive=True) if belongs_to(p, name)]
        servers = [p for p in own if "jupyterhub.singleuser" in p.cmdline()]
        return servers[0] if servers else None, [p for p in own if p not in servers]


def belongs_to(process, name):
    with contextlib.suppress(psutil.Error):
        return process.environ().get("JUPYTERHUB_USER") == name
    return False


class Learner:
    """Somebody at a browser. `seconds` holds how long each step took; `pull` follows a link, and may be called again."""

    def __init__(self, hub, name, repository, notebook, branch="main"):
        self.hub, self.name, self.repository, self.branch = hub, name, repository, branch
        self.link = hub_links.link(hub.base, repository, branch, notebook)
        self.notebook_name = notebook
        self.path = f"{hub_links.folder_of(repository)}/notebooks/{notebook}.ipynb"
        self.server = f"{hub.base}/user/{name}"
        self.session, self.seconds = requests.Session(), {}

    @contextlib.contextmanager
    def timed(self, step):
        begin = time.monotonic()
        yield
        self.seconds[step] = time.monotonic() - begin

    def log_in(self):
        page = self.session.get(f"{self.hub.base}/hub/login", timeout=LIMIT)
        page.raise_for_status()
        form = {"username": self.name, "password": PASSWORD, "_xsrf": html.unescape(re.search('name="_xsrf" value="([^"]*)"', page.text)[1])}
        answer = self.session.post(f"{self.hub.base}/hub/login", data=form, allow_redirects=False, timeout=LIMIT)
        assert answer.status_code == 302, f"{self.name} may not log in: {answer.status_code}"

    def follow_link(self):
        """Until the learner's own server shows the page that pulls. The hub starts it meanwhile."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            page = self.session.get(self.link, timeout=LIMIT)
            if page.ok and urllib.parse.urlsplit(page.url).path == f"/user/{self.name}/git-pull":
                return page
            time.sleep(1)
        raise TimeoutError(f"no server for {self.name}: {page.status_code} {page.url}\n{self.hub.said()}")

    def pull(self):
        """What that page's script does: ask the server to fetch, and listen until it is done."""
        page = self.follow_link()
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(page.url).query)
        wanted = {key: asked[key][0] for key in ("repo", "branch", "targetpath")}
        wanted["_xsrf"] = urllib.parse.unquote(re.search('data-xsrf="([^"]*)"', page.text)[1])
        stream = self.session.get(f"{self.server}/git-pull/api", params=wanted, stream=True, timeout=LIMIT)
        stream.raise_for_status()
        events = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith(b"data: ")]
        assert events and events[-1]["phase"] == "finished", f"{self.name}: {events[-3:]}"

    def ask(self, method, path, **given):
        given["headers"] = {"X-XSRFToken": self.token()}
        answer = self.session.request(method, f"{self.server}/api/{path}", timeout=LIMIT, **given)
        assert answer.ok, f"{self.name}: {method} {path}: {answer.status_code} {answer.text[:300]}"
        return answer.json() if answer.content else None

    def token(self):
        """The cookie against forged requests: the server's own, not the hub's."""
        return next(c.value for c in self.session.cookies if c.name == "_xsrf" and c.path.startswith(f"/user/{self.name}"))

    def open(self):
        """The notebook as it is saved, and a kernel for it."""
        self.notebook = self.ask("GET", f"contents/{self.path}", params={"content": 1})["content"]
        body = {"path": self.path, "name": self.path, "type": "notebook", "kernel": {"name": "python3"}}
        self.kernel = Kernel(self, self.ask("POST", "sessions", json=body)["kernel"]["id"])

    def run(self, cells):
        """Run these code cells, one after the other, and keep their outputs. An error ends it."""
        for cell in cells:
            cell["outputs"] = self.kernel.execute("".join(cell["source"]))
            cell["execution_count"] = self.kernel.count

    def save(self):
        body = {"type": "notebook", "format": "json", "content": self.notebook}
        self.ask("PUT", f"contents/{self.path}", json=body)


class Kernel:
    """A kernel behind a learner's server, spoken to over the same web socket as JupyterLab speaks."""

    def __init__(self, learner, ident):
        self.name, self.session, self.count = learner.name, uuid.uuid4().hex, 0
        address = f"{learner.server.replace('http', 'ws', 1)}/api/kernels/{ident}/channels"
        cookies = "; ".join(f"{c.name}={c.value}" for c in learner.session.cookies if c.path.startswith(("/user/", "/")) and c.name != "_xsrf")
        query = urllib.parse.urlencode({"session_id": self.session, "_xsrf": learner.token()})
        self.socket = websocket.create_connection(f"{address}?{query}", timeout=LIMIT, cookie=f"{cookies}; _xsrf={learner.token()}",
                                                  origin=learner.hub.base)  # fmt: skip

    def send(self, kind, content, channel="shell"):
        header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "session": self.session, "username": self.name, "version": "5.3"}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": channel, "buffers": []}
        self.socket.send(json.dumps(message))
        return header["msg_id"]

    def replies(self, ident):
        """The messages that answer one of ours, until the kernel is idle and, for a cell, has replied."""
        waiting = {"idle", "reply"}
        while waiting:
            message = self.receive()
            if message["parent_header"].get("msg_id") != ident:
                continue
            if message["header"]["msg_type"] == "execute_reply":
                self.count = message["content"]["execution_count"]
                waiting.discard("reply")
            elif message["header"]["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                waiting.discard("idle")
            else:
                yield message

    def receive(self):
        """One message; of one with buffers the JSON part, which comes first."""
        data = self.socket.recv()
        if isinstance(data, bytes):
            n = struct.unpack("!I", data[:4])[0]
            offsets = [*struct.unpack(f"!{n}I", data[4 : 4 * (n + 1)]), len(data)]
            data = data[offsets[0] : offsets[1]]
        return json.loads(data)

    def execute(self, code):
        """The outputs of a cell, as a notebook keeps them. Raises AssertionError with the traceback if there is one."""
        ident = self.send("execute_request", {"code": code, "silent": False, "store_history": True, "allow_stdin": False})
        found = [m for m in self.replies(ident) if m["header"]["msg_type"] in SHOWN]
        for message in found:
            assert message["header"]["msg_type"] != "error", f"{self.name}: {code[:80]}\n" + "\n".join(message["content"]["traceback"])
        return [as_output(m["header"]["msg_type"], m["content"]) for m in found]

    def answer(self, view, answers):
        """What the browser sends when a quiz is answered. view: the outputs of the cell that shows the quiz."""
        kind = "application/vnd.jupyter.widget-view+json"
        model = next(o["data"][kind]["model_id"] for o in view if kind in o.get("data", {}))
        data = {"method": "update", "state": {"answers": answers}, "buffer_paths": []}
        self.send("comm_msg", {"comm_id": model, "data": data})

    def close(self):
        self.socket.close()


def as_output(kind, content):
    """A message's content as an output of a notebook (nbformat 4)."""
    kept = {key: content[key] for key in ("data", "metadata", "name", "text", "execution_count") if key in content}
    return {"output_type": kind, **kept}


def bare_repository(files, folder):
    """A bare git repository in `folder` with one commit on main. files: {path: bytes}. Returns its address."""
    tree = Path(folder) / "tree"
    for path, data in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(data)
    git(tree, "init", "--quiet", "--initial-branch=main")
    commit(tree, "The course")
    bare = Path(folder) / "a-course.git"
    git(folder, "clone", "--quiet", "--bare", str(tree), str(bare))
    return bare.as_uri()


def commit(tree, message):
    git(tree, "add", "--all")
    git(tree, "-c", "user.name=Teacher", "-c", "user.email=teacher@example.org", "commit", "--quiet", "-m", message)


def git(folder, *words):
    subprocess.run(["git", *words], cwd=folder, check=True, timeout=60, env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull})
