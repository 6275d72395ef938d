"""Mark what was handed in: one table, one page for each learner, one overview.

    python3 -m course_lib mark SUBMISSIONS… [--out marks] [--course course.yaml]

SUBMISSIONS are folders, zips from an LMS, or notebooks. Each learner's code runs in a sandbox. Started again, it goes on
where it stopped; what has not changed is not marked twice. Exit codes: 0 all marked, 1 something stands in the way,
2 wrong arguments, 3 there is no sandbox here.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import sys
from pathlib import Path

import torch

from course_lib.classroom import intake, quiz_answers, report, roster, sandbox, tasks
from course_lib.classroom.choosing import notebook_of
from course_lib.classroom.marking import mark_file
from course_lib.classroom.private.variants import for_learner
from course_lib.classroom.session import Zygote
from course_lib.exercises.registry import all_exercises

RIGHT = "def merge_heads(x):\n    return x.transpose(1, 2).flatten(2)"  # what does_not_work() tries


def parser():
    p = argparse.ArgumentParser(prog="python3 -m course_lib mark", description=__doc__.split("\n\n")[0], epilog=__doc__.split("\n\n")[2])
    p.add_argument("submissions", nargs="+", help="folders, zips or notebooks")
    p.add_argument("--out", type=Path, default=Path("marks"), help="where the results go (default: marks)")
    p.add_argument("--course", help="a course file; without one, every exercise counts one point")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="learners at the same time")
    p.add_argument("--again", action="store_true", help="mark also what has been marked already")
    p.add_argument("--trusted", action="store_true", help="without a sandbox: only for code that you would run yourself")
    p.add_argument("--dry-run", action="store_true", help="say who and what would be marked, and stop")
    return p


def main(arguments):
    """Returns the exit code."""
    options = parser().parse_args(arguments)
    try:
        course = tasks.read(options.course) if options.course else tasks.shipped()
        submissions = intake.gather(options.submissions, roster.handed_out(course))
        report.read_texts(options.out / "short_answers.csv")  # said now, not after an hour of marking
    except (tasks.BadCourse, report.BadTable, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    if not any(s.notebooks or s.records for s in submissions):
        print("No notebook was found in what was given.", file=sys.stderr)
        return 1
    if options.dry_run:
        for s in submissions:
            whose = f" (numbers of {roster.numbers_of(s.learner, course)})" if roster.draws(course) else ""
            print(f"{s.learner}{whose}: {', '.join([Path(f.name).name for f in s.notebooks + s.records] + s.notes)}")
        print(roster.missing(submissions, course), end="")
        print(f"{len(submissions)} learners, {len(course.tasks)} exercises. Nothing was marked, nothing was written.")
        return 0
    if not hasattr(os, "fork"):
        print("Marking needs Linux (or, with --trusted, macOS). On Windows, start it in the Linux subsystem, WSL.", file=sys.stderr)
        return 3
    reason = "" if options.trusted else sandbox.why_not()
    if reason:
        print(f"{reason}\nWithout a sandbox a submission can do whatever you can. If you would run every one of them "
              "yourself, say so: --trusted", file=sys.stderr)  # fmt: skip
        return 3
    mark_all(submissions, course, options)
    return finish(submissions, course, options.out)


# ---- marking ----


def mark_all(submissions, course, options):
    """Mark everybody who has no result yet, in a few processes; each writes its results as it goes."""
    (options.out / "results").mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    all_exercises()
    jobs = max(1, min(options.jobs, len(submissions)))
    context = multiprocessing.get_context("fork")
    shares = [context.Process(target=_mark_share, args=(submissions[i::jobs], course, options)) for i in range(jobs)]
    for share in shares:
        share.start()
    for share in shares:
        share.join()


def _mark_share(submissions, course, options):
    todo = [s for s in submissions if options.again or not is_done(s, course, options.out)]
    if not todo:
        return
    with Zygote(options.trusted) as zygote:
        problem = does_not_work(zygote)
        if problem:
            print(f"Nothing is marked: a right answer does not pass on this machine. {problem}", file=sys.stderr, flush=True)
            return
        for submission in todo:
            result = mark_one(zygote, submission, course)
            earned = sum(report.points(result, t) for t in course.tasks)
            report.write(result_path(options.out, submission), json.dumps(result, ensure_ascii=False, indent=1))
            print(f"{submission.learner}: {earned:g} points", flush=True)


def does_not_work(zygote):
    """What a right answer to an easy exercise was told, if it did not pass; else "". Better no marks than wrong ones."""
    raw = json.dumps({"cells": [{"cell_type": "code", "metadata": {}, "source": RIGHT}]}).encode()
    task = tasks.Task("", "merge_heads", "merge_heads", True)
    answer = mark_file(zygote, raw, [task], all_exercises(), "")[task.key]
    return "" if answer["status"] == "passed" else answer["message"]


def mark_one(zygote, submission, course):
    """The result of one learner, as a dict that JSON can hold. Whatever was handed in, there is one."""
    answers, notes = {}, list(submission.notes)
    owner = roster.numbers_of(submission.learner, course)
    exercises = all_exercises() | for_learner(course, owner)
    notes += roster.in_doubt(submission.learner, course)
    for file in submission.notebooks:
        try:
            raw = file.read()
            notebook = notebook_of(zygote, file.name, raw, course)  # may be the one of the variants
            if notebook is None:
                notes.append(f"{file.name} is none of the course's notebooks.")
                continue
            chosen = [t for t in course.tasks if t.notebook == notebook]
            found = mark_file(zygote, raw, chosen, exercises, f"{course.seed}/{submission.learner}")
        except OSError as error:
            notes.append(f"{file.name} cannot be read: {error}.")
            continue
        notes += about(file, found)
        for key, answer in found.items():  # two files for one notebook: for each exercise the better one
            if key not in answers or _rank(answer) > _rank(answers[key]):
                answers[key] = answer | {"file": file.name}
    return {
        "learner": submission.learner, "fingerprint": fingerprint(submission, course), "answers": answers,
        "quiz": quiz_answers.answers(submission.records), "notes": notes,
    }  # fmt: skip


def about(file, found):
    """[what the answers say of the file as a whole], so that the table of points says it too."""
    notes = dict.fromkeys(note for answer in found.values() for note in answer["notes"] if note.startswith("The file"))
    return [f"{Path(file.name).name}: {note}" for note in notes]


def _rank(answer):
    return ("not_started", "error", "timeout", "failed", "passed").index(answer["status"])


# ---- what is done already ----


def result_path(out, submission):
    return out / "results" / f"{report.file_name(submission.learner)}.json"


def fingerprint(submission, course):
    """A hash of all that a result depends on: the files, the course file, and the code that judges."""
    digest = hashlib.sha256(repr((course, judges())).encode())
    for file in submission.notebooks + submission.records:
        try:
            digest.update(hashlib.sha256(file.read()).digest())
        except OSError as error:
            digest.update(str(error).encode())
    return digest.hexdigest()


def judges():
    """A hash of the code that judges."""
    package = Path(__file__).resolve().parents[1]
    files = sorted([*package.glob("exercises/**/*.py"), *package.glob("classroom/**/*.py")])
    return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()


def is_done(submission, course, out):
    """True if there is a whole result for exactly these files, this course and this code."""
    result = load(result_path(out, submission))
    return result is not None and result.get("fingerprint") == fingerprint(submission, course)


def load(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


# ---- reports ----


def finish(submissions, course, out):
    """Write the table, the pages and the overview. Returns 0 if everybody has a result."""
    results = [r for s in submissions if (r := load(result_path(out, s)))]
    when = {(s.learner, f.name): f.when for s in submissions for f in s.notebooks}
    texts = report.texts_of(results, report.read_texts(out / "short_answers.csv"))
    (out / "pages").mkdir(exist_ok=True)
    for result in results:
        report.write(out / "pages" / f"{report.file_name(result['learner'])}.html", report.page(course, result, texts))
    report.write(out / "marks.csv", report.marks_csv(course, results, texts, when))
    report.write(out / "findings.csv", report.findings_csv(course, results, when))
    report.write(out / "overview.html", report.overview(course, results))
    if texts:
        report.write(out / "short_answers.csv", report.texts_csv(texts))
    print(f"{len(results)} of {len(submissions)} marked. Table: {out / 'marks.csv'}. Class: {out / 'overview.html'}. Pages: {out / 'pages'}.")
    print(roster.missing(submissions, course), end="")
    waiting = sum(p is None for p in texts.values())
    if waiting:
        print(f"{waiting} short answers wait for you in {out / 'short_answers.csv'}: write points and start this again.")
    if len(results) < len(submissions):
        print("Some are missing: start it again, and it goes on from here.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
