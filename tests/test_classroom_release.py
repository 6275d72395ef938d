"""Handing out: the learners' tree runs, is the same each time, and holds nothing that only the instructor has."""

import ast
import json
import os
import random
import re
import subprocess
import sys

import pytest
import torch
from handed_in import as_bytes

from course_lib.classroom import release, roster, sandbox, tasks
from course_lib.classroom.marking import mark_file
from course_lib.classroom.private.probes import fresh_probes, holds_on_fresh_inputs
from course_lib.classroom.private.variants import BY_NAME, VARIANTS, exercise_of, for_learner, handed_out, numbers
from course_lib.classroom.session import Zygote
from course_lib.exercises.judge import judge
from course_lib.exercises.registry import all_exercises, find
from course_lib.exercises.runner import InProcess

PRIVATE = tasks.ROOT / "course_lib" / "classroom"
COURSE = """
title: Winter term
notebooks: [03_causal_mask]
exercises: [{exercise: causal_mask, points: 2, due: 2027-01-31}]
variants: [{variant: windowed_mask, points: 3}, {variant: attention_with_temperature, points: 4, due: 2027-02-14}]
roster: [anna, bo]
seed: nobody-knows-these-words
keep_reveal: false
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    path = tmp_path_factory.mktemp("course") / "course.yaml"
    path.write_text(COURSE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tree(course, tmp_path_factory):
    folder = tmp_path_factory.mktemp("release") / "handed_out"
    assert release.main([str(folder), "--course", str(course)]) == 0
    return folder


def contents(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# ---- what leaks ----


def secrets(text):
    """Long lines of code that would give something away: what only the instructor's files contain."""
    return {line.strip() for line in text.splitlines() if len(line.strip()) > 40 and not line.strip().startswith(("#", "from", "import"))}


def leaks(files):
    """What of the instructor's is in these files: a list."""
    found = [name for name in files if "classroom" in name or name.startswith("tests")]
    private = set().union(*(secrets(p.read_text(encoding="utf-8")) for p in PRIVATE.rglob("*.py")))
    public = {p for p in (tasks.ROOT / "course_lib").rglob("*.py") if PRIVATE not in p.parents}
    private -= set().union(*(secrets(p.read_text(encoding="utf-8")) for p in public))
    for name, data in files.items():
        text = data.decode("utf-8", "replace")
        found += [f"{name}: {line}" for line in secrets(text) & private]
        found += [f"{name}: {word}" for word in ("nobody-knows-these-words", "classroom.private") if word in text]
    return found


def test_nothing_leaks(tree):
    assert leaks(contents(tree)) == []


@pytest.mark.parametrize("name, text", [
    ("course_lib/x.py", "# see classroom.private"), ("course_lib/classroom/mark.py", ""), ("notes.md", "nobody-knows-these-words"),
    ("a.py", (PRIVATE / "private" / "variants.py").read_text(encoding="utf-8")),
])  # fmt: skip
def test_the_gate_sees_a_leak(name, text):
    assert leaks({name: text.encode("utf-8")})


def test_the_same_course_gives_the_same_tree(tree, course, tmp_path):
    assert release.main([str(tmp_path / "again"), "--course", str(course)]) == 0
    assert contents(tmp_path / "again") == contents(tree)


def test_the_tree_is_what_was_asked_for(tree):
    names = set(contents(tree))
    assert {n for n in names if n.endswith(".ipynb")} == {
        "notebooks/03_causal_mask.ipynb", "graded/anna_graded.ipynb", "graded/bo_graded.ipynb"}  # fmt: skip
    counts = (tree / "COURSE.md").read_text(encoding="utf-8")
    assert "| [03_causal_mask](notebooks/03_causal_mask.ipynb) | `causal_mask` | 2 | 2027-01-31 |" in counts
    assert "| `graded/`, the one with your name | `windowed_mask` | 3 | none |" in counts


def test_what_is_handed_out_points_at_nothing_that_is_left_out(tree):
    """Links of the front page and of the notebooks, and the commands that the front page names."""
    pages = {"README.md": (tree / "README.md").read_text(encoding="utf-8")}
    for path in tree.rglob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        pages[path.relative_to(tree).as_posix()] = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    dead = [(name, link) for name, text in pages.items() for link in re.findall(r"\]\(([\w./]+\.\w+)\)", text)
            if not (tree / name).parent.joinpath(link).exists()]  # fmt: skip
    assert dead == []
    assert "[03 · The causal mask](notebooks/03_causal_mask.ipynb)" in pages["README.md"]
    assert "Next: 04 · The encoder, " in pages["notebooks/03_causal_mask.ipynb"]  # a name, no link
    assert "course_lib lab" in pages["README.md"] and "course_lib test" not in pages["README.md"]


def test_lab_opens_the_first_notebook_that_was_handed_out(tree):
    code = "from course_lib import lab; print(lab.FIRST_NOTEBOOK)"
    env = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=tree, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "notebooks/03_causal_mask.ipynb", done.stderr


def test_a_full_folder_is_left_alone_and_a_dry_run_writes_nothing(tree, course, tmp_path, capsys):
    before = contents(tree)
    assert release.main([str(tree), "--course", str(course)]) == 1
    assert contents(tree) == before
    assert release.main([str(tmp_path / "none"), "--course", str(course), "--dry-run"]) == 0
    assert "notebooks/03_causal_mask.ipynb" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()


def test_the_library_in_the_tree_works_and_reveals_nothing(tree):
    code = ("import course_lib.exercises as e, course_lib.attention as a, course_lib.quiz, course_lib.widgets, sys\n"
            "print(e.check('split_heads', a.split_heads), e.reveal('split_heads'), e.hint('split_heads'))\n"
            "print(e.__file__)")  # fmt: skip
    env = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=tree, capture_output=True, text=True, timeout=200)
    assert "The solutions are not shown" in done.stdout, done.stderr
    assert str(tree) in done.stdout
    said = subprocess.run([sys.executable, "-m", "course_lib", "help"], cwd=tree, capture_output=True, text=True, timeout=60).stdout
    assert "lab" in said
    assert not re.search(r"^ +(mark|release)\b", said, re.M)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_released_notebooks_pass_nbval(tree):
    command = [sys.executable, "-m", "pytest", "--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout=300", "-q", "-p", "no:cacheprovider",
               "notebooks/03_causal_mask.ipynb", "graded"]  # fmt: skip
    env = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stdout[-2000:]


# ---- variants ----


def test_every_practised_skill_that_has_variants_has_two():
    bases = [v.base for v in VARIANTS]
    assert len(set(bases)) >= 6
    assert all(bases.count(b) >= 2 for b in bases)
    assert sum(bool(v.draw(random.Random(0))) for v in VARIANTS) >= 3


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.name)
def test_the_practised_answer_fails_by_its_name_and_the_right_one_passes(variant):
    drawn = numbers(variant, "seed", "anna")
    exercise = exercise_of(variant, drawn)

    def right(*args):
        return exercise.reference(*args)

    base, runner = find(variant.base).reference, InProcess
    verdict, _ = judge(exercise, right, runner)
    assert (verdict.status, verdict.says) == ("passed", "Right, on every probe.")
    assert holds_on_fresh_inputs(exercise, runner(right), random.Random(1)) == ""
    verdict, _ = judge(exercise, lambda *args: base(*args), runner)
    assert (verdict.status, verdict.mistake) == ("failed", "as-practised")


BY_HAND = {
    "windowed_mask": lambda m: lambda n: torch.tensor([[0 <= i - j < m["window"] for j in range(n)] for i in range(n)]),
    "strict_mask": lambda m: lambda n: torch.ones(n, n, dtype=torch.bool).tril(-1),
    "attention_scaled_by_width": lambda m: lambda q, k, v, mask=None: _attention(q, k, v, mask, q.shape[-1]),
    "attention_with_temperature": lambda m: lambda q, k, v, mask=None: _attention(q, k, v, mask, q.shape[-1] ** 0.5 * m["temperature"]),
    "norm_with_outer_eps": lambda m: lambda x, gamma, beta, eps=1e-5: (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, correction=0) + eps) * gamma + beta,
    "norm_around_one": lambda m: lambda x, gamma, beta, eps=1e-5: torch.nn.functional.layer_norm(x, x.shape[-1:], 1 + gamma, beta, eps),
    "gated_block_count": lambda m: lambda d, h, f, bias=True: find("encoder_block_param_count").reference(d, h, f, bias) + (m["matrices"] - 2) * d * f,
    "inner_norm_block": lambda m: _inner,
    "post_norm_block": lambda m: _post,
}  # fmt: skip


def _attention(q, k, v, mask, divisor):
    scores = q @ k.transpose(-2, -1) / divisor
    weights = (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1)
    return weights @ v, weights


def _inner(x, attention, feed_forward, norm_1, norm_2):
    x = x + norm_1(attention(x))
    return x + norm_2(feed_forward(x))


def _post(x, attention, feed_forward, norm_1, norm_2):
    x = norm_2(x + feed_forward(x))
    return norm_1(x + attention(x))


@pytest.mark.parametrize("name", BY_HAND)
def test_an_answer_written_from_the_text_passes(name):
    drawn = numbers(BY_NAME[name], "seed", "bo")
    verdict, table = judge(exercise_of(BY_NAME[name], drawn), BY_HAND[name](drawn), InProcess)
    assert verdict.status == "passed", f"{verdict.says}\n{table}"


def test_numbers_differ_between_learners_and_never_change():
    drawn = [numbers(BY_NAME["other_base_pe"], "seed", str(i))["base"] for i in range(20)]
    assert len(set(drawn)) > 2
    assert drawn == [numbers(BY_NAME["other_base_pe"], "seed", str(i))["base"] for i in range(20)]
    assert drawn != [numbers(BY_NAME["other_base_pe"], "another", str(i))["base"] for i in range(20)]


@pytest.mark.skipif(bool(sandbox.why_not()), reason="no sandbox here")
def test_a_graded_notebook_comes_back_marked_with_its_own_numbers(tree, course):
    read = tasks.read(course)
    book = json.loads((tree / "graded" / "anna_graded.ipynb").read_text(encoding="utf-8"))
    window = numbers(BY_NAME["windowed_mask"], read.seed, "anna")["window"]
    assert f"i − j < {window}" in {n: t for n, t, _ in handed_out(read, "anna")}["windowed_mask"]
    for cell in book["cells"]:
        if cell["metadata"].get("exercise") == "windowed_mask":
            cell["source"] = f"def windowed_mask(n):\n    i = torch.arange(n)\n    d = i[:, None] - i\n    return (d >= 0) & (d < {window})\n"
    chosen = [t for t in read.tasks if t.notebook == tasks.GRADED]
    assert roster.numbers_of("Anna Muster_graded", read) == "anna"
    with Zygote() as zygote:
        found = mark_file(zygote, as_bytes(book), chosen, for_learner(read, "anna"), "s")
        other = dict(for_learner(read, "anna"), windowed_mask=exercise_of(BY_NAME["windowed_mask"], {"window": window + 1, "before": window}))
        wrong = mark_file(zygote, as_bytes(book), chosen, other, "s")
    assert [a["status"] for a in found.values()] == ["passed", "not_started"]
    assert wrong["graded/windowed_mask"]["status"] == "failed"


# ---- fresh probes ----


@pytest.mark.parametrize("name", [n for n, e in all_exercises().items() if e.judge is None and "[" not in n and n not in BY_NAME])
def test_the_reference_is_right_on_fresh_probes_and_some_slip_is_not(name):
    exercise = find(name)
    one, two = (repr([p.args for p in fresh_probes(exercise, random.Random(seed))]) for seed in (1, 2))
    assert one != two
    assert holds_on_fresh_inputs(exercise, InProcess(exercise.reference), random.Random(5)) == ""
    caught = [s for s in exercise.slips[:12]
              if holds_on_fresh_inputs(exercise, InProcess(lambda *a, s=s: exercise.variant(*a, **s.knobs)), random.Random(5))]  # fmt: skip
    assert len(caught) >= min(6, len(exercise.slips[:12]) // 2), [s.slug for s in exercise.slips[:12]]


def test_the_stubs_parse():
    assert all(isinstance(ast.parse(v.stub.format(name=v.name) + " ...").body[0], ast.FunctionDef) for v in VARIANTS)
