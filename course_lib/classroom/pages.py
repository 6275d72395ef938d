"""A notebook with outputs as one HTML page that needs nothing from outside: mathematics, styles, live views.

Formulae become MathML, which browsers draw by themselves; live.py adds the views. The page's security policy forbids
it to ask for anything from outside.
"""

import html
import re
import string
from pathlib import Path

import nbconvert
from jinja2 import pass_context
from latex2mathml.converter import convert
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from pygments.formatters import HtmlFormatter

from course_lib.classroom.live import with_places_for_views

HERE = Path(__file__).parent
POLICY = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:; font-src data:"
PAGE = string.Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>$title</title>
<style>$style</style>
</head>
<body>
$body
</body>
</html>
""")


THIN = '<mspace width="0.17em"/>'
NAMED = r"<msub><mi>log</mi>.*?</msub>|<mi>(?:sin|cos|tan|exp|log|ln)</mi>"


def mathml(formula, display="inline"):
    """A LaTeX formula as MathML, with a thin space on either side of sin, log …: browsers add none by themselves."""
    made = re.sub(f"(?<=</m[in]>)({NAMED})", rf"{THIN}\1", convert(formula, display=display))
    return re.sub(f"({NAMED})(?=<m[in]>)", rf"\1{THIN}", made)


class WithMathML(IPythonRenderer):
    """Markdown whose formulae are drawn by the browser itself."""

    def inline_math(self, body):
        return mathml(body)

    def block_math(self, body):
        return mathml(body, display="block")

    def latex_environment(self, name, body):
        return mathml(rf"\begin{{{name}}}{body}\end{{{name}}}", display="block")


class Formulae:
    """For an exporter of nbconvert: Markdown with MathML."""

    @pass_context
    def markdown2html(self, context, source):
        cell = context.get("cell", {})
        renderer = WithMathML(
            escape=False,
            attachments=cell.get("attachments", {}),
            embed_images=False,  # it would close a <details> before its text
            path="",
            anchor_link_text="",
            exclude_anchor_links=True,
        )
        return MarkdownWithMath(renderer=renderer).render(source)


class Exporter(Formulae, nbconvert.HTMLExporter):
    """The cells below each other."""


class SlidesExporter(Formulae, nbconvert.SlidesExporter):
    """The cells in <section> elements, as reveal.js wants them."""


def fragment(notebook, exporter=Exporter, template="lab/base.html.j2"):
    """The cells of a notebook as HTML, without a page around them; template: which of nbconvert's is extended.

    Its views are <div class="view"> with what they show where nothing is live.
    """
    notebook = with_places_for_views(notebook)
    maker = exporter(raw_template=f"{{%- extends '{template}' -%}}", exclude_input_prompt=True, exclude_output_prompt=True)
    page, _ = maker.from_notebook_node(notebook)
    return re.sub(r'href="(?:\./)?(\d\d_\w+)\.ipynb', r'href="\1.html', page)


def document(title, body, style=""):
    """A whole page around a body."""
    light, dark = (HtmlFormatter(style=name).get_style_defs(".highlight") for name in ("default", "github-dark"))
    colours = f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}"
    style = "\n".join([colours, (HERE / "pages.css").read_text(encoding="utf-8"), style])
    body += f"\n<script>{(HERE / 'reach.js').read_text(encoding='utf-8')}</script>"
    return PAGE.substitute(policy=POLICY, title=html.escape(title), style=style, body=body)


def title_of(notebook):
    """The notebook's first heading."""
    found = re.search(r"^# (.+)$", notebook.cells[0].source, re.M)
    return found[1] if found else "Transformers by Experiment"
