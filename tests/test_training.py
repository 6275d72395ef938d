import random
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from carry import small_config

from course_lib import training
from course_lib.models import Decoder


def test_shift_right_begins_with_bos_and_drops_the_last_target():
    targets = torch.tensor([[4, 5, 6], [7, 8, 9]])
    before = targets.clone()
    shifted = training.shift_right(targets, 1)
    assert shifted.tolist() == [[1, 4, 5], [1, 7, 8]] and shifted.dtype == torch.int64
    assert torch.equal(targets, before)
    assert training.shift_right(targets[:, :1], 1).tolist() == [[1], [1]]


def test_a_seed_repeats_both_generators():
    draws = []
    for seed in (3, 3, 4):
        training.set_seed(seed)
        draws.append((random.random(), torch.rand(1).item()))
    assert draws[0] == draws[1] != draws[2]


def test_the_device_is_one_that_computes():
    assert torch.ones(2, device=training.device()).sum().item() == 2


@pytest.mark.parametrize("quota, cores", [(2.0, 2), (1.5, 1), (0.5, 1), (None, 8), (64.0, 8)])
def test_a_containers_quota_counts(monkeypatch, quota, cores):
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: range(8), raising=False)
    monkeypatch.setattr(training, "cpu_quota", lambda: quota)
    assert training.available_cores() == cores


def test_cores_that_are_held_back_are_not_counted(monkeypatch):
    """As by taskset, a queue's cpuset, or docker run --cpuset-cpus."""
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 5}, raising=False)
    monkeypatch.setattr(training, "cpu_quota", lambda: None)
    assert training.available_cores() == 2
    monkeypatch.delattr("os.sched_getaffinity")  # macOS and Windows
    assert training.available_cores() == 8


@pytest.mark.parametrize("quota, threads", [(2.0, 2), (None, 4)])
def test_torch_takes_no_more_threads_than_a_containers_quota(quota, threads):
    code = ("import os, torch\nfrom course_lib import cgroups\ntorch.set_num_threads(4)\n"
            "os.sched_getaffinity = lambda process: range(4)\n"
            f"cgroups.cpu_quota = lambda: {quota}\nimport course_lib.training\nprint(torch.get_num_threads())")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=200)
    assert done.stdout.split() == [str(threads)]


def test_small_models_get_one_thread():
    assert training.threads_for(100_000) == 1
    assert training.threads_for(50_000_000) == training.available_cores()


def test_minibatches_show_every_row_once_an_epoch_in_another_order():
    x = torch.arange(10)
    batches = training.Minibatches(x, -x, batch_size=4, epochs=2, seed=1)
    seen = list(batches)
    assert len(batches) == len(seen) == 6 and [len(a) for a, _ in seen] == [4, 4, 2] * 2
    assert all(torch.equal(a, -b) for a, b in seen)
    first, second = (torch.cat([a for a, _ in part]) for part in (seen[:3], seen[3:]))
    assert torch.equal(first.sort().values, x) and not torch.equal(first, second)
    assert all(torch.equal(a, b) for (a, _), (b, _) in zip(seen, batches, strict=True))
    with pytest.raises(ValueError, match=r"\[10, 9\]"):
        training.Minibatches(x, x[1:], batch_size=4)


def copying(n=64):
    """Sequences that go up by one: the next token is always known."""
    x = (torch.arange(8) + torch.randint(11, (n, 1), generator=torch.Generator().manual_seed(0))) % 19
    return x[:, :-1], x[:, 1:]


def test_train_learns_and_reports_every_step():
    torch.manual_seed(0)
    model, (x, y) = Decoder(small_config()), copying()
    batches = training.Minibatches(x, y, batch_size=32, epochs=40)
    records = list(training.train(model, batches, lr=1e-2))
    assert [r["step"] for r in records] == list(range(1, 81)) and {r["steps"] for r in records} == {80}
    assert records[0]["loss"] > 2.5 and records[-1]["loss"] < 0.3
    rates = [r["lr"] for r in records]
    assert max(rates) == pytest.approx(1e-2, rel=0.02) and rates[0] < 1e-3 and rates[-1] < 1e-4
    assert not model.training


def test_train_stops_after_the_steps_asked_for_and_repeats_with_a_seed():
    x, y = copying()

    def endless():
        while True:
            yield x, y

    losses = []
    for _ in range(2):
        torch.manual_seed(0)
        losses.append([r["loss"] for r in training.train(Decoder(small_config()), endless(), steps=3)])
    assert losses[0] == losses[1] and len(losses[0]) == 3
    assert list(training.train(Decoder(small_config()), endless(), steps=0)) == []


def test_without_a_number_of_steps_the_rate_stays():
    x, y = copying()
    records = list(training.train(Decoder(small_config()), ((x, y) for _ in range(3)), lr=1e-3))
    assert [r["lr"] for r in records] == [1e-3] * 3 and records[0]["steps"] is None


def test_every_step_is_one_of_adamw_on_this_batch_alone():
    (x, y), models = copying(), []
    for _ in range(2):
        torch.manual_seed(0)
        models.append(Decoder(small_config()))
    ours, by_hand = models
    list(training.train(ours, ((x, y) for _ in range(3)), lr=1e-3))
    optimiser = torch.optim.AdamW(by_hand.parameters(), lr=1e-3, weight_decay=0.01)
    for _ in range(3):
        gradients = torch.autograd.grad(training.next_token_loss(by_hand, (x, y)), list(by_hand.parameters()))
        for parameter, gradient in zip(by_hand.parameters(), gradients, strict=True):
            parameter.grad = gradient
        optimiser.step()
    for mine, expected in zip(ours.parameters(), by_hand.parameters(), strict=True):
        torch.testing.assert_close(mine, expected)


@pytest.mark.parametrize("steps", [2, 3, 7, 40])
def test_training_is_adamw_and_one_cycle_as_in_torch(steps):
    (x, y), models = copying(), []
    for _ in range(2):
        torch.manual_seed(0)
        models.append(Decoder(small_config()))
    ours, torchs = models
    records = list(training.train(ours, [(x, y)] * steps, lr=1e-2))
    optimiser = torch.optim.AdamW(torchs.parameters(), lr=1e-2, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=1e-2, total_steps=steps)
    for record in records:
        assert record["lr"] == pytest.approx(optimiser.param_groups[0]["lr"], rel=1e-9)
        optimiser.zero_grad()
        training.next_token_loss(torchs, (x, y)).backward()
        optimiser.step()
        if record["step"] < steps:
            schedule.step()
    for mine, expected in zip(ours.parameters(), torchs.parameters(), strict=True):
        torch.testing.assert_close(mine, expected, rtol=1e-4, atol=1e-6)


def test_parameters_without_a_gradient_stay_as_they_are():
    used, unused = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    optimiser = training.AdamW([used, unused])
    used.sum().backward()
    optimiser.step(lr=0.1)
    assert used.lt(1).all() and unused.eq(1).all()


def test_training_does_not_import_torchs_compiler():
    code = ("import sys, torch; from course_lib import training; m = torch.nn.Linear(2, 2); x = torch.ones(1, 2)\n"
            "list(training.train(m, [(x,)] * 3, loss=lambda m, b: m(*b).sum()))\n"
            "sys.exit('torch._dynamo' in sys.modules)")  # fmt: skip
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_train_learns_where_gradients_are_off():
    """An interrupt may leave them off: it can come between two lines of torch's own no_grad."""
    torch.manual_seed(0)
    model = Decoder(small_config())
    x, y = torch.randint(small_config().vocab_size, (2, 4, 6))
    with torch.no_grad():
        modes = {torch.is_grad_enabled() for _ in training.train(model, [(x, y)] * 2)}
        losses = [record["loss"] for record in training.train(model, [(x, y)] * 20)]
    assert losses[-1] < losses[0] and modes == {False}, "between two records the mode is the caller's"


def test_train_gives_back_threads_and_mode_even_when_interrupted():
    model, (x, y), threads = Decoder(small_config()), copying(), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        records = training.train(model, training.Minibatches(x, y, batch_size=8))
        next(records)
        assert model.training and torch.get_num_threads() == 1
        records.close()
        assert not model.training and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


def test_the_loss_skips_targets_of_minus_100_and_can_be_ones_own():
    model, (x, y) = Decoder(small_config()), copying(4)
    hidden = y.clone()
    hidden[:, 3:] = -100
    expected = F.cross_entropy(model(x)[:, :3].flatten(0, 1), y[:, :3].flatten())
    assert training.next_token_loss(model, (x, hidden)).item() == pytest.approx(expected.item())
    own = model(x).square().mean().item()
    records = training.train(model, [(x, y)], loss=lambda model, batch: model(batch[0]).square().mean())
    assert next(records)["loss"] == pytest.approx(own)
