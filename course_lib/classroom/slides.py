"""python3 -m course_lib slides NOTEBOOK: a notebook's sections as slides in one HTML file, for talking them through.

Each section is a column: its heading and first text on top, below it one slide for each code cell with its output and
what is said of it. Exercises are left out. A notebook may decide otherwise by Jupyter's own slide types.
reveal.js comes from the package pyreveal (python3 -m course_lib install site); without it the slides stand one below
the other. The file needs no network.
"""

import argparse
import importlib.util
import re
import sys
from pathlib import Path

import nbformat

from course_lib.classroom import live, pages
from course_lib.classroom.rendered import Failed, rendered

LEFT_OUT = {"parameters", "exercise"}  # tags of cells that are for working with, and not for showing
START = "Reveal.initialize({hash: true, width: 1280, height: 760, margin: 0.03, transition: 'none', center: false});"
STYLE = """
.slides > section > section { text-align: left; max-height: 100%; overflow-y: auto; }
.reveal { font-size: 24px; max-width: none; }
.reveal .slides { line-height: 1.4; }
.reveal pre { font-size: 0.75em; }
.reveal h1 { font-size: 1.7em; }
.reveal h2 { font-size: 1.4em; border: 0; margin-top: 0; }
.reveal .jp-MarkdownCell :is(p, ul, ol) { max-width: none; }
"""
PLAIN = ".slides > section > section { border-bottom: 1px solid var(--rule); padding: 24px 0; }"


def split_at_headings(notebook):
    """A copy in which every heading begins a cell: the text before it belongs to the slide before."""
    copy = notebook.copy()
    copy.cells = []
    for cell in notebook.cells:
        whole = cell.cell_type != "markdown" or "```" in cell.source
        for i, part in enumerate([cell.source] if whole else re.split(r"\n(?=##+ )", cell.source)):
            names = {"id": f"{cell.id}-{i}"} if i else {}
            copy.cells.append(nbformat.from_dict({**cell, **names, "source": part}))
    return copy


def slide_types(notebook):
    """Jupyter's slide type for each cell: "slide", "subslide", "-" (goes on) or "skip"."""
    types, imports_seen = [], False
    for cell in notebook.cells:
        own = cell.metadata.get("slideshow", {}).get("slide_type")
        if own:
            types.append(own)
        elif cell.cell_type == "markdown":
            heading = re.match("#+ ", cell.source)
            types.append({None: "-"}.get(heading, "slide" if heading and len(heading[0]) <= 3 else "subslide"))
        elif cell.cell_type != "code" or LEFT_OUT & set(cell.metadata.get("tags", [])) or not imports_seen:
            types.append("skip")
            imports_seen = imports_seen or cell.cell_type == "code"
        else:
            types.append("subslide")
    return types


def with_types(notebook):
    """A copy whose cells carry their slide types; those left out are gone."""
    notebook = split_at_headings(notebook)
    copy = notebook.copy()
    copy.cells = []
    for cell, kind in zip(notebook.cells, slide_types(notebook), strict=True):
        if kind != "skip":
            copy.cells.append(nbformat.from_dict({**cell, "metadata": {**cell.metadata, "slideshow": {"slide_type": kind}}}))
    return copy


def reveal():
    """(its script, its style) from the package that carries reveal.js; None if it is not installed."""
    found = importlib.util.find_spec("pyreveal")
    if not found:
        return None
    folder = Path(found.submodule_search_locations[0]) / "revealjs" / "dist"
    return tuple((folder / name).read_text(encoding="utf-8") for name in ("reveal.js", "reveal.css"))


def deck(notebook, library):
    """The slides as a page. library: what reveal() gave."""
    shown = with_types(notebook)
    sections = pages.fragment(shown, pages.SlidesExporter, "reveal/base.html.j2")
    body = f'<main class="reveal"><div class="slides">{sections}</div></main>\n{live.live_part(shown)}'
    script, style = library or ("", PLAIN)
    if library:
        body += f"\n<script>{script.replace('</script', '<' + chr(92) + '/script')}</script>\n<script>{START}</script>"
    return pages.document(pages.title_of(notebook), body, style + STYLE)


def main(words):
    """Write the slides. Returns the exit code: 1 if the notebook does not run, or cannot be read or written."""
    parser = argparse.ArgumentParser(prog="python3 -m course_lib slides", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("notebook", metavar="NOTEBOOK", type=Path, help="a file, such as notebooks/01_multi_head_intuition.ipynb")
    parser.add_argument("--out", metavar="FILE", type=Path, help="default: NOTEBOOK.slides.html in this folder")
    parser.add_argument("--as-is", action="store_true", help="show the outputs that the file has; run nothing")
    parser.add_argument("--dry-run", action="store_true", help="say what would be written, and write nothing")
    given = parser.parse_args(words)
    target = given.out or Path(f"{given.notebook.stem}.slides.html")
    try:
        columns = slide_types(split_at_headings(nbformat.read(given.notebook, as_version=4))).count("slide")
        if given.dry_run:
            print(f"would write {target}: {columns} sections")
            return 0
        print(f"{given.notebook.stem}: {'reading' if given.as_is else 'running'} …", flush=True)
        notebook = nbformat.read(given.notebook, as_version=4) if given.as_is else rendered(given.notebook)
        library = reveal()
        target.write_text(deck(notebook, library), encoding="utf-8")
    except nbformat.reader.NotJSONError:
        print(f"{given.notebook} is no notebook.", file=sys.stderr)
        return 1
    except (Failed, OSError) as problem:
        print(problem, file=sys.stderr)
        return 1
    print(f"{target}: {columns} sections" + ("" if library else
          "; reveal.js is not there (python3 -m course_lib install site), so the slides stand one below the other"))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
