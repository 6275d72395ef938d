"""Links for a class on a hub: each fetches the course into the learner's own folder, and opens a notebook.

nbgitpuller does it, on the learner's server. Followed again, a link fetches what is new and keeps what the learner has
written. The repository's address is that of pyproject.toml, until --repository names another.
"""

import sys
import urllib.parse

from course_lib.__main__ import project
from course_lib.classroom.tasks import shipped

PLACEHOLDER = "/OWNER/"  # stands in pyproject.toml until the course has an address


def add_options(parser):
    group = parser.add_argument_group("links", "one for each notebook, to give to learners")
    group.add_argument("--links", action="store_true", help="print them, and start nothing")
    group.add_argument("--hub", metavar="URL", help="the hub's address as learners see it (default: where this one would open)")
    group.add_argument("--repository", metavar="URL", help="the repository that learners get: what `release` wrote, pushed somewhere")
    group.add_argument("--branch", default="main", help="default: %(default)s")


def main(options, hub):
    """Print the links to a hub. Returns the exit code: 1 if nobody has said where the repository is."""
    repository = options.repository or project()["urls"]["Repository"]
    if PLACEHOLDER in repository:
        print(f"Name the repository that learners get: --repository URL. ({repository}, from pyproject.toml, is a placeholder.)", file=sys.stderr)
        return 1
    for name in shipped().notebooks:
        print(link(options.hub or hub, repository, options.branch, name))
    return 0


def folder_of(repository):
    """The folder that a learner gets: the last part of the repository's address."""
    return urllib.parse.urlsplit(repository).path.rstrip("/").rpartition("/")[2].removesuffix(".git")


def link(hub, repository, branch, notebook):
    """The address that fetches `repository` and opens `notebook` (a name without .ipynb) on the hub."""
    folder = folder_of(repository)
    query = {"repo": repository, "branch": branch, "targetpath": folder, "urlpath": f"lab/tree/{folder}/notebooks/{notebook}.ipynb"}
    return f"{hub.rstrip('/')}/hub/user-redirect/git-pull?{urllib.parse.urlencode(query)}"
