"""Checks: every mistake is told its name, every right answer passes, and nothing a candidate does breaks anything."""

import functools
import importlib
import random
import runpy
import signal
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from course_lib import journal, progress
from course_lib.exercises import check, hint, reveal, runner
from course_lib.exercises.registry import all_exercises, find
from course_lib.exercises.stub import not_started

NAMES = (
    "scaled_dot_product_attention", "split_heads", "merge_heads", "multi_head_attention", "causal_mask", "layer_norm",
    "sinusoidal_pe", "shift_right", "encoder_block_param_count", "cross_attention", "greedy_decode",
)  # fmt: skip


@pytest.fixture(autouse=True)
def short_limit(monkeypatch):
    """Endless loops are stopped early here."""
    monkeypatch.setattr(runner, "LIMIT", 1.0)


def answers():
    """The table: (exercise, name of the answer) -> its slugs, the function and the words its remark must hold."""
    for name in NAMES:
        for slugs, function, remark in importlib.import_module(f"tests.mistakes.{name}").ANSWERS:
            yield pytest.param(name, slugs, function, remark, id=f"{name}-{function.__name__}")


@pytest.mark.parametrize("name, slugs, function, remark", list(answers()))
def test_every_answer_gets_its_verdict(name, slugs, function, remark):
    result = check(name, function)
    assert "stumbled" not in result.message
    if slugs:
        assert result.status in ("failed", "error", "timeout"), f"a wrong answer passed: {result.message}"
        assert result.mistake in slugs, f"{result.mistake}: {result.message}"
    else:
        assert result, f"a right answer is rejected: {result.message}"
        assert remark is None or remark in (result.remark or ""), result.remark


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_passes_without_remark(name):
    result = check(name, find(name).reference)
    assert result and result.remark is None, result.message


# ---- statuses ------------------------------------------------------------


def docstring_only(x, n_heads):
    """To do."""


def dots(x, n_heads):
    """To do."""
    ...


def passes(x, n_heads):
    pass


def to_do(x, n_heads):
    raise NotImplementedError


def to_do_with_words(x, n_heads):
    """To do."""
    raise NotImplementedError("your turn")


def gap(x, n_heads):
    B, T, d_model = x.shape
    heads = ...
    return heads


def gap_as_an_argument(x, n_heads):
    return x.reshape(...).transpose(1, 2)


def gap_in_a_quotient(x, n_heads):
    d_k = x.shape[-1] / ...
    return x.reshape(*x.shape[:2], n_heads, d_k).transpose(1, 2)


@pytest.mark.parametrize("begun", [gap, gap_as_an_argument, gap_in_a_quotient])
def test_an_open_gap_is_named(begun):
    result = check("split_heads", begun)
    assert result.status == "not_started" and "gaps that are still open" in result.message


def test_an_ellipsis_in_an_index_is_no_gap():
    def by_index(x, n_heads):
        return x[...].reshape(*x.shape[:2], n_heads, -1).transpose(1, 2)

    assert check("split_heads", by_index)


CELL = """
from course_lib.attention import merge_heads
def at_the_front(x, n_heads):
    return merge_heads(... @ x)
def in_the_library(x, n_heads):
    return merge_heads(x[0, 0])  # the line that fails is the library's; the learner's is this one
"""


def test_an_error_is_shown_with_the_learners_own_line_and_a_gap_is_named(tmp_path):
    (tmp_path / "cell.py").write_text(CELL, encoding="utf-8")
    written = runpy.run_path(str(tmp_path / "cell.py"))
    result = check("split_heads", written["at_the_front"])
    assert (result.status, result.mistake) == ("error", "gap-left") and "line 4, `return merge_heads(... @ x)`" in result.message
    assert "line 6, `return merge_heads(x[0, 0])" in check("split_heads", written["in_the_library"]).message


@pytest.mark.parametrize("stub", [docstring_only, dots, passes, to_do, to_do_with_words, gap, lambda x, n_heads: ...])
def test_not_started(stub):
    result = check("split_heads", stub)
    assert (result.status, result.mistake, bool(result)) == ("not_started", None, False)


def test_a_returned_gap_is_one_step_in_python_3_12_and_3_13(monkeypatch):
    steps = [SimpleNamespace(opname="RESUME", argval=0), SimpleNamespace(opname="RETURN_CONST", argval=...)]
    monkeypatch.setattr("course_lib.exercises.stub.dis.get_instructions", lambda code: steps)
    assert not_started(lambda x: ...)


def test_computing_and_returning_none_is_a_mistake():
    def computes(x, n_heads):
        x.reshape(*x.shape[:2], n_heads, -1).transpose(1, 2)

    result = check("split_heads", computes)
    assert (result.status, result.mistake) == ("failed", "returns-none")


def exits(x, n_heads):
    sys.exit(1)


def recurses(x, n_heads):
    return recurses(x, n_heads)


class BadError(Exception):
    def __str__(self):
        raise RuntimeError("even this fails")


def raises_oddly(x, n_heads):
    raise BadError


@pytest.mark.parametrize("candidate", [exits, recurses, raises_oddly, int, torch.nn.Linear, functools.partial(int), len, torch.reshape])
def test_what_always_raises_is_an_error(candidate):
    assert check("split_heads", candidate).status in ("error", "failed")


@pytest.mark.parametrize("candidate", [None, 3, "split_heads", torch.zeros(2)])
def test_what_is_no_function_is_an_error(candidate):
    assert (check("split_heads", candidate).status, check("split_heads", candidate).mistake) == ("error", "not-a-function")


ODD = [
    "text", {}, [], (), 3, 2.5, True, object(), float("nan"), np.zeros((2, 3)), torch.tensor(1), torch.zeros(0), torch.zeros(2, 3),
    torch.zeros(2, 3, dtype=torch.complex64), torch.eye(3).to_sparse(), torch.zeros(2, 3, dtype=torch.bool), (torch.zeros(1), None),
    [torch.zeros(2), "x"], torch.nn.Linear(2, 2), {"output": torch.zeros(2)}, (1, 2, 3), [[1, 2], [3]], iter([1]), torch.zeros(2, 3, 4, 5, 6),
    torch.zeros(2, dtype=torch.float16), torch.full((4, 5), float("inf")), range(3),
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_no_odd_answer_breaks_a_check(name):
    for value in ODD:
        result = check(name, lambda *args, value=value: value)
        assert result.status == "failed" and result.mistake, value
        assert "stumbled" not in result.message, (value, result.message)
        assert result._repr_html_() and str(result) and repr(result)


def test_an_unknown_name_lists_the_names():
    with pytest.raises(ValueError, match="split_heads"):
        check("splitheads", len)


def waits_for_a_busy_machine(x, gamma, beta, eps=1e-5):
    time.sleep(0.02)
    return torch.nn.functional.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def works_for_nothing(x, gamma, beta, eps=1e-5):
    end = time.process_time() + 0.02
    while time.process_time() < end:
        pass
    return torch.nn.functional.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def test_a_busy_machine_makes_no_answer_slow():
    assert check("layer_norm", waits_for_a_busy_machine).remark is None
    assert "slow" in check("layer_norm", works_for_nothing).remark


# ---- endless loops ------------------------------------------------------------


def endless(x, n_heads):
    while True:
        n_heads += 1


def stubborn(x, n_heads, tries=[]):  # noqa: B006 - it remembers on purpose
    """Swallows the first two shots."""
    while len(tries) < 3:
        try:
            while True:
                n_heads += 1
        except BaseException:
            tries.append(1)
    return x


@pytest.mark.parametrize("candidate", [endless, stubborn])
def test_an_endless_loop_is_stopped_in_the_main_thread(candidate):
    result = check("split_heads", candidate)
    assert result.status == "timeout" or candidate is stubborn
    assert result.seconds < 10


def test_an_endless_loop_is_stopped_in_another_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(check("split_heads", endless)), daemon=True)
    thread.start()
    thread.join(20)
    assert found and found[0].status == "timeout"


def test_the_stop_button_ends_a_check_and_is_no_verdict():
    """Otherwise the learner would read that their function ends the program, and the check would go on."""
    def interrupted(x, n_heads):
        signal.raise_signal(signal.SIGINT)  # as Jupyter does it
        return endless(x, n_heads)

    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM)]
    with pytest.raises(KeyboardInterrupt, match="you stopped the check"):
        check("split_heads", interrupted)
    assert progress.events("exercise") == []
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM)] == handlers


def test_a_function_that_raises_an_interrupt_itself_is_told_so():
    def leaves(x, n_heads):
        raise KeyboardInterrupt

    assert check("split_heads", leaves).mistake == "exits"


def test_a_late_shot_never_escapes():
    """The limit falls together with the end of the call, again and again: nothing may come out of `limited`."""
    def work(n=0):
        while n < 20_000:
            n += 1

    def many():
        for i in range(150):
            try:
                runner.limited(work, 0.0005 + i * 1e-5)
            except runner.TimeUp:
                pass
        sum(range(100_000))  # a shot that is still under way would land here
        ended.append(True)

    ended = []
    many()
    thread = threading.Thread(target=many, daemon=True)
    thread.start()
    thread.join(60)
    assert ended == [True, True]


def test_a_shot_at_the_very_start_does_not_escape_either():
    handler, shots = signal.getsignal(signal.SIGALRM), 0
    for _ in range(20):
        try:
            runner.limited(lambda: None, 1e-6)
        except runner.TimeUp:
            shots += 1
    assert shots and signal.getsignal(signal.SIGALRM) is handler


# ---- what a check leaves behind ------------------------------------------------------------


def noisy(x, n_heads):
    print("printed")
    print("printed", file=sys.stderr)
    import warnings

    warnings.warn("careful", UserWarning, stacklevel=1)
    torch.manual_seed(3)
    random.seed(3)
    np.random.seed(3)
    torch.set_num_threads(2)
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    sys.setrecursionlimit(5000)
    return x.reshape(*x.shape[:2], n_heads, -1).transpose(1, 2)


def test_a_check_prints_nothing_and_leaves_everything_as_it_was(capfd):
    torch.set_num_threads(1)
    before = (torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist(), torch.get_num_threads(),
              torch.get_default_dtype(), torch.is_grad_enabled(), sys.getrecursionlimit())  # fmt: skip
    assert check("split_heads", noisy)
    after = (torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist(), torch.get_num_threads(),
             torch.get_default_dtype(), torch.is_grad_enabled(), sys.getrecursionlimit())  # fmt: skip
    assert before == after
    assert capfd.readouterr() == ("", "")


def test_the_verdict_does_not_depend_on_the_callers_settings():
    torch.set_default_dtype(torch.float64)
    try:
        for name in NAMES:
            assert check(name, find(name).reference)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_verdict_does_not_depend_on_threads(threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for name in NAMES:
            for slugs, function, _ in importlib.import_module(f"tests.mistakes.{name}").ANSWERS[-6:]:
                assert bool(check(name, function)) == (not slugs)
    finally:
        torch.set_num_threads(before)


def test_two_equal_calls_of_check_agree():
    from tests.mistakes.multi_head_attention import ANSWERS

    for _, function, _ in ANSWERS[:10]:
        one, two = (check("multi_head_attention", function) for _ in range(2))
        assert (one.status, one.mistake, one.message) == (two.status, two.mistake, two.message)


# ---- messages ------------------------------------------------------------


def test_a_message_shows_the_learners_numbers_beside_the_right_ones():
    from tests.mistakes.split_heads import straight_view

    result = check("split_heads", straight_view)
    assert "yours" in str(result) and "right" in str(result)
    assert max(len(row) for row in result.table.yours + result.table.right) <= 3
    assert len(result.table.yours) <= 3 and len(result.table.right) <= 3
    page = result._repr_html_()
    assert page.count("<table>") == 2 and "<caption>Yours</caption>" in page and "≠" in page


def test_two_equal_tables_are_not_shown():
    """Where only the shapes differ, they are told, and no table says that yours equals the right one."""
    exchanged = check("split_heads", lambda x, n_heads: x.unflatten(2, (-1, n_heads)).transpose(1, 2))
    assert exchanged.mistake == "heads-and-d_k-exchanged" and "yours (2, 4, 5, 3), right (2, 3, 5, 4)." in str(exchanged)
    assert "<table>" not in exchanged._repr_html_() and "|" not in str(exchanged)


def test_a_message_never_shows_raw_html():
    def wicked(x, n_heads):
        raise RuntimeError("<script>alert(1)</script>")

    assert "<script>" not in check("split_heads", wicked)._repr_html_()


def test_no_message_holds_the_solution():
    solution = {"split_heads": "transpose(1, 2)", "merge_heads": "transpose(1, 2)", "causal_mask": ".tril()", "layer_norm": "correction=0"}
    for name, line in solution.items():
        for slip in find(name).slips:
            assert line not in slip.says


# ---- records ------------------------------------------------------------


def test_checks_hints_and_reveals_are_recorded():
    check("split_heads", dots)
    check("split_heads", find("split_heads").reference)
    said = [hint("split_heads") for _ in range(4)]
    shown = reveal("split_heads")
    assert [e["status"] for e in progress.events("exercise", "split_heads")] == ["not_started", "passed"]
    assert [e["number"] for e in progress.events("hint", "split_heads")] == [1, 2, 3, 3]
    assert said[2] == said[3] and len(set(said)) == 3
    assert len(progress.events("reveal", "split_heads")) == 1
    assert str(shown).startswith("def split_heads") and "one sentence" in shown._repr_html_()


def test_a_full_disk_does_not_break_a_check(monkeypatch):
    def full(path, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal, "_write", full)
    assert check("split_heads", find("split_heads").reference)


@pytest.mark.parametrize("name", list(all_exercises()))
def test_every_exercise_has_three_hints_and_a_source_to_reveal(name):
    exercise = find(name)
    assert len(exercise.hints) == 3 and len(set(exercise.hints)) == 3
    assert exercise.name == name and str(reveal(name))


def test_a_class_is_not_taken_for_a_function():
    result = check("layer_norm", torch.nn.LayerNorm)
    assert (result.status, result.mistake) == ("error", "not-a-function") and "the class LayerNorm" in result.message


def checks_itself(x, gamma, beta, eps=1e-5):
    """A learner's `check` that was pasted one tab too far to the right."""
    check("layer_norm", checks_itself)
    return x


def test_a_check_inside_the_function_that_it_checks_ends_and_says_so():
    result = check("layer_norm", checks_itself)
    assert result.status == "error" and "left margin" in result.message
    assert "left margin" not in check("layer_norm", lambda x, gamma, beta, eps=1e-5: x).message  # and it is over


@pytest.mark.parametrize("name, words", [("layer_nrom", "did you mean 'layer_norm'"), (checks_itself, "comes first")])
def test_a_mistyped_name_is_told_what_was_meant(name, words):
    with pytest.raises(ValueError, match=words):
        check(name, "layer_norm")
