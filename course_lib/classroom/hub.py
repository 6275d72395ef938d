"""python3 -m course_lib hub: a JupyterHub on this machine, to try how the course runs for a class.

Everybody on it has a folder and records of their own. As shipped it serves the accounts of this machine, whose
passwords it asks the system for (PAM), and must be started as root. With --dummy it takes any name with one password,
which it prints, and all learners run as you: only for trying, and only on this machine. --links prints for each
notebook a link that fetches the course into a learner's folder and opens it.

The settings are in hub/jupyterhub_config.py; hub/values.yaml is for Kubernetes. Ctrl-C ends the hub and its servers.
"""

import argparse
import contextlib
import ipaddress
import os
import secrets
import shlex
import shutil
import socket
import stat
import sys
from importlib.util import find_spec
from pathlib import Path

from course_lib.classroom import hub_links
from course_lib.classroom.tasks import ROOT
from course_lib.lab import free_port

CONFIG = ROOT / "hub" / "jupyterhub_config.py"
PROXY = "configurable-http-proxy"


def parser():
    p = argparse.ArgumentParser(prog="python3 -m course_lib hub", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--dummy", action="store_true", help="no accounts: any name, one password, all as the user who starts it")
    p.add_argument("--ip", default="127.0.0.1", help="the address to serve (default: %(default)s, this machine alone)")
    p.add_argument("--port", type=int, default=8000, help="default: %(default)s")
    p.add_argument("--certificate", metavar="FILE", type=Path, help="with --key: serve https; needed for any other address")
    p.add_argument("--key", metavar="FILE", type=Path, help="the certificate's private key")
    p.add_argument("--group", action="append", default=[], help="let in only members of this group of accounts; may be repeated")
    p.add_argument("--state", metavar="DIR", type=Path, default=ROOT / "out" / "hub",
                   help="where the hub keeps what it knows, and --dummy its learners' folders (default: out/hub)")  # fmt: skip
    p.add_argument("--dry-run", action="store_true", help="print the command that would be run, and stop")
    hub_links.add_options(p)
    return p


def main(arguments):
    """Become the hub. Returns an exit code only if it does not: 0 if nothing was to be started, 1 if something stands in the way."""
    options = parser().parse_args(arguments)
    if options.links:
        return hub_links.main(options, address(options))
    problem = in_the_way(options)
    if problem:
        print(problem, file=sys.stderr)
        return 1
    command = [sys.executable, "-P", "-m", "jupyterhub", "-f", str(CONFIG), *settings(options)]
    if options.dry_run:
        print(f"in {options.state}:\n{shlex.join(command)}")
        return 0
    options.state.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.chdir(options.state)  # JupyterHub keeps its data base, its keys and its proxy's number where it is started
    environment = os.environ | {"PATH": search_path()}
    print(f"The hub opens at {address(options)} in some seconds. Ctrl-C ends it.", flush=True)
    if options.dummy:
        environment["COURSE_HUB_PASSWORD"] = os.environ.get("COURSE_HUB_PASSWORD") or secrets.token_urlsafe(9)
        print(f"Any name will do, with the password {environment['COURSE_HUB_PASSWORD']}", flush=True)
    os.execve(command[0], command, environment)


# What must be so


def in_the_way(options):
    """A sentence on the first thing that keeps the hub from starting, and what to do about it; "" if there is none."""
    return missing() or forbidden(options) or unusable(options)


def missing():
    """What is not installed."""
    if sys.platform == "win32":
        return "JupyterHub runs on Linux and macOS only."
    if not (find_spec("jupyterhub") and find_spec("nbgitpuller")):
        return "JupyterHub is not there: python3 -m course_lib install hub"
    if not shutil.which(PROXY, path=search_path()):
        return (f"JupyterHub's proxy is not there. With Node.js 20 or newer: npm install --global --prefix {shlex.quote(sys.prefix)} {PROXY}@5")
    return ""


def forbidden(options):
    """What would be dangerous."""
    if options.dummy and not is_loopback(options.ip):
        return (f"--dummy lets in whoever knows one password, as you. That is for this machine alone, and {options.ip} is open to "
                "others: leave out --ip, or leave out --dummy.")  # fmt: skip
    if bool(options.certificate) != bool(options.key):
        return "--certificate and --key belong together: give both."
    if not options.certificate and not is_loopback(options.ip):
        return (f"At {options.ip} passwords would travel for all to read: give --certificate and --key, or leave out --ip and "
                "let a web server with a certificate pass on to this machine's port.")  # fmt: skip
    if not options.dummy and os.geteuid() != 0:
        return "Only root can start servers for other accounts: sudo python3 -m course_lib hub. To try it alone: --dummy"
    return ""


def unusable(options):
    """A file, folder or port that cannot be used."""
    absent = [path for path in (options.certificate, options.key) if path and not path.is_file()]
    if absent:
        return f"There is no file {absent[0]}."
    needed = (ROOT / "hub", Path(sys.executable), Path(sys.executable).resolve())
    closed = [] if options.dummy else [f for path in needed for f in path.parents if not f.stat().st_mode & stat.S_IXOTH]
    if closed:
        return (f"Other accounts may not enter {closed[0]}, where the course or its Python is: start the hub from a copy that all can "
                "read, such as /srv/course, with a Python that all can read, such as the system's.")  # fmt: skip
    try:
        free_port(options.port)
    except OSError:
        return f"Port {options.port} is in use (or not yours to use): name another by --port."
    return ""


def is_loopback(ip):
    """True if only this machine reaches the address. A name is none that we could judge, but for localhost."""
    try:
        return ipaddress.ip_address(ip).is_loopback
    except ValueError:
        return ip == "localhost"


# What JupyterHub is told


def settings(options):
    """JupyterHub's command line: what hub/jupyterhub_config.py leaves open."""
    inner, proxys = unused_ports(2)
    values = {
        "JupyterHub.bind_url": address(options),
        "JupyterHub.hub_port": inner,
        "ConfigurableHTTPProxy.api_url": f"http://127.0.0.1:{proxys}",
    }
    if options.dummy:
        values |= {
            "JupyterHub.authenticator_class": "dummy",
            "JupyterHub.spawner_class": "simple",
            "SimpleLocalProcessSpawner.home_dir_template": f"{options.state.resolve()}/homes/{{username}}",
        }
    if options.group:
        values |= {"Authenticator.allow_all": False, "PAMAuthenticator.allowed_groups": set(options.group)}
    if options.certificate:
        values |= {"JupyterHub.ssl_cert": options.certificate.resolve(), "JupyterHub.ssl_key": options.key.resolve()}
    return [f"--{name}={value}" for name, value in values.items()]


def address(options):
    host = f"[{options.ip}]" if ":" in options.ip else options.ip
    return f"{'https' if options.certificate else 'http'}://{host}:{options.port}"


def unused_ports(n):
    """`n` ports of this machine that nobody listens on."""
    with contextlib.ExitStack() as held:
        trials = [held.enter_context(socket.socket()) for _ in range(n)]
        for trial in trials:
            trial.bind(("127.0.0.1", 0))
        return [trial.getsockname()[1] for trial in trials]


def search_path():
    """PATH, with this Python's own commands first: npm's --prefix puts the proxy there."""
    return os.path.join(sys.prefix, "bin") + os.pathsep + os.environ.get("PATH", os.defpath)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
