"""What the repository must keep to. Each gate takes the folder of a tree, and lists the problems."""

import ast
import re
import subprocess
import sys
import tomllib

import yaml
from words import OTHER_NAMES, foreign

# What the notebooks teach, and what these need around them: the core. It draws nothing.
TAUGHT = {
    "masks",
    "attention",
    "positions",
    "blocks",
    "models",
    "heads",
    "counting",
    "generation",
    "training",
}
CORE = TAUGHT | {"cache", "costs", "pretrained", "gguf", "kernels", "tasks"}
# Who may import whom: a module or package of course_lib -> the others that it may use
LAYERS = {
    "masks": set(),
    "positions": set(),
    "cache": set(),
    "counting": {"models"},
    "costs": {"models"},
    "data_parallel": {"models", "training", "tasks"},
    "cgroups": set(),
    "training": {"cgroups"},
    "gguf": set(),
    "kernels": {"masks"},
    "attention": {"masks", "kernels"},
    "blocks": {"attention", "masks", "positions", "kernels"},
    "models": {"attention", "blocks", "masks", "positions"},
    "heads": {"models", "masks"},
    "generation": {"models", "cache", "masks"},
    "pretrained": {"models", "gguf"},
    "tasks": CORE - {"gguf"},
    "plots": set(),
    "rich_text": set(),
    "journal": set(),
    "progress": {"journal"},
    "quiz": {"progress", "rich_text"},
    "exercises": CORE | {"progress", "quiz"},
    "widgets": CORE | {"plots"},
    "classroom": {"exercises", "quiz", "progress", "journal", "rich_text", "lab", "__main__"},
    "model_card": {"journal"},
    "doctor": CORE | {"__main__", "cgroups", "journal", "lab"},
    "lab": set(),
    "__main__": set(),
    "__init__": set(),
}
DRAWING = {"matplotlib", "seaborn", "IPython", "ipywidgets", "anywidget", "traitlets", "triton"}
WIDGETS = {"ipywidgets", "anywidget"}
NETWORK = {
    "urllib.request",
    "urllib3",
    "http.client",
    "requests",
    "httpx",
    "ftplib",
    "huggingface_hub",
    "aiohttp",
}
FUNCTION_LINES, MODULE_LINES = 30, 180


def modules(root):
    """{path below course_lib, as "tasks/dates": syntax tree}"""
    folder = root / "course_lib"
    return {
        path.relative_to(folder).with_suffix("").as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.py"))
    }


def imports(tree):
    """Every module that the tree imports, wherever it stands: "course_lib.attention", "torch", …"""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def part_of(path):
    """The module or package of course_lib that LAYERS speaks of; quiz and its quiz_… are one."""
    first = path.split("/")[0]
    return "quiz" if first.startswith("quiz_") else first


def layering(root):
    """Each module of course_lib imports only those that LAYERS allows it."""
    problems = []
    for path, tree in modules(root).items():
        part = part_of(path)
        if part not in LAYERS:
            problems.append(f"course_lib/{path}.py: say in tests/tree_gates.py what {part} may import")
            continue
        used = {part_of(name.split(".")[1]) for name in imports(tree) if name.startswith("course_lib.")}
        problems += [f"course_lib/{path}.py may not import {name}" for name in used - LAYERS[part] - {part}]
    return problems


def right_libraries(root):
    """The core draws nothing, only widgets and quiz use widget libraries, only __main__ uses the network."""
    problems = []
    for path, tree in modules(root).items():
        part, names = part_of(path), imports(tree)
        banned = DRAWING if part in CORE else set() if part in ("widgets", "quiz") else WIDGETS
        banned = (banned - {"triton"} if part == "kernels" else banned) | (
            NETWORK if part != "__main__" else set()
        )
        used = {b for b in banned for name in names if f"{name}.".startswith(f"{b}.")}
        problems += [f"course_lib/{path}.py may not import {name}" for name in sorted(used)]
    return problems


def one_definition(root):
    """A public function or class of a module that is taught is defined nowhere else."""
    where = {}
    for path, tree in modules(root).items():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                where.setdefault(node.name, []).append(path)
    return [
        f"{name} is defined in {' and in '.join(paths)}"
        for name, paths in where.items()
        if len(paths) > 1 and TAUGHT & {part_of(path) for path in paths}
    ]


def vocabulary(root):
    """Arguments, functions, and the words of messages, labels and quizzes are those of the course's vocabulary."""
    problems = []
    for path, tree in modules(root).items():
        for node in ast.walk(tree):
            name = node.arg if isinstance(node, ast.arg) else getattr(node, "name", None)
            said = foreign(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
            said += [f"{name} is called {OTHER_NAMES[name]} here"] if name in OTHER_NAMES else []
            problems += [f"course_lib/{path}.py:{node.lineno}: {what}" for what in said]
    for path in sorted([*root.glob("quizzes/*.yaml"), *root.glob("course_lib/**/*.js")]):
        problems += [f"{path.relative_to(root)}: {what}" for what in foreign(path.read_text(encoding="utf-8"))]
    return problems


def short_functions(root):
    """No function is longer than 30 lines, its docstring not counted."""
    problems = []
    for path, tree in modules(root).items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
                if lines > FUNCTION_LINES:
                    problems.append(
                        f"course_lib/{path}.py: {node.name} has {lines} lines, of {FUNCTION_LINES}"
                    )
    return problems


def plain_names(root):
    """No module or folder is called by a word that says nothing."""
    return [
        f"{path.relative_to(root)} has a name that says nothing"
        for path in root.joinpath("course_lib").rglob("*")
        if path.stem in ("utils", "util", "helpers", "misc", "common", "solutions", "student")
    ]


def committed(root):
    """The text files that git has under `root`: {name: text}."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True
    ).stdout.decode("utf-8")
    texts = {}
    for name in filter(None, names.split("\0")):
        data = (root / name).read_bytes() if (root / name).is_file() else b""
        if b"\0" not in data:
            texts[name] = data.decode("utf-8")
    return texts


def no_traces(root):
    """No file names a folder of its author's machine, or a package index; __main__ has its one address."""
    folder = re.compile(r"(?<![\w.~}-])/(?:home|Users|root|work|tmp)/\w|[A-Z]:\\\\Users")
    index = re.compile(
        "--" + r"(extra-)?index-url|--" + r"find-links|pypi\.org|files\.pythonhosted|registry\.npmjs"
    )
    problems = []
    for name, text in committed(root).items():
        for number, line in enumerate(text.split("\n"), 1):
            if folder.search(line) or (index.search(line) and name != "course_lib/__main__.py"):
                problems.append(f"{name}:{number}: {line.strip()[:90]}")
    return problems


def nothing_generated(root):
    """Nothing is committed that a command makes, and no file is large."""
    return [
        f"{name} is generated, or too large"
        for name, text in committed(root).items()
        if len(text) > 500_000
        or re.search(r"(^|/)(\.venv|__pycache__|node_modules|out|dist)/|\.min\.js$", name)
    ]


# The packages, said three times

CONDA_NAMES = {"torch": "pytorch", "fastjsonschema": "python-fastjsonschema"}
IMPORT_NAMES = {"pyyaml": "yaml", "scikit-learn": "sklearn"}
# comes with ipywidgets and with JupyterLab, which cannot do without
BROUGHT_ALONG = {"IPython", "traitlets", "jupyter_client", "jupyter_core", "matplotlib_inline", "nbclient", "nbconvert",
                 "nbformat", "jinja2", "pygments"}


def bounds(requirement):
    """ "torch>=2.9,<3  # why" -> ("torch", {">=2.9", "<3"})"""
    name, rest = re.match(r"([\w.-]+)\s*([^;#]*)", requirement).groups()
    return name.lower(), set(rest.replace(" ", "").split(","))


def environments_agree(root):
    """environment.yml names what pyproject.toml names, in the same versions; binder/ holds the same file."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (root / "environment.yml").read_text(encoding="utf-8")
    environment = yaml.safe_load(text)
    conda = dict(bounds(line) for line in environment["dependencies"])
    ours = {CONDA_NAMES.get(name, name): versions for name, versions in map(bounds, project["dependencies"])}
    python = conda.pop("python")
    problems = [
        f"{name}: pyproject says {ours.get(name)}, environment.yml {conda.get(name)}"
        for name in sorted(set(ours) | set(conda) - {"pip"})
        if ours.get(name) != conda.get(name)
    ]
    if environment["channels"] != ["conda-forge"]:
        problems.append(f"the channels are {environment['channels']}, and not conda-forge alone")
    if not re.fullmatch(r"=3\.1[1-4]", "".join(python)):
        problems.append(
            f"python{''.join(python)}: Binder reads only one = and one version, from 3.11 to 3.14"
        )
    if (root / "binder" / "environment.yml").read_text(encoding="utf-8") != text:
        problems.append("binder/environment.yml is no copy of environment.yml")
    return problems


def dependencies_are_listed(root):
    """What course_lib imports, pyproject.toml names (or an extra does: triton, and what the peers need)."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [line for lines in project.get("optional-dependencies", {}).values() for line in lines]
    listed = {bounds(line)[0] for line in project["dependencies"] + extras}
    known = {IMPORT_NAMES.get(name, name.replace("-", "_")) for name in listed} | BROUGHT_ALONG | {"course_lib"}
    problems = []
    for path, tree in modules(root).items():
        others = {name.split(".")[0] for name in imports(tree)} - known - sys.stdlib_module_names
        problems += [f"course_lib/{path}.py imports {name}, which is not listed" for name in sorted(others)]
    return problems


def dependencies_have_reasons(root):
    """Each package in pyproject.toml stands on a line that says what it is for."""
    lines = (root / "pyproject.toml").read_text(encoding="utf-8").split("\n")
    start, end = lines.index("dependencies = ["), lines.index("]", lines.index("dependencies = ["))
    return [f"no reason given: {line.strip()}" for line in lines[start + 1 : end] if "#" not in line]


def front_page(root):
    """README's table has each notebook with the minutes that it states itself; its badge opens pyproject's repository."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    badge = f"https://mybinder.org/v2/gh/{'/'.join(project['urls']['Repository'].split('/')[-2:])}/"
    problems = [] if badge in readme else [f"README.md: the badge should open {badge}…, the Repository of pyproject.toml"]
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        minutes = re.search(r"About (\d+) minutes", path.read_text(encoding="utf-8"))
        row = rf"\(notebooks/{path.name}\) \|[^|]*\| {minutes[1] if minutes else 'no'} \|"
        if not re.search(row, readme):
            problems.append(f"README.md: no row for {path.name} with its minutes, {minutes[1] if minutes else 'which it does not state'}")
    return problems


GATES = (
    layering,
    right_libraries,
    one_definition,
    vocabulary,
    short_functions,
    plain_names,
    no_traces,
    nothing_generated,
    environments_agree,
    dependencies_are_listed,
    dependencies_have_reasons,
    front_page,
)


def smells(root):
    """Modules that have grown long: worth a look, not wrong."""
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines())
        for path in (root / "course_lib").rglob("*.py")
    }
    return [
        f"{path.relative_to(root)}: {n} lines (60 to {MODULE_LINES} are planned)"
        for path, n in lengths.items()
        if n > MODULE_LINES
    ]
