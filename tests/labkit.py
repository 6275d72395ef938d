"""JupyterLab on 127.0.0.1 with nothing shared with the user's own set-up, driven in a headless Chromium.

The browser is the system's own (Debian: `apt-get install chromium`), named by COURSE_LIB_CHROMIUM if it lies elsewhere.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from importlib import resources
from pathlib import Path

import nbformat

CHROMIUM = os.environ.get("COURSE_LIB_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
]
WHY_NOT = "no Chromium: install one (Debian: apt-get install chromium) or name it in COURSE_LIB_CHROMIUM"
THEMES = ("JupyterLab Light", "JupyterLab Dark")
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def write_notebook(path, *cells):
    """A notebook of code cells at path."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)


class Lab:
    """A server over the folder `root`; `app` is jupyterlab or notebook. Use it in a with block."""

    def __init__(self, root, home, app="jupyterlab"):
        self.root, self.home, self.app = Path(root), Path(home), app
        self.port, self.token = free_port(), os.urandom(16).hex()
        self.base = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        self._write_settings()
        self.log = open(self.home / "server.log", "wb")
        self.process = subprocess.Popen(
            self._command(),
            env=self._environment(),
            stdout=self.log,
            stderr=self.log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._wait()
        return self

    def __exit__(self, *exception):
        with contextlib.suppress(OSError):  # a server that no longer answers has no kernels to end
            with self._ask("/api/kernels") as reply:
                kernels = json.load(reply)
            for kernel in kernels:
                self._ask("/api/kernels/" + kernel["id"], method="DELETE").close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.log.close()

    def url(self, name):
        place = f"doc/tree/{name}" if self.app == "jupyterlab" else f"notebooks/{name}"
        return f"{self.base}/{place}?token={self.token}"

    def _write_settings(self):
        overrides = {
            "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
            "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
        }
        folder = self.home / "config" / "labconfig"
        folder.mkdir(parents=True)
        (folder / "default_setting_overrides.json").write_text(json.dumps(overrides), encoding="utf-8")

    def _environment(self):
        home = self.home
        places = {
            "JUPYTER_CONFIG_DIR": home / "config",
            "JUPYTER_DATA_DIR": home / "data",
            "JUPYTER_RUNTIME_DIR": home / "runtime",
            "JUPYTERLAB_SETTINGS_DIR": home / "settings",
            "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
            "IPYTHONDIR": home / "ipython",
            "COURSE_LIB_HOME": home / "progress",
            "PYTHONPATH": Path(__file__).parents[1],
        }
        path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
        return {
            **os.environ,
            **{name: str(place) for name, place in places.items()},
            "PATH": path,
            "OMP_NUM_THREADS": "1",
        }

    def _command(self):
        return [
            sys.executable,
            "-m",
            self.app,
            "--no-browser",
            "--allow-root",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={self.port}",
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={self.root}",
            f"--IdentityProvider.token={self.token}",
            "--LabApp.news_url=",
            "--LabApp.extension_manager=readonly",
            "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
            f"--{'LabApp' if self.app == 'jupyterlab' else 'JupyterNotebookApp'}.expose_app_in_browser=True",
            "--LanguageServerManager.autodetect=False",
        ]

    def _ask(self, path, method="GET", timeout=30):
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(self.base + path, headers=headers, method=method)
        return urllib.request.urlopen(request, timeout=timeout)

    def _wait(self, limit=90):
        end = time.monotonic() + limit
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(
                    "the server died:\n" + (self.home / "server.log").read_text(encoding="utf-8")[-3000:]
                )
            with contextlib.suppress(OSError), self._ask("/api/status", timeout=2):
                return
            time.sleep(0.1)
        raise TimeoutError("the server did not answer")


def launch(playwright):
    return playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)


def new_page(browser, lab, width=1280, height=1000):
    """A page that reaches the test server and nothing else; see `watched`."""
    context = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce")
    return watched(context, lambda address: address.startswith((lab.base, "data:", "blob:")))


def watched(context, allowed):
    """A page that gets what `allowed(address)` allows. page.outside and page.problems collect what went wrong."""
    page = context.new_page()
    page.outside, page.problems = [], []

    def gate(route):
        if allowed(route.request.url):
            route.continue_()
        else:
            page.outside.append(route.request.url)
            route.abort()

    context.route("**/*", gate)
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda message: page.problems.append(message.text) if message.type == "error" else None)
    return page


def open_notebook(page, lab, name):
    page.goto(lab.url(name))
    page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=90_000)
    page.wait_for_function(
        """() => { const kernel = window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel;
                   return kernel && kernel.connectionStatus === "connected" && kernel.status === "idle"; }""",
        timeout=90_000,
    )


def run_all(page, limit=300_000):
    """Run every cell, and wait until all are done."""
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(
        """() => { const notebook = window.jupyterapp.shell.currentWidget;
                   const cells = notebook.content.widgets.filter(cell => cell.model.type === "code");
                   return notebook.sessionContext.session.kernel.status === "idle" &&
                     cells.every(cell => cell.model.executionCount && cell.model.executionState !== "running"); }""",
        timeout=limit,
    )


def kernel_eval(page, code):
    """Run code in the notebook's kernel without a cell, and give back what it printed (the test's own back door)."""
    return page.evaluate(
        """async code => {
          const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
          let out = ""; const run = kernel.requestExecute({code, store_history: false});
          run.onIOPub = m => { if (m.header.msg_type === "stream") out += m.content.text;
                               if (m.header.msg_type === "error") out += m.content.traceback.join("\\n"); };
          await run.done; return out; }""",
        code,
    )


def cell(page, number):
    return page.locator(".jp-Notebook .jp-Cell").nth(number)


def set_theme(page, theme):
    page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
    light = "true" if theme.endswith("Light") else "false"
    page.wait_for_function("light => document.body.dataset.jpThemeLight === light", arg=light)


def axe(page, output):
    """What axe finds against WCAG 2.2 AA inside one output: a list of 'rule: element'."""
    if not page.evaluate("typeof axe !== 'undefined'"):
        page.evaluate((resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    # JupyterLab's body is 0 px high, and axe skips colour contrast in what it takes for clipped
    page.evaluate("document.body.style.height = '100vh'")
    output.scroll_into_view_if_needed()
    return output.evaluate(
        """async (node, tags) => { const found = await axe.run(node, {runOnly: {type: "tag", values: tags}});
          return found.violations.flatMap(v => v.nodes.map(
            n => `${v.id}: ${n.html.slice(0, 200)} ${n.failureSummary}`)); }""",
        WCAG,
    )
