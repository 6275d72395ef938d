"""The course as static pages and as slides: opened from a file, in a browser that reaches nothing else."""

import importlib.util
import re
from pathlib import Path

import labkit
import nbformat
import pytest

pytest.importorskip("latex2mathml", reason="no latex2mathml: python3 -m course_lib install site")
from course_lib import __main__ as start
from course_lib import progress
from course_lib.classroom import live, pages, site, slides
from course_lib.classroom.rendered import Failed, rendered

sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright: python3 -m course_lib test installs it")
expect = sync_api.expect
needs_browser = pytest.mark.skipif(labkit.CHROMIUM is None, reason=labkit.WHY_NOT)

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
TEXT = r"""# 9 · A small notebook

**Does it show?** See [positions](02_position_fingerprints.ipynb) and [a paper](https://arxiv.org/abs/1706.03762).

$$\text{softmax}\left(\frac{QK^\top}{\sqrt{d_k}}\right)V$$

| a wide table | with a name |
|---|---|
| `value` | $a_1 + a_2 + a_3 + a_4 + a_5 + a_6 + a_7 + a_8 + a_9 + a_{10} + a_{11} + a_{12} + a_{13}$ |

\begin{pmatrix} 1 & 2 \end{pmatrix}

Inline $d_\text{model} = 64$, and `price = "$5"` in code.

<details><summary>Going deeper</summary>

A proof that $a < b$.

</details>
"""
CELLS = [
    "import torch\nfrom types import SimpleNamespace\nfrom course_lib import plots\n"
    "from course_lib.quiz import ask, compare, predict\n"
    "from course_lib.widgets import explore_heads, explore_parameters, explore_positions",
    "def run(d, h):\n    weights = (4 * torch.randn(3, h, 8)).softmax(-1)\n"
    "    return SimpleNamespace(accuracy=d / 100, all_right=0.2, n_parameters=100 * d, d_k=d // h, weights=weights,\n"
    "                           asked=torch.tensor([[0, 3, 5], [1, 2, 7], [6, 4, 0]]))\n"
    "explore_heads({(d, h): run(d, h) for d in (8, 16) for h in (1, 2)}, chance=1 / 6)",
    "explore_positions()",
    "explore_parameters()",
    "predict('wider_head')",
    "compare('wider_head', 0.37)",
    "ask('01_multi_head_intuition', 'Q1', 'Q1_drill')",
    "fig, ax = plots.figure(4, 2)\nax.plot([1, 2])\nplots.show(fig, 'A line that goes up.')",
    "print('long ' * 60)",
    "from course_lib.progress import Page\nPage('Wide', {'Names': ['a_name_without_an_end_' * 9]})",
]


def notebook_of(*cells):
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_markdown_cell(TEXT), *(nbformat.v4.new_code_cell(c) for c in cells)]
    return notebook


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The small notebook, run. This learner has answered Q1 before, which no page may show."""
    folder = tmp_path_factory.mktemp("ran")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_LIB_HOME", str(folder / "home"))
        progress.record("answer", "01_multi_head_intuition/Q1", given="B", attempts=1, right=True, done=True)
        nbformat.write(notebook_of(*CELLS), folder / "09_small.ipynb")
        return rendered(folder / "09_small.ipynb")


@pytest.fixture(scope="module")
def page_file(ran, tmp_path_factory):
    path = tmp_path_factory.mktemp("site") / "09_small.html"
    path.write_text(site.page(ran, after=("10_next.html", "Next")), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def chromium():
    with sync_api.sync_playwright() as playwright:
        browser = labkit.launch(playwright)
        yield browser
        browser.close()


def opened(browser, path, width=1100, scheme="light"):
    """A page from a file; page.outside lists each request for anything else, page.problems each error."""
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = labkit.watched(context, lambda address: address.split("#")[0] == path.as_uri() or address.startswith("data:"))
    page.goto(path.as_uri())
    views = page.locator(".view")
    expect(page.locator(".view[data-live]")).to_have_count(views.count(), timeout=20_000)
    return page


@pytest.fixture
def page(chromium, page_file):
    page = opened(chromium, page_file)
    yield page
    assert (page.outside, page.problems) == ([], [])
    page.context.close()


# ---- what the page says and holds ----
def test_formulae_are_mathml_and_code_is_left_alone(ran):
    text = pages.fragment(ran)
    assert text.count("<math") == 5 and "<msqrt>" in text
    assert "$$" not in text and "\\begin" not in text and 'price = "$5"' in text.replace("&quot;", '"')


def test_named_functions_keep_their_distance():
    made = pages.mathml(r"2\sin a\log_2 n\cos(b)")
    names = re.sub('<mspace[^>]*>', "_", made)
    assert re.sub("<[^>]*>|&#x0002[89];", " ", names).split() == "2 _ sin _ a _ log 2 _ n _ cos b".split()


def test_links_lead_to_pages_and_a_folded_part_stays_folded(ran):
    text = pages.fragment(ran)
    assert 'href="02_position_fingerprints.html"' in text and 'href="https://arxiv.org/abs/1706.03762"' in text
    assert re.search("<details>.*A proof.*</details>", text, re.S)


def test_a_notebook_without_a_page_is_no_link():
    text = '<a href="02_b.html#x">02</a> <a href="01_a.html">01</a> <a href="https://e.org/02_b.html">out</a>'
    assert site.without_dead_links(text, {"01_a.html"}) == '02 <a href="01_a.html">01</a> <a href="https://e.org/02_b.html">out</a>'


def test_every_picture_has_its_alt_text(ran):
    images = re.findall("<img[^>]*>", pages.fragment(ran))
    assert len(images) == 1 and 'alt="A line that goes up."' in images[0]


def test_the_top_says_what_is_not_live_and_what_works(ran):
    told = site.what_is_live(ran)
    assert "code does not run" in told and "nothing that you answer is kept" in told
    assert "the quiz and the predictions, 1 view in full, 1 view in part, 1 view as a still picture" in told


def test_no_answer_of_the_person_who_made_the_page_is_in_it(ran):
    quiz = next(state for state in live.shown_states(ran) if state.get("view") == "ask")
    assert quiz["answers"] == {} and len(quiz["items"]) == 2


def test_a_view_without_a_browser_shows_its_picture_and_its_words(ran):
    text = pages.fragment(ran)
    assert len(re.findall('<svg [^>]*role="img"', text)) >= 2 and "of the answers right" in text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem[:2])
def test_every_formula_of_the_course_can_be_drawn(path):
    text = pages.fragment(nbformat.read(path, as_version=4))
    prose = re.sub("<(pre|code)[^>]*>.*?</\\1>", "", text, flags=re.S)
    assert "<math" in prose and "$" not in prose
    assert not re.search(r">[^<]*\\[a-z]+[^<]*</m", prose), "a command that latex2mathml does not know"


# ---- in a browser ----
@needs_browser
def test_a_view_that_the_browser_draws_alone_is_live(page):
    heads = page.locator(".view").first
    before = heads.inner_text()
    heads.get_by_label("Head count h").press("ArrowRight")
    expect(heads).to_contain_text("head 2")
    assert heads.inner_text() != before and "Python" not in heads.inner_text()
    page.wait_for_timeout(4500)  # family.js gives Python four seconds to answer
    assert "does not answer" not in heads.inner_text()


@needs_browser
def test_a_control_that_needs_python_goes_back_and_says_so(page):
    positions, parameters = page.locator(".view").nth(1), page.locator(".view").nth(2)
    words = positions.locator(".tx-words")
    positions.get_by_label("Width d_model").press("ArrowRight")
    expect(words).to_contain_text("d_model = 48")
    positions.get_by_label("Base").select_option("100")
    expect(positions.locator(".note")).to_contain_text("needs Python")
    expect(positions.get_by_label("Base")).to_have_value("3")
    before = parameters.locator(".tx-big").inner_text()
    parameters.get_by_label("Layers").press("ArrowRight")
    expect(parameters.locator(".note")).to_contain_text("needs Python")
    assert parameters.locator(".tx-big").inner_text() == before
    expect(page.locator(".view-place").nth(1)).to_contain_text("but for what Python must compute: base")


@needs_browser
def test_the_quiz_marks_explains_and_says_that_nothing_is_kept(page):
    quiz = page.locator(".course-quiz").filter(has_text="By the usual rule").last
    first = quiz.locator("fieldset").first
    first.get_by_label("256").check()
    first.get_by_role("button", name="Check").click()
    expect(first).to_contain_text("Not yet")
    first.get_by_label("32").check()
    first.get_by_role("button", name="Check").click()
    expect(first).to_contain_text("Correct.")
    expect(quiz).to_contain_text("this page keeps no answers")
    page.wait_for_timeout(4500)
    expect(quiz).not_to_contain_text("no kernel")
    drill = quiz.locator(".drill")
    asked = drill.locator("legend").inner_text()
    for _ in range(2):
        drill.get_by_role("radio").first.check()
        if drill.get_by_role("button", name="Check").count():
            drill.get_by_role("button", name="Check").click()
    drill.get_by_role("button", name="Next question").click()
    assert drill.locator("legend").inner_text() != asked


@needs_browser
def test_a_prediction_can_be_committed_and_the_comparison_claims_nothing_about_it(page):
    frame = page.locator(".predict")
    frame.get_by_label("Your number").fill("0.5")
    frame.get_by_role("button", name="Commit").click()
    expect(frame).to_contain_text("You are committed")
    compared = page.locator(".compare")
    expect(compared).to_contain_text("0.37")
    expect(compared).not_to_contain_text("You did not commit")


@needs_browser
@pytest.mark.parametrize("width, scheme", [(360, "dark"), (1100, "light")])
def test_the_page_fits_a_phone_and_axe_finds_nothing(chromium, page_file, width, scheme):
    page = opened(chromium, page_file, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.locator("details").first.evaluate("node => { node.open = true; }")
    wide = page.locator(".jp-CodeCell pre").evaluate_all("all => all.map(box => [box.scrollWidth > box.clientWidth, box.tabIndex])")
    assert any(scrolls for scrolls, _ in wide) and all((stop == 0) == scrolls for scrolls, stop in wide)
    assert labkit.axe(page, page.locator("html")) == []
    page.context.close()


@needs_browser
def test_on_paper_the_links_go_and_what_was_folded_is_there(page):
    proof = page.get_by_text("A proof that")
    expect(proof).not_to_be_visible()
    page.emulate_media(media="print")
    expect(page.get_by_role("navigation")).not_to_be_visible()
    expect(proof).to_be_visible()
    code = page.locator(".jp-OutputArea pre", has_text="long long")
    assert code.evaluate("node => node.scrollWidth <= node.clientWidth")
    page.emulate_media(media="screen")


@needs_browser
def test_the_policy_of_the_page_forbids_what_a_mistake_would_fetch(chromium, page_file, tmp_path):
    bad = tmp_path / "bad.html"
    extra = '<img alt="" src="https://example.org/a.png"><script src="https://example.org/b.js"></script></body>'
    bad.write_text(page_file.read_text(encoding="utf-8").replace("</body>", extra), encoding="utf-8")
    page = opened(chromium, bad)
    assert page.outside == [] and len(page.problems) >= 2
    bad.write_text(re.sub("<meta http-equiv[^>]*>", "", bad.read_text(encoding="utf-8")), encoding="utf-8")
    assert opened(chromium, bad).outside, "without the policy the gate of this test sees the requests"


# ---- the command ----
def test_a_notebook_that_fails_is_named_with_its_error_and_the_others_are_written(tmp_path, capsys):
    nbformat.write(notebook_of("1 / 0"), tmp_path / "08_bad.ipynb")
    nbformat.write(notebook_of("1 + 1"), tmp_path / "09_good.ipynb")
    words = [str(tmp_path / "out"), "--notebook", str(tmp_path / "08_bad.ipynb"), str(tmp_path / "09_good.ipynb")]
    assert site.main(words) == 1
    said = capsys.readouterr()
    assert "ZeroDivisionError: division by zero" in said.err and "1 / 0" in said.err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["09_good.html", "index.html"]
    index = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert 'href="09_good.html"' in index and "A small notebook" in index and "08_bad" not in index


def test_a_notebook_that_takes_too_long_is_stopped(tmp_path):
    nbformat.write(notebook_of("while True: pass"), tmp_path / "loop.ipynb")
    with pytest.raises(Failed, match="stopped after 8 seconds"):
        rendered(tmp_path / "loop.ipynb", limit=8)


def test_a_dry_run_writes_nothing_and_an_unknown_notebook_is_said(tmp_path, capsys):
    assert site.main([str(tmp_path / "out"), "--dry-run"]) == 0
    assert capsys.readouterr().out.count("would write") == len(NOTEBOOKS) + 1
    assert site.main([str(tmp_path / "out"), "--notebook", "nothing.ipynb"]) == 1
    assert "nothing.ipynb" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_a_file_that_is_no_notebook_is_said_in_a_sentence(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("# No notebook", encoding="utf-8")
    assert site.main([str(tmp_path / "out"), "--notebook", str(page)]) == 1
    assert slides.main([str(page), "--out", str(tmp_path / "page.html")]) == 1
    assert capsys.readouterr().err.count("page.md") == 2
    assert not (tmp_path / "out").exists() and not (tmp_path / "page.html").exists()


def test_every_command_has_its_module_and_its_extras():
    known = start.project()["optional-dependencies"]
    for name, (module, _) in start.MODULES.items():
        assert importlib.util.find_spec(module), name
        assert set(start.EXTRAS.get(name, ())) <= set(known)
    assert set(start.EXTRAS) <= set(start.MODULES)


# ---- slides ----
def test_sections_become_columns_and_working_cells_are_left_out():
    notebook = notebook_of("import torch", "x = 1", "def stub(): ...", "SEED = 0", "y = 2")
    notebook.cells[3].metadata.tags, notebook.cells[4].metadata.tags = ["exercise"], ["parameters"]
    notebook.cells[5:5] = [nbformat.v4.new_markdown_cell(t) for t in ("## A claim\n\ntext", "said of it", "### A part")]
    types = slides.slide_types(notebook)
    assert types == ["slide", "skip", "subslide", "skip", "skip", "slide", "-", "subslide", "subslide"]
    notebook.cells[2].metadata.slideshow = {"slide_type": "notes"}
    assert slides.slide_types(notebook)[2] == "notes"


def test_a_heading_in_the_middle_of_a_text_begins_a_slide():
    notebook = notebook_of("import torch", "1 + 1")
    notebook.cells.append(nbformat.v4.new_markdown_cell("Read so.\n\n## Next\n\nText.\n\n### Part"))
    notebook.cells.append(nbformat.v4.new_markdown_cell("```\n## no heading\n```"))
    shown = slides.with_types(notebook)
    assert [cell.source.split("\n")[0] for cell in shown.cells[2:]] == ["Read so.", "## Next", "### Part", "```"]
    assert [cell.metadata.slideshow.slide_type for cell in shown.cells[2:]] == ["-", "slide", "subslide", "-"]


@needs_browser
def test_slides_open_from_a_file_move_by_key_and_have_live_views(ran, chromium, tmp_path):
    library = slides.reveal()
    if library is None:
        pytest.skip("no pyreveal: python3 -m course_lib install site")
    path = tmp_path / "deck.html"
    path.write_text(slides.deck(ran, library), encoding="utf-8")
    page = opened(chromium, path, width=1280)
    expect(page.get_by_role("heading", name="9 · A small notebook")).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(page.locator("section.present section.present")).to_contain_text("Head count h")
    view = page.locator("section.present section.present .view")
    view.get_by_label("Head count h").press("ArrowRight")  # the key belongs to the control, not to the slides
    expect(view).to_contain_text("head 2")
    expect(page).to_have_url(re.compile("#/0/1$"))
    assert (page.outside, page.problems) == ([], [])
    page.context.close()


def test_without_reveal_the_slides_stand_below_each_other_and_the_command_says_so(tmp_path, capsys, monkeypatch):
    nbformat.write(notebook_of("1 + 1", "2 + 2"), tmp_path / "small.ipynb")
    words = [str(tmp_path / "small.ipynb"), "--as-is", "--out", str(tmp_path / "deck.html")]
    monkeypatch.setattr(slides, "reveal", lambda: None)
    assert slides.main(words) == 0
    assert "install site" in capsys.readouterr().out
    text = (tmp_path / "deck.html").read_text(encoding="utf-8")
    assert text.count("<section") == 3 and "Reveal.initialize" not in text


def test_slides_of_a_missing_notebook_are_refused_in_a_sentence(tmp_path, capsys):
    assert slides.main([str(tmp_path / "none.ipynb")]) == 1
    assert "none.ipynb" in capsys.readouterr().err


# ---- the real notebooks ----
@pytest.mark.slow
@needs_browser
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("path", NOTEBOOKS[:2], ids=lambda path: path.stem)
def test_a_real_notebook_reads_well_on_a_phone_and_a_screen(path, chromium, tmp_path):
    assert site.main([str(tmp_path), "--notebook", str(path)]) == 0
    for width, scheme in ((360, "dark"), (1100, "light")):
        page = opened(chromium, tmp_path / f"{path.stem}.html", width, scheme)
        assert (page.outside, page.problems) == ([], [])
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert all(alt for alt in page.locator("img").evaluate_all("all => all.map(one => one.alt)"))
        assert labkit.axe(page, page.locator("html")) == []
        page.context.close()
