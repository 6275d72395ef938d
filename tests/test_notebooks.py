"""Every notebook runs, as shipped and with its exercises solved, within its budget and off the network."""

import json
from concurrent.futures import wait

import pytest
from notebook_runs import NOTEBOOKS, ROOT, RUNS, offline, run, solved

CELL_SECONDS = 15
NOTEBOOK_SECONDS = {"06_variants": 90}  # it runs the real language model; the others have
SECONDS = 60
PEAK_BYTES = 1e9

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
pytestmark = pytest.mark.timeout(1200)  # a notebook waits for those before it


@pytest.fixture(scope="module")
def runs(request):
    """{(notebook, "as shipped" or "solved"): a future Run}. They began with the first test: see conftest.py."""
    return request.config.stash[RUNS][1]


def over_budget(result, seconds):
    """What costs more than it may: a list of sentences."""
    problems = [
        f"a cell took {cell['cpu']:.1f} CPU seconds, of {CELL_SECONDS}: {cell['code'][:80]!r}"
        for cell in result.cells
        if cell["cpu"] > CELL_SECONDS
    ]
    if result.cpu > seconds:
        problems.append(f"the notebook took {result.cpu:.1f} CPU seconds, of {seconds}")
    if result.peak > PEAK_BYTES:
        problems.append(f"the kernel held {result.peak / 1e9:.2f} GB, of {PEAK_BYTES / 1e9}")
    return problems


def test_there_are_notebooks():
    assert NOTEBOOKS, f"no notebook in {ROOT / 'notebooks'}"


@each_notebook
def test_runs_as_shipped(path, runs):
    result = runs[path, "as shipped"].result()
    assert result.code == 0, result.output[:4000]
    assert result.cells, "no cell was run"


@each_notebook
def test_within_budget(path, runs, tmp_path):
    """Other tests ran beside it, which only makes it dearer: so what is too dear is measured again, alone."""
    seconds = NOTEBOOK_SECONDS.get(path.stem, SECONDS)
    if over_budget(runs[path, "as shipped"].result(), seconds):
        wait(runs.values())
        assert not over_budget(run(path, tmp_path / "alone"), seconds)


@each_notebook
def test_asks_nothing_of_the_network(path, runs):
    assert runs[path, "as shipped"].result().refused == []


@each_notebook
def test_runs_solved_and_without_the_experiments(path, runs):
    result = runs[path, "solved"].result()
    assert result.code == 0, result.output[:4000]


def test_table_of_costs(runs, capsys):
    lines = [f"{'notebook':28}{'variant':12}{'cells':>6}{'CPU s':>8}{'longest':>9}{'MB':>6}"]
    for (path, variant), future in runs.items():
        if future.exception():
            lines.append(f"{path.stem:28}{variant:12}{type(future.exception()).__name__}: {future.exception()}")
            continue
        result = future.result()
        longest = max((cell["cpu"] for cell in result.cells), default=0)
        lines.append(
            f"{path.stem:28}{variant:12}{len(result.cells):6}{result.cpu:8.1f}{longest:9.1f}"
            f"{result.peak / 1e6:6.0f}"
        )
    with capsys.disabled():
        print("\n" + "\n".join(lines))


# Each of these gates goes red when it should


def notebook_of(*sources, **metadata):
    cells = [
        {
            "cell_type": "code",
            "id": f"cell-{i}",
            "metadata": metadata if i == 0 else {},
            "outputs": [],
            "execution_count": None,
            "source": text,
        }
        for i, text in enumerate(sources)
    ]
    kernel = {"kernelspec": {"name": "some-kernel-of-the-author", "display_name": "?", "language": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells}


def write(path, notebook):
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path


def test_a_broken_costly_chatty_notebook_is_found(tmp_path):
    bad = notebook_of(
        "import socket, time\nlarge = bytearray(200_000_000)",
        "end = time.process_time() + 2\nwhile time.process_time() < end: pass",
        "try:\n    socket.create_connection(('example.org', 80), timeout=1)\nexcept OSError:\n    pass",
        "1 / 0",
    )
    result = run(write(tmp_path / "bad.ipynb", bad), tmp_path / "run")
    assert result.code == 1 and "ZeroDivisionError" in result.output
    assert [cell["ok"] for cell in result.cells] == [True, True, True, False]
    assert 2 <= result.cells[1]["cpu"] < 3 <= result.cpu + 1
    assert result.peak > 200_000_000
    assert result.refused == ["example.org"]


def alone(tmp_path):
    """A notebook run with offline() has no network, even in a process that kernel_watch does not see."""
    cell = (
        "import subprocess, sys\n"
        "code = 'import socket; socket.create_connection((\"192.0.2.1\", 9), timeout=5)'\n"
        "done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)\n"
        "assert 'unreachable' in done.stderr, done"
    )
    result = run(write(tmp_path / "alone.ipynb", notebook_of(cell)), tmp_path / "run", prefix=offline())
    assert result.code == 0, result.output


if offline():  # else kernel_watch alone has to do, as on other systems than Linux
    test_offline_is_offline = alone


def test_the_budget_is_kept_to_the_second_and_the_byte(tmp_path):
    from notebook_runs import Run

    cell = {"code": "x", "cpu": CELL_SECONDS, "ok": True}
    assert over_budget(Run(0, "", [cell], SECONDS, int(PEAK_BYTES), []), SECONDS) == []
    worse = Run(0, "", [{**cell, "cpu": CELL_SECONDS + 0.1}], SECONDS + 0.1, int(PEAK_BYTES) + 10_000_000, [])
    assert len(over_budget(worse, SECONDS)) == 3


def test_solving_replaces_stubs_and_leaves_out_experiments():
    from course_lib.attention import split_heads

    notebook = notebook_of(
        "def split_heads(x, n_heads):\n    ...\n\ncheck('split_heads', split_heads)",
        tags=["exercise"],
        exercise="split_heads",
    )
    long = {"cell_type": "markdown", "metadata": {"tags": ["experiment"]}, "source": "It takes long."}
    notebook["cells"].append(long)
    cells = solved(notebook, {"split_heads": split_heads})["cells"]
    assert len(cells) == 1 and long not in cells
    assert cells[0]["source"].split("\n") == [
        "from course_lib.attention import split_heads as split_heads",
        "",
        "check('split_heads', split_heads)",
        "assert check('split_heads', split_heads), check('split_heads', split_heads).message",
    ]
    assert notebook["cells"][0]["source"].startswith("def"), "the notebook itself must stay as it is"
