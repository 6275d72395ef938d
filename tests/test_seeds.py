"""benchmarks/seeds.py: which asserts of a notebook hold on fresh seeds, and by how much. Each case is known beforehand."""

import json

from benchmarks import seeds


def notebook_of(*sources):
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in sources]
    cells.insert(0, {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": "SEED = 0\nFULL = False"})
    return {"cells": [{"cell_type": "markdown", "metadata": {}, "source": "# A title"}, *cells]}


def test_a_failed_assert_is_counted_and_the_cells_go_on():
    ledger = seeds.run(notebook_of("assert SEED == 0\nx = 1", "assert x < 3\nassert FULL"), seed=7)
    held = {text: entry["held"] for text, entry in ledger.asserts.items()}
    assert held == {"assert SEED == 0": False, "assert x < 3": True, "assert FULL": False} and not ledger.errors


def test_full_is_set_where_it_is_asked_for():
    assert seeds.run(notebook_of("assert FULL and SEED == 3"), seed=3, full=True).asserts["assert FULL and SEED == 3"]["held"]


def test_the_margin_is_the_nearest_of_all_comparisons_and_of_all_turns_of_a_loop():
    ledger = seeds.run(notebook_of("for x in (1.0, 3.0):\n    assert 0 < x < 4 and x + 10 > 1"), seed=0)
    entry = ledger.asserts["assert 0 < x < 4 and x + 10 > 1"]
    assert entry == {"held": True, "margin": 1.0}
    ledger = seeds.run(notebook_of("for x in (1.0, 5.0, 2.0):\n    assert 0 < x < 4"), seed=0)
    assert ledger.asserts["assert 0 < x < 4"] == {"held": False, "margin": -1.0}


def test_tensors_compare_as_in_the_notebook():
    code = "import torch\nx = torch.tensor([1.0, 2.0])\nassert (x > 0.5).all()\nassert (x < 1.5).all()\nassert x.max() <= 2"
    ledger = seeds.run(notebook_of(code), seed=0)
    assert [entry["held"] for entry in ledger.asserts.values()] == [True, False, True]
    assert [entry["margin"] for entry in ledger.asserts.values()] == [0.5, -0.5, 0.0]


def test_another_error_is_told_and_the_next_cell_still_runs():
    ledger = seeds.run(notebook_of("1 / 0", "assert 1 < 2"), seed=0)
    assert len(ledger.errors) == 1 and "ZeroDivisionError" in ledger.errors[0] and "'1 / 0'" in ledger.errors[0]
    assert ledger.asserts["assert 1 < 2"]["held"]


def test_the_table_names_the_seeds_that_failed():
    reports = {seed: vars(seeds.run(notebook_of("assert SEED < 250"), seed)) for seed in (100, 200, 300)}
    (line,) = seeds.table(reports)
    assert line.split()[:3] == ["2", "of", "3"] and line.endswith("FAILED on [300]") and "-50" in line


def test_a_whole_run_in_its_own_processes(tmp_path, capsys):
    path = tmp_path / "99_small.ipynb"
    path.write_text(json.dumps(notebook_of("assert SEED != 2", "assert True")), encoding="utf-8")
    assert seeds.main(["99", "1"], tmp_path) == 0 and seeds.main(["99", "1", "2"], tmp_path) == 1
    assert "FAILED on [2]" in capsys.readouterr().out
    assert seeds.main(["98"], tmp_path) == 2 and seeds.main([], tmp_path) == 2


def test_a_process_that_dies_is_an_error(tmp_path):
    path = tmp_path / "dies.ipynb"
    path.write_text(json.dumps(notebook_of("import os\nos._exit(9)")), encoding="utf-8")
    report = seeds.in_a_process(path, 1)
    assert "status 9" in report["errors"][0]
