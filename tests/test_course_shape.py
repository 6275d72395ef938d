"""The shape of the course: notebooks and modules keep to their limits. Each gate is shown to go red, too."""

import json
import os
import subprocess
import sys
import warnings

import notebook_gates
import pytest
import tree_gates
import yaml
from notebook_runs import NOTEBOOKS, ROOT, read

notebook_gate = pytest.mark.parametrize("gate", notebook_gates.GATES, ids=lambda gate: gate.__name__)
tree_gate = pytest.mark.parametrize("gate", tree_gates.GATES, ids=lambda gate: gate.__name__)


@notebook_gate
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(gate, path):
    problems = gate(read(path))
    assert not problems, "\n".join(problems)


def test_the_commit_hook_leaves_every_notebook_as_it_is():
    """Else a first commit rewrites whole files, cell ids included."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    entry = next(hook["entry"] for hook in hooks if hook["id"] == "nbstripout").split()
    assert entry[0] == "python"
    done = subprocess.run(
        [sys.executable, *entry[1:], "--verify", *map(str, NOTEBOOKS)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"`{' '.join(entry)}` would change: {done.stdout}{done.stderr}"


@tree_gate
def test_tree(gate):
    problems = gate(ROOT)
    assert not problems, "\n".join(problems)


def test_style():
    """ruff finds nothing, with the rules of pyproject."""
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "."]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr


def test_smells_are_told():
    """What is longer than planned is no error, and is named among the warnings of the run."""
    found = [f"{path.stem}: {smell}" for path in NOTEBOOKS for smell in notebook_gates.smells(read(path))]
    found += tree_gates.smells(ROOT)
    if found:
        warnings.warn("worth a look:\n" + "\n".join(found), stacklevel=1)


def test_the_core_is_light():
    """The core imports without anything that draws, and adds at most 0.1 s of CPU to torch."""
    code = """
import sys, time, torch
begin = time.process_time()
import course_lib.attention
print(time.process_time() - begin, *({"matplotlib", "ipywidgets", "IPython", "triton"} & set(sys.modules)))
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    out = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    seconds, *drawing = out.stdout.split()
    assert float(seconds) < 0.1 and not drawing, out.stdout


def test_binder_would_build_what_we_mean(tmp_path):
    """repo2docker, as a dry run, takes binder/environment.yml and runs postBuild."""
    tree = tmp_path / "course"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(tree)], check=True)
    command = [sys.executable, "-m", "repo2docker", "--no-build", "--debug", str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    dockerfile = done.stdout + done.stderr
    assert done.returncode == 0, dockerfile
    assert 'env update -p ${NB_PYTHON_PREFIX} --file "binder/environment.yml"' in dockerfile
    assert "RUN ./binder/postBuild" in dockerfile


# A notebook that keeps to everything, and what each gate says when it does not


def cell(text, *tags, **metadata):
    return {
        "cell_type": "code",
        "id": f"c{abs(hash((text, tags))) % 10**8}",
        "execution_count": None,
        "outputs": [],
        "metadata": {**({"tags": list(tags)} if tags else {}), **metadata},
        "source": text.splitlines(keepends=True),
    }


def prose(text):
    return {"cell_type": "markdown", "id": f"m{abs(hash(text)) % 10**8}", "metadata": {}, "source": text.splitlines(keepends=True)}


STUB = 'def split_heads(x, n_heads):\n    """x (B, T, d_model) -> (B, h, T, d_k)."""\n    ...'
BUILT = (
    "def merge_heads(x):\n    n_batch, n_heads, n_tokens, d_k = x.shape\n"
    "    return x.transpose(1, 2).reshape(n_batch, n_tokens, n_heads * d_k)"
)


def good():
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "cells": [
            prose("# 2 · A title\n\nAbout 20 minutes. It builds on [notebook 01](01_first.ipynb)."),
            prose("**After this you can**\n\n- split a vector into heads;\n- name a matrix."),
            cell("import torch\nfrom course_lib import plots\nfrom course_lib.exercises import check"),
            cell("SEED = 0\nFULL = False", "parameters"),
            prose("## Symbols used here"),
            cell(STUB + "\n\n\ncheck('split_heads', split_heads)", "exercise", exercise="split_heads"),
            cell("x = torch.zeros(3)\nx"),
            cell("plots.show(plots.plot_weights(x), 'Nothing is looked at.')"),
            cell("runs = [x]", "experiment"),
            cell("print(runs)", "experiment"),
            cell("ask('01_title')"),
            prose("**Now you can** split vectors of any width; and name two matrices.\n\n**To read.** A book; a page."),
        ],
    }


@notebook_gate
def test_a_good_notebook_passes(gate):
    assert gate(good()) == []


def changed(index, **keys):
    """The good notebook with cell `index` changed."""
    notebook = good()
    notebook["cells"][index] = notebook["cells"][index] | keys
    return notebook


def replaced(index, new):
    notebook = good()
    notebook["cells"][index : index + 1] = new if isinstance(new, list) else [new]
    return notebook


HOME = "/" + "home/ada/course"
OUTPUT = [{"output_type": "stream", "name": "stdout", "text": HOME}]
BAD_NOTEBOOKS = [
    ("stripped", changed(6, outputs=OUTPUT), "carries outputs"),
    ("stripped", changed(6, execution_count=3), "carries outputs"),
    ("stripped", replaced(6, cell("x", "keep_output")), "has no output"),
    ("stripped", changed(6, outputs=OUTPUT, execution_count=1, metadata={"tags": ["keep_output"]}), "folder"),
    ("stripped", good() | {"metadata": {"widgets": {}}}, "widgets"),
    ("nothing_hidden", changed(6, metadata={"jupyter": {"source_hidden": True}}), "hidden"),
    ("nothing_hidden", replaced(6, cell("x", "hide-input")), "hidden"),
    ("format_is_current", good() | {"nbformat_minor": 4}, "older"),
    ("format_is_current", changed(6, id=good()["cells"][5]["id"]), "doubled"),
    ("format_is_current", changed(6, source="x = 1"), "one string"),
    ("format_is_current", good() | {"metadata": {"kernelspec": {"name": "mine"}}}, "kernel"),
    ("plain_python", replaced(6, cell("%matplotlib inline")), "magic"),
    ("plain_python", replaced(6, cell("!pip install torch")), "magic"),
    ("plain_python", replaced(6, cell("x = = 1")), "no Python"),
    ("plain_python", replaced(6, cell("from matplotlib import pyplot")), "pyplot"),
    ("plain_python", replaced(6, cell("interact(f, x=3)")), "interact"),
    ("aims_come_back", replaced(11, prose("**Now you can** do what the list says.")), "2 aims at the top, 1"),
    ("aims_come_back", replaced(11, prose("**Now you can** name a matrix; split a vector.")), "does not come back"),
    ("foundations_are_linked", replaced(0, prose("# 2 · A title\n\nIt builds on notebook 01.")), "01 without a link"),
    ("foundations_are_linked", replaced(0, prose("# 2 · A title")), "links no notebook"),
    ("minutes_are_reckoned", replaced(0, prose("# 1 · A title\n\nAbout 60 minutes.")), "says 60 minutes; reckoned are 1"),
    ("words_of_the_course", replaced(6, prose("The head size")), "head size is called d_k"),
    ("words_of_the_course", replaced(6, cell("num_heads = 3")), "calls num_heads what is n_heads"),
    ("anatomy", replaced(0, prose("No title, 60 minutes")), "title"),
    ("anatomy", replaced(0, prose("# Title")), "minutes"),
    ("anatomy", replaced(4, prose("## Other things")), "Symbols"),
    ("anatomy", replaced(3, cell("SEED = 0", "parameters")), "FULL"),
    ("anatomy", replaced(10, cell("print()")), "quiz"),
    ("anatomy", replaced(6, cell("predict('a')\npredict('b')\npredict('c')")), "3 predictions"),
    ("anatomy", replaced(6, cell("explore_a()\nexplore_b()\nexplore_c()\nexplore_d()")), "4 widgets"),
    ("imports_first", replaced(2, cell("\n".join(f"import m{i}" for i in range(9)))), "9 lines"),
    ("imports_first", replaced(6, cell("import math")), "imports"),
    ("cell_sizes", replaced(6, cell("\n".join(["x"] * 16))), "16 lines"),
    ("cell_sizes", replaced(6, cell("\n".join(["x"] * 26), "build")), "26 lines"),
    ("cell_sizes", replaced(6, [cell("\n".join(["x"] * 7))] * 9), "median"),
    ("definitions", replaced(6, cell("def f():\n    pass")), "defines f"),
    ("figures_speak", replaced(7, cell("plots.show(fig)")), "without alt"),
    ("figures_speak", replaced(7, cell("plots.plot_weights(x)")), "not through show"),
    ("experiments_stand_alone", replaced(7, cell("print(runs)")), "uses runs"),
    ("builds_equal_the_library", replaced(6, cell(BUILT.replace("1, 2", "2, 1"), "build")), "not the same"),
    ("builds_equal_the_library", replaced(6, cell("def f():\n    pass", "build")), "has no f"),
    ("exercises", replaced(5, cell(STUB, "exercise", exercise="split_heads")), "no cell"),
    ("exercises", replaced(5, cell(STUB + "\ncheck('no', 1)", "exercise", exercise="no")), "no exercise"),
    (
        "exercises",
        replaced(
            5,
            cell(
                "def split_heads(x):\n    return x\ncheck('split_heads', 1)",
                "exercise",
                exercise="split_heads",
            ),
        ),
        "no stub",
    ),
]


@pytest.mark.parametrize(
    ("name", "notebook", "says"), BAD_NOTEBOOKS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_bad_notebook_is_found(name, notebook, says):
    problems = getattr(notebook_gates, name)(json.loads(json.dumps(notebook)))
    assert any(says in problem for problem in problems), problems


def test_a_build_cell_may_differ_in_docstrings_and_annotations():
    text = 'def causal_mask(n, device=None):\n    """Other words."""\n'
    source = (ROOT / "course_lib" / "masks.py").read_text(encoding="utf-8")
    body = notebook_gates.bare(
        next(n for n in notebook_gates.ast.parse(source).body if getattr(n, "name", "") == "causal_mask")
    )
    annotated = body.replace("def causal_mask(n, device=None):", text.strip("\n"), 1).replace(
        "(n,", "(n: int,", 1
    )
    assert notebook_gates.builds_equal_the_library(replaced(6, cell(annotated, "build"))) == []


# A small tree, and what each gate says about it when it is bad


PYPROJECT = '[project]\ndependencies = [\n  "torch>=2,<3",  # tensors\n]\n'
PYPROJECT += '[project.urls]\nRepository = "https://example.org/owner/course"\n'
README = "https://mybinder.org/v2/gh/owner/course/HEAD\n| [01](notebooks/01_x.ipynb) | why? | 5 |\n"
ENVIRONMENT = "channels:\n  - conda-forge\ndependencies:\n  - python=3.11\n  - pip\n  - pytorch>=2,<3\n"
LONG = "def f():\n" + "    x = 1\n" * 31

BAD_TREES = [
    (
        "layering",
        {"course_lib/masks.py": "from course_lib import attention"},
        "masks.py may not import attention",
    ),
    ("layering", {"course_lib/new.py": ""}, "say in"),
    ("right_libraries", {"course_lib/blocks.py": "def f():\n    import matplotlib.pyplot"}, "matplotlib"),
    ("right_libraries", {"course_lib/blocks.py": "import triton"}, "triton"),
    ("right_libraries", {"course_lib/plots.py": "import ipywidgets"}, "ipywidgets"),
    ("right_libraries", {"course_lib/tasks/text.py": "from urllib.request import urlopen"}, "urllib.request"),
    (
        "one_definition",
        {"course_lib/masks.py": "def f(): 0", "course_lib/widgets/mask.py": "def f(): 0"},
        "f is defined",
    ),
    ("vocabulary", {"course_lib/blocks.py": "def f(num_heads): 0"}, "num_heads is called n_heads"),
    ("vocabulary", {"course_lib/blocks.py": "SAYS = 'the head_dim is 4'"}, "head_dim is called d_k"),
    ("vocabulary", {"course_lib/widgets/x.js": "label = 'Hidden size and head size'"}, "head size is called d_k"),
    ("vocabulary", {"quizzes/01_x.yaml": "text: two timesteps"}, "timestep is called position"),
    ("short_functions", {"course_lib/blocks.py": LONG}, "31 lines"),
    ("plain_names", {"course_lib/utils.py": ""}, "says nothing"),
    ("no_traces", {"notes.md": f"It is in {HOME}."}, "notes.md:1"),
    ("no_traces", {"notes.md": "\npip install --index" + "-url x"}, "notes.md:2"),
    ("nothing_generated", {"out/page.html": "x"}, "generated"),
    ("environments_agree", {"environment.yml": ENVIRONMENT.replace(">=2,", ">=1,")}, "pytorch"),
    ("environments_agree", {"environment.yml": ENVIRONMENT.replace("=3.11", ">=3.11")}, "python"),
    ("environments_agree", {"environment.yml": ENVIRONMENT.replace("conda-forge", "defaults")}, "channels"),
    ("environments_agree", {"environment.yml": ENVIRONMENT + "  - scipy\n"}, "scipy"),
    ("environments_agree", {"binder/environment.yml": ENVIRONMENT + "\n"}, "no copy"),
    ("dependencies_are_listed", {"course_lib/masks.py": "import numpy"}, "numpy, which is not listed"),
    ("dependencies_have_reasons", {"pyproject.toml": PYPROJECT.replace("  # tensors", "")}, "no reason"),
    ("front_page", {"README.md": README.replace("owner", "other")}, "the badge should open"),
    ("front_page", {"README.md": README.replace("| 5", "| 6")}, "01_x.ipynb with its minutes, 5"),
    ("front_page", {"notebooks/02_y.ipynb": "About 7 minutes."}, "02_y.ipynb with its minutes, 7"),
]


def tree(folder, files):
    """A small tree in a git repository of its own."""
    good_files = {
        "pyproject.toml": PYPROJECT,
        "environment.yml": ENVIRONMENT,
        "binder/environment.yml": ENVIRONMENT,
        "README.md": README,
        "notebooks/01_x.ipynb": "About 5 minutes.",
    }
    for name, text in (good_files | {"course_lib/masks.py": "def causal_mask(n): 0"} | files).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    subprocess.run("git init -q && git add -A -f", shell=True, cwd=folder, check=True)
    return folder


@tree_gate
def test_a_good_tree_passes(gate, tmp_path):
    assert gate(tree(tmp_path, {})) == []


@pytest.mark.parametrize(
    ("name", "files", "says"), BAD_TREES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_bad_tree_is_found(name, files, says, tmp_path):
    problems = getattr(tree_gates, name)(tree(tmp_path, files))
    assert any(says in problem for problem in problems), problems


def test_every_gate_has_been_seen_red():
    seen = {name for name, _, _ in BAD_NOTEBOOKS + BAD_TREES}
    assert seen == {gate.__name__ for gate in notebook_gates.GATES + tree_gates.GATES}
