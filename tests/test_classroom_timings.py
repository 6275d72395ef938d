"""The table of timings: measured, not remembered."""

import json

import pytest

from course_lib.classroom import tasks, timings


@pytest.fixture
def two_notebooks(tmp_path, monkeypatch):
    for name, line in (("91_burns", "import time\nend = time.process_time() + 3\nwhile time.process_time() < end: pass"), ("92_stops", "1 / 0")):
        cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": line, "outputs": [], "execution_count": None}
        book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        (tmp_path / f"{name}.ipynb").write_text(json.dumps(book), encoding="utf-8")
    monkeypatch.setattr(tasks, "NOTEBOOKS", tmp_path)
    return tmp_path


@pytest.mark.skipif(timings.resource is None, reason="this system does not tell CPU seconds")
def test_the_work_of_the_kernel_is_counted_and_an_error_is_told(two_notebooks, capsys):
    assert timings.main([]) == 1
    _, burns, stops = capsys.readouterr().out.splitlines()
    assert float(burns.split()[1]) > float(stops.split()[1]) + 1.5
    assert "ZeroDivisionError" in stops


def test_an_unknown_notebook_is_refused(capsys):
    assert timings.main(["notebooks/77.ipynb"]) == 1
    assert "no notebook 77" in capsys.readouterr().err
