"""A class on a hub: what the command refuses, the links, the numbers for Kubernetes, and a class in earnest."""

import json
import os
import sys
import urllib.parse

import hub_kit
import labkit
import nbformat
import psutil
import pytest
from handed_in import answered
from hub_class import attend, code_cells, work
from playwright import sync_api
from traitlets.config.loader import KVArgParseConfigLoader, PyFileConfigLoader

from course_lib import journal
from course_lib.classroom import hub, hub_links, release, tasks

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="JupyterHub runs on Linux and macOS only")
NOTEBOOK = "01_multi_head_intuition"


def told(monkeypatch, capsys, *words, root=True, installed=True, proxy=True):
    """(exit code, what is printed, what is complained of) of a dry run on a machine as described."""
    monkeypatch.setattr(hub.os, "geteuid", lambda: 0 if root else 1000)
    monkeypatch.setattr(hub, "find_spec", lambda name: installed or None)
    monkeypatch.setattr(hub.shutil, "which", lambda name, path: proxy or None)
    code = hub.main([*words, "--dry-run"])
    return (code, *capsys.readouterr())


# What is refused, and why


@pytest.mark.parametrize(
    ("words", "machine", "says"),
    [
        ([], {"installed": False}, "course_lib install hub"),
        ([], {"proxy": False}, "npm install --global --prefix"),
        ([], {"root": False}, "sudo python3 -m course_lib hub"),
        (["--dummy", "--ip", "0.0.0.0"], {}, "0.0.0.0 is open to others"),
        (["--dummy", "--ip", "192.168.1.7"], {"root": False}, "192.168.1.7 is open to others"),
        (["--dummy", "--ip", "::"], {}, ":: is open to others"),
        (["--dummy", "--ip", "example.org"], {}, "example.org is open to others"),
        (["--ip", "0.0.0.0"], {}, "passwords would travel for all to read"),
        (["--key", "k.pem"], {}, "belong together"),
        (["--ip", "0.0.0.0", "--certificate", "no.pem", "--key", "no.pem"], {}, "There is no file no.pem"),
    ],
)
def test_what_stands_in_the_way_is_said_in_a_sentence(monkeypatch, capsys, words, machine, says):
    code, printed, complaint = told(monkeypatch, capsys, *words, **machine)
    assert code == 1 and says in complaint and not printed


def test_a_port_in_use_is_refused(monkeypatch, capsys):
    with hub.socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, _, complaint = told(monkeypatch, capsys, "--dummy", "--port", port)
    assert code == 1 and f"Port {port} is in use" in complaint


def test_accounts_need_a_course_that_they_can_read(monkeypatch, capsys, tmp_path):
    tmp_path.chmod(0o700)
    (tmp_path / "bin").mkdir(mode=0o755)
    (tmp_path / "bin" / "python").touch(mode=0o755)
    with monkeypatch.context() as patch:
        (tmp_path / "course" / "hub").mkdir(parents=True, mode=0o755)
        patch.setattr(hub, "ROOT", tmp_path / "course")
        code, _, complaint = told(patch, capsys, "--port", str(hub_kit.free_port()))
    assert code == 1 and f"may not enter {tmp_path}," in complaint
    monkeypatch.setattr(hub.sys, "executable", str(tmp_path / "bin" / "python"))
    code, _, complaint = told(monkeypatch, capsys, "--port", str(hub_kit.free_port()))
    assert code == 1 and f"may not enter {tmp_path}," in complaint


def test_wrong_words_end_with_2(monkeypatch):
    with pytest.raises(SystemExit) as end:
        hub.main(["--nonsense"])
    assert end.value.code == 2


# What JupyterHub is told


def test_a_dry_run_starts_nothing_and_prints_the_command(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(hub.os, "execve", lambda *given: pytest.fail("started"))
    code, printed, _ = told(monkeypatch, capsys, "--dummy", "--port", str(hub_kit.free_port()), "--state", str(tmp_path / "state"))
    assert code == 0 and "authenticator_class=dummy" in printed and f"{tmp_path}/state/homes/{{username}}" in printed
    assert not (tmp_path / "state").exists()


def settings_of(*words):
    """The settings of hub/jupyterhub_config.py with these words of a command line over them, as JupyterHub merges them."""
    config = PyFileConfigLoader(str(hub.CONFIG)).load_config()
    config.merge(KVArgParseConfigLoader(list(words)).load_config())
    return config


def test_without_dummy_the_machines_accounts_log_in_but_not_its_administrator():
    config = settings_of()
    assert config["JupyterHub"]["authenticator_class"] == "pam" and "spawner_class" not in config["JupyterHub"]
    assert "root" in config["Authenticator"]["blocked_users"] and config["Authenticator"]["allow_all"] is True
    assert config["JupyterHub"]["bind_url"].startswith("http://127.0.0.1:")
    assert len(config["DummyAuthenticator"]["password"]) >= 32  # nobody's, so no door stands open if dummy is chosen by hand


def test_what_the_command_says_goes_over_the_file(tmp_path):
    auth = pytest.importorskip("jupyterhub.auth", reason="no JupyterHub: python3 -m course_lib install hub")
    config = settings_of(*hub.settings(hub.parser().parse_args(["--group", "students", "--ip", "::1", "--port", "8123"])))
    assert config["JupyterHub"]["bind_url"] == "http://[::1]:8123"
    who = auth.PAMAuthenticator(config=config)
    assert (who.allow_all, who.allowed_groups, who.blocked_users) == (False, {"students"}, {"root"})
    dummy = settings_of(*hub.settings(hub.parser().parse_args(["--dummy", "--state", str(tmp_path)])))["JupyterHub"]
    assert (dummy["authenticator_class"], dummy["spawner_class"]) == ("dummy", "simple")


# Links


def test_a_link_for_each_notebook(capsys):
    assert hub.main(["--links", "--repository", "https://example.org/someone/a-course.git", "--hub", "https://hub.example.org/", "--branch", "term"]) == 0
    links = capsys.readouterr().out.split()
    assert len(links) == len(tasks.shipped().notebooks)
    parts = urllib.parse.urlsplit(links[0])
    assert (parts.netloc, parts.path) == ("hub.example.org", "/hub/user-redirect/git-pull")
    assert dict(urllib.parse.parse_qsl(parts.query)) == {
        "repo": "https://example.org/someone/a-course.git", "branch": "term", "targetpath": "a-course",
        "urlpath": f"lab/tree/a-course/notebooks/{NOTEBOOK}.ipynb"}  # fmt: skip


def test_without_an_address_there_are_no_links(monkeypatch, capsys):
    monkeypatch.setattr(hub_links, "project", lambda: {"urls": {"Repository": "https://github.com/OWNER/a-course"}})
    assert hub.main(["--links"]) == 1
    assert "--repository" in capsys.readouterr().err
    monkeypatch.setattr(hub_links, "project", lambda: {"urls": {"Repository": "https://github.com/someone/a-course"}})
    assert hub.main(["--links"]) == 0
    assert "github.com%2Fsomeone%2Fa-course&" in capsys.readouterr().out


# A class in earnest

LEARNERS = int(os.environ.get("COURSE_LIB_LEARNERS", 20))
ANSWERS = [{"given": letter, "attempts": 1, "done": True} for letter in "BA"]  # the right one to Q1, and a wrong one


def first_part(notebook):
    """The cells up to the first exercise, answered by the learner, and its check."""
    solved = [cell for cell in answered(NOTEBOOK, only=["scaled_dot_product_attention"])["cells"] if cell["cell_type"] == "code"]
    cells = code_cells(notebook)
    last = next(i for i, cell in enumerate(cells) if cell["metadata"].get("exercise"))
    cells[last]["source"] = "".join(solved[last]["source"])
    return cells[: last + 1]


def records(the_hub, name):
    """What the learner's own folder holds, as (kind, id, …) of each record."""
    folder = the_hub.home(name) / ".local" / "share" / "transformers-by-experiment"
    found = [record for path in folder.glob(journal.NAMES) for record in journal.read_file(path)[0]]
    return sorted((r["kind"], r["id"], r.get("given") or r.get("status"), r.get("right")) for r in found)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A repository with what `release` hands out, for all notebooks."""
    folder = tmp_path_factory.mktemp("repository")
    return folder, hub_kit.bare_repository(dict(release.files(tasks.shipped())), folder)


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.skipif(bool(hub.missing()), reason=hub.missing())
def test_a_class_works_at_once_and_a_killed_server_loses_nothing(course, tmp_path, progress_home):
    folder, repository = course
    with hub_kit.Hub(tmp_path / "hub") as the_hub:
        learners = [hub_kit.Learner(the_hub, f"learner{i:02}", repository, NOTEBOOK) for i in range(LEARNERS)]
        unlucky = learners[0]

        def hour(learner):
            attend(learner, first_part, ANSWERS[learners.index(learner) % 2])
            if learner is unlucky:
                struck_down(the_hub, learner, folder)

        print("\n" + work(the_hub, learners, hour))
        for i, learner in enumerate(learners):
            given, right = ("B", True) if i % 2 == 0 else ("A", False)
            assert records(the_hub, learner.name) == [
                ("answer", f"{NOTEBOOK}/Q1", given, right), ("exercise", "scaled_dot_product_attention", "passed", None)], learner.name  # fmt: skip
            saved = json.loads((the_hub.home(learner.name) / learner.path).read_text(encoding="utf-8"))
            assert saved["cells"] == as_on_disk(learner.notebook)["cells"], learner.name
    assert not list(progress_home.iterdir()), "the records of somebody on the hub are in the teacher's folder"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(bool(hub.missing()), reason=hub.missing())
@pytest.mark.skipif(not labkit.CHROMIUM, reason=labkit.WHY_NOT)
def test_in_a_browser_a_link_leads_past_the_log_in_to_the_notebook(course, tmp_path):
    """A browser sends more than our learners do, and a hub that is careful looks at it."""
    with hub_kit.Hub(tmp_path / "hub") as the_hub, sync_api.sync_playwright() as playwright:
        learner = hub_kit.Learner(the_hub, "anna", course[1], NOTEBOOK)
        page = labkit.new_page(labkit.launch(playwright), the_hub)
        page.goto(learner.link)
        page.fill("#username_input", learner.name)
        page.fill("#password_input", hub_kit.PASSWORD)
        page.click("#login_submit")
        page.wait_for_url(f"**/user/anna/lab/tree/{learner.path}", timeout=180_000)
        page.locator(".jp-Notebook h1", has_text="Multi-head intuition").wait_for(timeout=90_000)
        assert page.outside == [] and page.problems == []


def struck_down(the_hub, learner, folder):
    """Kill the learner's server while a cell runs; follow the link again; everything is there, and the course's news too."""
    kept = records(the_hub, learner.name)
    server, kernels = the_hub.processes(learner.name)
    learner.kernel.send("execute_request", {"code": "import time; time.sleep(600)", "silent": False})
    server.kill()
    publish_news(folder)
    learner.pull()
    assert the_hub.processes(learner.name)[0].pid != server.pid
    assert (the_hub.home(learner.name) / "a-course" / "NEWS.md").read_text(encoding="utf-8") == "More exercises."
    before = learner.notebook
    learner.open()
    assert as_on_disk(learner.notebook)["cells"] == as_on_disk(before)["cells"]
    shown = learner.kernel.execute(f"from course_lib.quiz import ask\nprint(ask({NOTEBOOK!r}, 'Q1').answers['Q1']['given'])")
    assert shown[0]["text"] == "B\n" and records(the_hub, learner.name) == kept
    _, left = psutil.wait_procs(kernels, timeout=60)
    assert not left, "the kernel of the killed server is still there"
    learner.save()


def publish_news(folder):
    (folder / "tree" / "NEWS.md").write_text("More exercises.", encoding="utf-8")
    hub_kit.commit(folder / "tree", "News")
    hub_kit.git(folder / "tree", "push", "--quiet", str(folder / "a-course.git"), "main")


def as_on_disk(notebook):
    """A notebook with its texts whole, as well as with its texts in lines, becomes the one that is saved."""
    return json.loads(nbformat.writes(nbformat.from_dict(notebook)))
