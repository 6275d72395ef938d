"""Open the course in JupyterLab: on this machine only, with a token, and with nothing fetched from anywhere.

It is started by `python3 -m course_lib lab`, which has seen to it that the packages are there.
"""

import argparse
import contextlib
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from jupyter_core import paths

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"), key=lambda path: path.stem)
FIRST_NOTEBOOK = f"notebooks/{NOTEBOOKS[0].name}" if NOTEBOOKS else ""  # a class may have been given only some of them


def settings(port, browser):
    """JupyterLab's command line, a list of str, for a server on `port` that opens a browser if `browser`."""
    values = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,  # the address printed is the address served
        "ServerApp.root_dir": ROOT,
        "ServerApp.allow_root": True,  # containers often have no other user
        "ServerApp.answer_yes": True,  # one Ctrl-C ends it
        "ServerApp.open_browser": browser,
        "LabApp.default_url": f"/lab/tree/{FIRST_NOTEBOOK}",
        "LabApp.news_url": None,
        "LabApp.check_for_updates_class": "jupyterlab.handlers.announcements.NeverCheckForUpdate",
        "LabApp.extension_manager": "readonly",  # the other one asks the package index
        "LanguageServerManager.autodetect": False,
        "Application.log_level": "ERROR",
    }
    return [f"--{name}={value}" for name, value in values.items()]


def environment(token):
    """Environment variables for JupyterLab: our token, this Python's kernels before the learner's, our settings.

    The file in jupyter_settings/labconfig keeps away the pop-up that offers news.
    """
    folders = [str(Path(__file__).parent / "jupyter_settings"), os.environ.get("JUPYTER_CONFIG_PATH")]
    return os.environ | {
        "JUPYTER_TOKEN": token,
        "JUPYTER_PREFER_ENV_PATH": "1",
        "JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, folders)),
    }


def writable(folder):
    """True if this user may write there; a folder that is not there yet is judged by the one it would be made in."""
    folder = Path(folder)
    while not folder.exists():
        folder = folder.parent
    return os.access(folder, os.W_OK)


def replacements(spare):
    """{environment variable: `spare`} for each folder that Jupyter keeps things in, and cannot write to."""
    kept = {
        "CONFIG": paths.jupyter_config_dir(),
        "DATA": paths.jupyter_data_dir(),
        "RUNTIME": paths.jupyter_runtime_dir(),
    }
    return {f"JUPYTER_{kind}_DIR": spare for kind, folder in kept.items() if not writable(folder)}


def free_port(wanted=None):
    """`wanted`, or else the first free port from 8888. Raises OSError if there is none."""
    candidates = [wanted] if wanted else range(8888, 8988)
    for port in candidates:
        with socket.socket() as trial, contextlib.suppress(OSError):
            trial.bind(("127.0.0.1", port))
            return port
    raise OSError(f"Port {candidates[0]} is in use: leave out --port, or name another.")


def is_open(port, server, seconds=120):
    """True once something listens on the port; False if the server process ends first, or after `seconds`."""
    end = time.monotonic() + seconds
    while server.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        time.sleep(0.1)
    return False


def parse(arguments):
    """The options of this command, and the arguments left for JupyterLab."""
    parser = argparse.ArgumentParser("python3 -m course_lib lab", allow_abbrev=False,
                                     epilog="Anything else is passed on to JupyterLab.")
    parser.add_argument("--port", type=int, help="serve there; otherwise on the first free port from 8888")
    parser.add_argument("--no-browser", action="store_true", help="print the address, and no more")
    parser.add_argument("--no-models", action="store_true", help="do not fetch the two real models (176 MB)")
    return parser.parse_known_args(arguments)


def main(arguments):
    options, for_jupyter = parse(arguments)
    try:
        port = free_port(options.port)
    except OSError as error:
        sys.exit(str(error))
    with tempfile.TemporaryDirectory() as spare:
        return serve(port, options, for_jupyter, replacements(spare))


def serve(port, options, for_jupyter, folders):
    """Run JupyterLab until it ends, with these environment variables besides ours; returns its exit code."""
    if folders:
        print("Your home folder cannot be written to: what JupyterLab keeps there lasts until it ends.", flush=True)
    token = secrets.token_hex(24)
    jupyter = [sys.executable, "-P", "-m", "jupyterlab"]
    command = [*jupyter, *settings(port, not options.no_browser), *for_jupyter]
    server = subprocess.Popen(command, cwd=ROOT, env=environment(token) | folders)
    fetching = None
    try:
        if is_open(port, server):
            address = f"http://127.0.0.1:{port}/lab/tree/{FIRST_NOTEBOOK}?token={token}"
            print(f"\nThe course is open at\n\n    {address}\n\nCtrl-C ends it.\n", flush=True)
            if not options.no_models:
                fetch = [sys.executable, "-m", "course_lib", "models", "--quiet"]
                fetching = subprocess.Popen(fetch, cwd=ROOT, stdin=subprocess.DEVNULL)
        return server.wait()
    except KeyboardInterrupt:
        return server.wait()  # it got the Ctrl-C as well, and is closing its kernels
    finally:
        if fetching:
            fetching.terminate()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
