"""Settings of nbgrader for this course. `release --nbgrader` copies this file beside the notebooks' sources.

nbgrader runs it; nothing imports it. It needs the instructor's course_lib, with its folder classroom.
"""

import atexit
import os
import shutil
import tempfile

from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbgrader.api import Gradebook
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearOutput,
    DeduplicateIds,
    GetGrades,
    NbGraderPreprocessor,
    OverwriteCells,
    OverwriteKernelspec,
)

from course_lib.classroom.nbgrader_intake import put_in_place


class PutInPlace(NbGraderPreprocessor):
    """Before all others: whatever state a submission is in, each answer has its test behind it, once."""

    def preprocess(self, notebook, resources):
        place = resources["nbgrader"]
        with Gradebook(place["db_url"]) as gradebook:
            source = gradebook.find_notebook(place["notebook"], place["assignment"])
            sources = {cell.name: cell.source for cell in source.source_cells}
            points = {cell.name: cell.max_score for cell in source.grade_cells}
        put_in_place(notebook, sources, points)
        return notebook, resources


# What a learner's `check` keeps a record of goes to a folder that is gone afterwards, never to your own records.
records = tempfile.mkdtemp(prefix="course-lib-grading-")
atexit.register(shutil.rmtree, records, ignore_errors=True)
os.environ["COURSE_LIB_HOME"] = records

# nbgrader puts get_config here before it runs this file.
c = get_config()  # noqa: F821
c.ClearSolutions.code_stub = {"python": "..."}  # as in the course's own notebooks: runs, and counts as not started
c.ClearSolutions.text_stub = "*Write your answer here.*"
c.Execute.timeout = 60  # seconds for a cell: an endless loop ends here
c.Execute.iopub_timeout = 20  # seconds until a kernel that was interrupted must have said so, also on a busy machine
c.Autograde.sanitize_preprocessors = [
    PutInPlace, ClearOutput, DeduplicateIds, OverwriteKernelspec, OverwriteCells, CheckCellMetadata]  # fmt: skip
c.GenerateFeedback.preprocessors = [GetGrades, CSSHTMLHeaderPreprocessor, ClearHiddenTests]
