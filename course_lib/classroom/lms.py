"""python3 -m course_lib lms DIR: the quizzes for a learning management system, from the one bank in quizzes/.

    DIR/moodle/NN_….xml    Moodle XML          DIR/qti/NN_….zip       QTI 2.1 package
    DIR/gift/NN_….txt      GIFT                DIR/canvas/NN_….zip    QTI 1.2 package for Canvas

What is written holds the keys. Nothing is sent anywhere; the files are imported by hand.
"""

import argparse
import sys
from pathlib import Path

from course_lib import quiz_bank
from course_lib.classroom.lms_canvas import write_canvas
from course_lib.classroom.lms_gift import gift
from course_lib.classroom.lms_moodle import moodle_xml
from course_lib.classroom.lms_qti_package import write_qti

FORMATS = {  # name: (ending, function that writes a quiz to a path)
    "moodle": ("xml", lambda quiz, path: path.write_bytes(moodle_xml(quiz))),
    "gift": ("txt", lambda quiz, path: path.write_bytes(gift(quiz).encode("utf-8"))),
    "qti": ("zip", write_qti),
    "canvas": ("zip", write_canvas),
}


def arguments(words):
    parser = argparse.ArgumentParser(prog="python3 -m course_lib lms", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("folder", metavar="DIR", type=Path, help="where to write; it is made if need be")
    parser.add_argument("--format", nargs="+", choices=FORMATS, default=list(FORMATS), help="default: all four")
    parser.add_argument("--notebook", nargs="+", metavar="NN_…", help="default: every notebook that has a quiz")
    parser.add_argument("--dry-run", action="store_true", help="say what would be written, and write nothing")
    return parser.parse_args(words)


def main(words):
    """Write the files, a line for each. Returns the exit code: 1 if a quiz is unknown or broken, or DIR is no folder."""
    given = arguments(words)
    try:
        quizzes = [quiz_bank.load(name) for name in given.notebook or names()]
        for quiz in quizzes:
            for format in given.format:
                ending, write = FORMATS[format]
                path = given.folder / format / f"{quiz['notebook']}.{ending}"
                if not given.dry_run:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    write(quiz, path)
                print(f"{'would write ' if given.dry_run else ''}{path}: {len(quiz['items'])} questions", flush=True)
    except (ValueError, OSError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def names():
    """The notebooks that have a quiz."""
    return sorted(path.stem for path in quiz_bank.FOLDER.glob("*.yaml"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
