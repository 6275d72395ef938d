"""Do a notebook's asserts hold on seeds that nobody tuned it for? `python -m benchmarks.seeds NOTEBOOK [SEED …]`

NOTEBOOK: the beginning of a name, such as 06. Seeds: by default 100, 200, … 1000, since a notebook uses the few after its
own as well. Every seed runs in a process of its own, one after the other, with SEED replaced and `FULL` as shipped
(`--full`: with FULL = True). An assert that fails stops nothing: it is counted, and the cells go on. The table has a
line for each assert: on how many seeds it held, and how near the nearest comparison of numbers in it came to failing.
The status is 1 where one failed.
"""

import ast
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SEEDS = range(100, 1001, 100)
NUMERIC = {ast.Lt: lambda a, b: b - a, ast.LtE: lambda a, b: b - a, ast.Gt: lambda a, b: a - b, ast.GtE: lambda a, b: a - b}


class Asserts(ast.NodeTransformer):
    """Turns `assert a < b` into a call that notes the outcome, and each comparison in it into one that notes its margin."""

    def visit_Assert(self, node):
        text = ast.unparse(node)
        test = Margins(text).visit(node.test)
        call = ast.Call(ast.Name("note_outcome", ast.Load()), [ast.Constant(text), test], [])
        return ast.copy_location(ast.Expr(call), node)


class Margins(ast.NodeTransformer):
    """`a < b < c` -> `note_margins(text, [a, b, c], ["Lt", "Lt"])`, which is true where the comparison is."""

    def __init__(self, text):
        self.text = text

    def visit_Compare(self, node):
        if not all(type(op) in NUMERIC for op in node.ops):
            return node
        sides = ast.List([node.left, *node.comparators], ast.Load())
        kinds = ast.List([ast.Constant(type(op).__name__) for op in node.ops], ast.Load())
        return ast.Call(ast.Name("note_margins", ast.Load()), [ast.Constant(self.text), sides, kinds], [])


class Ledger:
    """What became of each assert, in the order of the notebook: {text: {"held", "margin"}}; and other errors."""

    def __init__(self):
        self.asserts, self.errors = {}, []

    def entry(self, text):
        return self.asserts.setdefault(text, {"held": True, "margin": None})

    def note_outcome(self, text, outcome):
        self.entry(text)["held"] &= bool(outcome)

    def note_margins(self, text, sides, kinds):
        """True where all hold. Tensors compare element by element, as in the notebook, and give a tensor."""
        difference = {kind.__name__: function for kind, function in NUMERIC.items()}
        held = True
        for kind, left, right in zip(kinds, sides, sides[1:], strict=False):
            margin = difference[kind](left, right)
            nearest = float(margin.min() if hasattr(margin, "min") else margin)
            known = self.entry(text)["margin"]
            self.entry(text)["margin"] = nearest if known is None else min(known, nearest)
            held = held & (margin >= 0 if kind.endswith("E") else margin > 0)
        return held


def run(notebook, seed, full=False):
    """Run the code cells of a notebook (as JSON has it) in this process. Returns a Ledger."""
    ledger = Ledger()
    names = {"__name__": "__main__", "note_outcome": ledger.note_outcome, "note_margins": ledger.note_margins}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        if "parameters" in cell["metadata"].get("tags", []):
            source += f"\nSEED, FULL = {seed}, {full}"
        tree = ast.fix_missing_locations(Asserts().visit(ast.parse(source)))
        try:
            exec(compile(tree, "notebook", "exec"), names)
        except Exception as error:  # noted, and told in the table: the other cells still have something to say
            ledger.errors.append(f"{type(error).__name__}: {error} in {source.splitlines()[0]!r}")
    return ledger


def in_a_process(path, seed, full=False):
    """`run` in a process of its own, which keeps no record of any learner. Returns {"asserts", "errors"}."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        environment = os.environ | {
            "COURSE_LIB_HOME": folder, "XDG_DATA_HOME": folder, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT),
        }  # fmt: skip
        command = [sys.executable, "-m", "benchmarks.seeds", "--one", str(path), str(seed), str(full), str(report)]
        done = subprocess.run(command, cwd=path.parent, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if not report.exists():
            last = done.stderr.decode("utf-8", "replace")[-500:]
            return {"asserts": {}, "errors": [f"the process ended with status {done.returncode}: {last}"]}
        return json.loads(report.read_text(encoding="utf-8"))


def failed_in(report):
    """The asserts that did not hold, as texts."""
    return [text for text, entry in report["asserts"].items() if not entry["held"]]


def table(reports):
    """{seed: report} -> lines, one an assert; those that failed somewhere name the seeds."""
    texts = list(dict.fromkeys(text for report in reports.values() for text in report["asserts"]))
    lines = []
    for text in texts:
        found = {seed: report["asserts"][text] for seed, report in reports.items() if text in report["asserts"]}
        failed = [seed for seed, entry in found.items() if not entry["held"]]
        margins = [entry["margin"] for entry in found.values() if entry["margin"] is not None]
        nearest = f"{min(margins):9.3g}" if margins else " " * 9
        verdict = f"  FAILED on {failed}" if failed else ""
        lines.append(f"{len(found) - len(failed):3} of {len(found)} {nearest}  {text[:150]}{verdict}")
    return lines + [f"seed {seed}: {error}" for seed, report in reports.items() for error in report["errors"]]


def main(arguments, folder=ROOT / "notebooks"):
    if arguments[:1] == ["--one"]:
        path, seed, full, report = arguments[1:]
        ledger = run(json.loads(Path(path).read_text(encoding="utf-8")), int(seed), full == "True")
        Path(report).write_text(json.dumps(vars(ledger)), encoding="utf-8")
        return 0
    full = "--full" in arguments
    name, *seeds = [argument for argument in arguments if argument != "--full"] or [""]
    paths = sorted(folder.glob(f"{name}*.ipynb"))
    if not name or len(paths) != 1:
        print(f"{__doc__}\n{name!r} fits {len(paths)} notebooks: {', '.join(path.stem for path in paths) or 'none'}")
        return 2
    reports = {}
    for seed in map(int, seeds or SEEDS):
        reports[seed] = in_a_process(paths[0], seed, full)
        failed = failed_in(reports[seed])
        print(f"seed {seed}: {len(failed)} failed, {len(reports[seed]['errors'])} errors", *failed, sep="\n    ", flush=True)
    print(f"{paths[0].stem}, FULL = {full}: held, nearest margin, assert", *table(reports), sep="\n")
    return int(any(report["errors"] or failed_in(report) for report in reports.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
