"""Which files belong to which learner: folders, zips from an LMS, zips in zips, single notebooks. Nothing is unpacked.

The learner is the name of the folder just inside what was given (`Anna Muster_4711_assignsubmission_file_` becomes
`Anna Muster`), or the part of a loose file's name that stands before the notebook's name (`muster_anna_01_multi…`).
"""

import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

LARGEST = 300 << 20  # bytes of one file; a larger one is reported, not read
DEEPEST, MOST = 3, 5000  # zips in zips; files of one zip


@dataclass
class File:
    """A file that was handed in. read() gives its bytes, or raises OSError."""

    name: str
    read: Callable


@dataclass
class Submission:
    """All that one learner handed in."""

    learner: str
    notebooks: list = field(default_factory=list)
    records: list = field(default_factory=list)  # what progress.export_file() wrote
    notes: list = field(default_factory=list)


def gather(paths, known):
    """[Submission, …] by learner's name. known: names of the course's notebooks, to tell them from learners' names."""
    found, names = {}, {}
    for path in map(Path, paths):
        for place, file in _files(path):
            folder, _, rest = place.partition("/") if "/" in place else ("", "", place)
            learner = _learner(folder, rest, known)
            learner = names.setdefault((learner, folder if "/" in place else ""), learner)
            submission = found.setdefault(learner, Submission(learner))
            kind = PurePosixPath(rest).suffix.lower()
            {".ipynb": submission.notebooks, ".jsonl": submission.records}[kind].append(file)
    return [found[name] for name in sorted(found)]


def _learner(folder, name, known):
    """The learner's name from the folder, or from what stands before the notebook's name."""
    if folder:
        return re.sub(r"_\d+_assignsubmission_.*$", "", folder).strip() or folder
    stem = PurePosixPath(name).stem
    for notebook in known:
        before, match, _ = stem.partition(notebook)
        if match and before.strip("_- "):
            return re.sub(r"(_\d+)+$", "", before.strip("_- ")) or stem
    return stem


def _files(path):
    """(place, File) of every notebook and record file; the place is relative to what was given."""
    if path.is_dir():
        for inner in sorted(path.rglob("*")):
            if inner.is_symlink() or not inner.is_file():
                continue
            place = inner.relative_to(path).as_posix()
            if inner.suffix.lower() == ".zip":
                yield from _inside(place, inner.read_bytes(), 1)
            elif _wanted(place):
                yield place, File(place, lambda inner=inner: _bounded(inner))
    elif path.suffix.lower() == ".zip":
        yield from _inside("", path.read_bytes(), 1)
    elif path.is_file() and _wanted(path.name):
        yield path.name, File(path.name, lambda: _bounded(path))
    else:
        raise FileNotFoundError(f"{path} is no folder, no zip and no notebook")


def _inside(place, raw, depth):
    """The files of a zip. One inside a learner's folder belongs to that learner."""
    prefix = place.removesuffix(".zip").removesuffix(".ZIP")
    try:
        archive = zipfile.ZipFile(io.BytesIO(raw))
        entries = [e for e in archive.infolist() if not e.is_dir()][:MOST]
    except (zipfile.BadZipFile, OSError, ValueError):
        return  # no zip after all; whoever is missing is seen in the table
    for entry in entries:
        inner = f"{prefix}/{entry.filename.replace(chr(92), '/').lstrip('/')}" if prefix else entry.filename.replace(chr(92), "/")
        if inner.lower().endswith(".zip") and depth < DEEPEST and entry.file_size <= LARGEST:
            yield from _inside(inner, _unzipped(archive, entry), depth + 1)
        elif _wanted(inner):
            yield inner, File(inner, lambda archive=archive, entry=entry: _unzipped(archive, entry))


def _unzipped(archive, entry):
    try:
        with archive.open(entry) as file:
            raw = file.read(LARGEST + 1)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, ValueError) as error:
        raise OSError(f"it cannot be unpacked ({error})") from error
    if len(raw) > LARGEST:
        raise OSError("it is too large")
    return raw


def _bounded(path):
    if path.stat().st_size > LARGEST:
        raise OSError("it is too large")
    return path.read_bytes()


def _wanted(place):
    parts = place.split("/")
    hidden = any(p.startswith((".", "__MACOSX", "._")) for p in parts)
    return not hidden and place.lower().endswith((".ipynb", ".jsonl"))
