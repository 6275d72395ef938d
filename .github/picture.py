"""Make the README's two pictures, light and dark, from the running course: `python .github/picture.py`.

JupyterLab runs three cells of notebook 01: one exercise, answered as it is often answered, and the first view.
"""

import json
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
import labkit  # noqa: E402  (lies in tests/)

ANSWER = """    scores = q @ k.transpose(-2, -1) / math.sqrt(k.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    weights = scores.softmax(dim=-2)
    return weights @ v, weights"""
PAGE = """<!doctype html><meta charset="utf-8">
<style>body {{ margin: 0; padding: 16px; width: 1240px; display: flex; gap: 16px; align-items: stretch; background: {paper} }}
       figure {{ margin: 0; border: 1px solid #8888; border-radius: 8px; overflow: hidden; background: {card}; padding: 12px }}
       img {{ display: block; width: 100% }}</style>
<figure style="flex: 1.12"><img src="{check}"></figure><figure style="flex: 1"><img src="{view}"></figure>"""


def cells():
    """The set-up, the exercise with an answer, the training and the view of notebook 01, as (name, source) pairs."""
    notebook = json.loads((HERE.parent / "notebooks/01_multi_head_intuition.ipynb").read_text(encoding="utf-8"))
    sources = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    exercise = next(source for source in sources if source.startswith("def scaled_dot_product_attention"))
    signature, call = exercise.split("\n")[0], exercise.split("\n")[-1]
    training = next(source for source in sources if source.startswith("SIZES, COUNTS"))
    return {
        "set-up": sources[0] + "\n" + sources[1],
        "exercise": f"{signature}\n{ANSWER}\n\n\n{call}",
        "training": training,
        "view": "view = explore_heads(models)\nview.d_model, view.n_heads = 64, 4\nview",
    }


def shoot(page, found, path):
    found.scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    found.screenshot(path=path)
    return path.as_uri()


def main():
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        scratch, wanted = Path(scratch), cells()
        labkit.write_notebook(scratch / "course.ipynb", *wanted.values())
        (scratch / "home").mkdir()
        browser = labkit.launch(playwright)
        with labkit.Lab(scratch, scratch / "home") as lab:
            page = labkit.new_page(browser, lab, width=760, height=1400)
            labkit.open_notebook(page, lab, "course.ipynb")
            labkit.run_all(page)
            for theme, paper, card in zip(labkit.THEMES, ("#fff", "#0d1117"), ("#fff", "#111"), strict=True):
                labkit.set_theme(page, theme)
                number = list(wanted).index
                check = shoot(page, labkit.cell(page, number("exercise")), scratch / f"check {theme}.png")
                output = labkit.cell(page, number("view")).locator(".jp-OutputArea-output").first
                view = shoot(page, output, scratch / f"view {theme}.png")
                sheet = scratch / "sheet.html"
                sheet.write_text(PAGE.format(paper=paper, card=card, check=check, view=view), encoding="utf-8")
                whole = browser.new_page(viewport={"width": 1272, "height": 400}, device_scale_factor=1)
                whole.goto(sheet.as_uri())
                whole.screenshot(path=HERE / f"course-{theme.split()[-1].lower()}.png", full_page=True)
                whole.close()
        browser.close()


if __name__ == "__main__":
    main()
