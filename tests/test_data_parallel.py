"""Training on two processes: the replicas stay equal, and it is the same training as on one with the whole batch."""

import json
import subprocess
from pathlib import Path

import pytest
import torch

from course_lib import data_parallel

ROOT = Path(__file__).parents[1]
ROWS, STEPS = 32, 6


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """The report of two processes, started as a learner would."""
    out = tmp_path_factory.mktemp("data_parallel") / "report.json"
    short = ["--steps", str(STEPS), "--batch-size", str(ROWS), "--out", str(out)]
    done = subprocess.run([*data_parallel.command(2), *short], cwd=ROOT, capture_output=True, timeout=240,
                          encoding="utf-8", errors="replace")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 process(es)" in done.stdout
    return json.loads(out.read_text(encoding="utf-8"))


def test_with_averaged_gradients_the_replicas_are_equal_and_without_they_are_not(two):
    assert two["processes"] == 2
    assert two["averaged"]["equal"] and not two["apart"]["equal"]


def test_it_is_the_same_training_as_on_one_process_with_the_whole_batch(two):
    one = data_parallel.report(STEPS, ROWS)
    assert one["processes"] == 1
    assert two["averaged"]["losses"] == pytest.approx(one["averaged"]["losses"], abs=1e-3)
    assert two["apart"]["losses"][0] == pytest.approx(one["apart"]["losses"][0], abs=1e-4)
    assert two["apart"]["losses"] != pytest.approx(one["apart"]["losses"], abs=1e-3)


def test_the_shares_hold_every_row_once():
    batch = (torch.arange(10), torch.arange(10) * 2)
    parts = [list(data_parallel.Shares([batch], rank, 3))[0] for rank in range(3)]
    assert sorted(torch.cat([part[0] for part in parts]).tolist()) == list(range(10))
    assert all(torch.equal(part[0] * 2, part[1]) for part in parts)


def test_the_cost_is_told(two):
    assert two["gradient_bytes"] == 4 * sum(p.numel() for p in data_parallel.new_model().parameters())
    assert two["averaged"]["ms_per_step"] > 0
    assert "different" in data_parallel.table(two) and "equal, bit by bit" in data_parallel.table(two)
