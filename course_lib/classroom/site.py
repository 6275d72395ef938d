"""python3 -m course_lib site DIR: the course as static pages, for reading on a phone, on paper, or without Python.

Each notebook is run (about a minute each) and becomes one HTML file with its outputs. The files need no server and
no network: they open from a folder. Quizzes, and the views that a browser can draw alone, go on working.
"""

import argparse
import html
import re
import sys
import time
from collections import Counter
from pathlib import Path

import nbformat

from course_lib.classroom import live, pages
from course_lib.classroom.rendered import ROOT, Failed, rendered

NOTEBOOKS = ROOT / "notebooks"


def page(notebook, before=None, after=None):
    """One notebook with outputs as a page. before, after: (file name, title) of its neighbours."""
    links = [("index.html", "All notebooks"), *(link for link in (before, after) if link)]
    nav = "".join(f'<a href="{href}">{html.escape(text)}</a>' for href, text in links)
    body = (
        f'<nav aria-label="Course">{nav}</nav>\n<header>{what_is_live(notebook)}</header>\n'
        f"<main>{pages.fragment(notebook)}</main>\n{live.live_part(notebook)}"
    )
    return pages.document(pages.title_of(notebook), body)


def what_is_live(notebook):
    """What a reader must know at the top: what works on this page, and what does not."""
    kinds = Counter(live.liveness(state) for state in live.shown_states(notebook))
    works = ["the quiz and the predictions"] if kinds["quiz"] else []
    views = [f"{n} {'view' if n == 1 else 'views'} {what}" for n, what in (
        (kinds["live"], "in full"), (kinds["partly"], "in part"), (kinds["still"], "as a still picture")) if n]  # fmt: skip
    lines = [
        "This page is a notebook that was run once, for reading. <strong>Not live:</strong> code does not run here, "
        "exercises are not checked, and nothing that you answer is kept."
    ]
    if works or views:
        lines.append(f"<strong>What works:</strong> {', '.join([*works, *views])}.")
    return '<div class="about" role="note">' + "".join(f"<p>{line}</p>" for line in lines) + "</div>"


def index(titles):
    """The front page. titles: {file name: title}"""
    items = "".join(f'<li><a href="{name}">{html.escape(title)}</a></li>' for name, title in titles.items())
    about = what_is_live(nbformat.v4.new_notebook())
    body = f"<header>{about}</header><main><h1>Transformers by Experiment</h1><ul>{items}</ul></main>"
    return pages.document("Transformers by Experiment", body)


# ---- the command ----
def arguments(words):
    parser = argparse.ArgumentParser(prog="python3 -m course_lib site", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("folder", metavar="DIR", type=Path, help="where to write; it is made if need be")
    parser.add_argument("--notebook", nargs="+", metavar="FILE", type=Path, help="default: all of notebooks/")
    parser.add_argument("--as-is", action="store_true", help="show the outputs that the files have; run nothing")
    parser.add_argument("--dry-run", action="store_true", help="say what would be written, and write nothing")
    return parser.parse_args(words)


def main(words):
    """Write the pages. Returns the exit code: 1 if a notebook does not run; the others are written all the same."""
    given = arguments(words)
    files = given.notebook or sorted(NOTEBOOKS.glob("*.ipynb"))
    missing = [str(path) for path in files if not path.is_file()]
    if missing:
        print(f"There is no notebook {', '.join(missing)}: give files, such as notebooks/01_multi_head_intuition.ipynb.", file=sys.stderr)
        return 1
    try:
        titles = {f"{path.stem}.html": pages.title_of(nbformat.read(path, as_version=4)) for path in files}
    except nbformat.reader.NotJSONError:
        print(f"Not all of these are notebooks: {', '.join(map(str, files))}.", file=sys.stderr)
        return 1
    if given.dry_run:
        print("\n".join(f"would write {given.folder / name}" for name in [*titles, "index.html"]))
        return 0
    try:
        given.folder.mkdir(parents=True, exist_ok=True)
        failed = [path for path in files if not write(path, given, titles)]
        done = {name: title for name, title in titles.items() if name not in [f"{path.stem}.html" for path in failed]}
        (given.folder / "index.html").write_text(index(done), encoding="utf-8")
        return 1 if failed else 0
    except OSError as problem:
        print(problem, file=sys.stderr)
        return 1


def write(path, given, titles):
    """Run one notebook and write its page. Returns True; False if it does not run, with the reason on the error stream."""
    start, links = time.monotonic(), list(titles.items())
    place = [name for name, _ in links].index(f"{path.stem}.html")
    before = links[place - 1] if place else None
    after = links[place + 1] if place + 1 < len(links) else None
    print(f"{path.stem}: {'reading' if given.as_is else 'running'} …", flush=True)
    try:
        notebook = nbformat.read(path, as_version=4) if given.as_is else rendered(path)
    except Failed as problem:
        print(problem, file=sys.stderr)
        return False
    target = given.folder / f"{path.stem}.html"
    there = {*titles, *(other.name for other in given.folder.glob("*.html"))}
    target.write_text(without_dead_links(page(notebook, before, after), there), encoding="utf-8")
    print(f"{target}: {target.stat().st_size / 1e6:.1f} MB, {time.monotonic() - start:.0f} s", flush=True)
    return True


def without_dead_links(text, there):
    """A page in which the names of notebooks that have no page are no links. there: names of the pages."""
    return re.sub(r'<a href="(\d\d_\w+\.html)[^"]*">(.*?)</a>', lambda found: found[0] if found[1] in there else found[2], text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
