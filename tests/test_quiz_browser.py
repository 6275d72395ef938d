"""The quiz, prediction and comparison views in JupyterLab: by mouse, by keyboard alone, with axe, without a kernel."""
import json
import re

import labkit
import pytest

from course_lib.quiz_widget import FILES

pytestmark = pytest.mark.skipif(labkit.CHROMIUM is None, reason=labkit.WHY_NOT)
CELLS = [
    "from course_lib import progress\nfrom course_lib.quiz import ask, compare, predict",
    "quiz = ask('01_multi_head_intuition')\nquiz",
    "steps = ask('04_encoder', 'pre_norm_block')\nsteps",
    "predict('wider_head')",
    "compare('wider_head', 0.37, 'Width is not a second distribution.')",
    "predict('pairs_in_one_head')",
    "ask('08_kernels_and_scale', 'kv_bytes')",
]
QUIZ, STEPS, PREDICT, COMPARE, CHOICE, TITLED = range(1, 7)


@pytest.fixture(scope="module")
def browser():
    sync = pytest.importorskip("playwright.sync_api", reason="no playwright: python -m pip install playwright")
    with sync.sync_playwright() as playwright:
        yield labkit.launch(playwright)


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    """One notebook, run once; the tests below go on from one another."""
    root, home = tmp_path_factory.mktemp("notebooks"), tmp_path_factory.mktemp("lab")
    labkit.write_notebook(root / "trial.ipynb", *CELLS)
    with labkit.Lab(root, home) as lab:
        page = labkit.new_page(browser, lab, height=3600)    # tall: axe leaves out what is scrolled away
        labkit.open_notebook(page, lab, "trial.ipynb")
        labkit.run_all(page)
        yield page
        page.context.close()


def question(page, title):
    """The frame of one question of the quiz."""
    return labkit.cell(page, QUIZ).locator("fieldset").filter(has=page.get_by_text(f"{title}.", exact=True))


def says(frame, pattern):
    """Wait until a frame's status says something that matches."""
    frame.page.wait_for_function("([node, pattern]) => new RegExp(pattern).test(node.textContent)",
                                 arg=[frame.locator(".say").element_handle(), pattern], timeout=5000)


def kept(page, kind):
    """The events of a kind that the kernel has kept."""
    return json.loads(labkit.kernel_eval(page, f"import json; print(json.dumps(progress.events({kind!r})))"))


def position(page):
    """(active cell, number of cells): what a stolen key would change."""
    return page.evaluate("() => { const n = window.jupyterapp.shell.currentWidget.content;"
                         " return [n.activeCellIndex, n.widgets.length]; }")


def test_a_question_with_a_title_is_called_by_it(page):
    assert labkit.cell(page, TITLED).locator("legend b").inner_text() == "KV cache in bytes."


# ---- by keyboard alone ----
def test_one_answer_by_keyboard_with_a_second_try(page):
    frame = question(page, "Q1")
    frame.scroll_into_view_if_needed()
    frame.get_by_role("radio").first.focus()
    before = position(page)
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")                     # C
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outline").endswith("solid 3px")    # the Check button
    page.keyboard.press("x")                             # would cut the cell
    page.keyboard.press("Enter")
    says(frame, r"^Not yet\. That is the number of heads.*second try")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowUp")                       # B
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    says(frame, r"^Correct\. ")
    assert frame.locator(".why").count() == 4            # every option now tells its reason
    assert position(page) == before
    assert [event["given"] for event in kept(page, "answer")] == ["C", "B"]


def test_steps_are_ordered_by_keyboard_and_focus_follows_the_step(page):
    frame = labkit.cell(page, STEPS).locator("fieldset")
    frame.scroll_into_view_if_needed()
    step = "Normalise x, each token by itself."
    while not frame.locator("li").first.inner_text().endswith(step):
        frame.get_by_role("button", name=f"Move up: {step}").focus()
        page.keyboard.press("Enter")
        assert step in page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert f"Now step 1 of 6: {step}" == frame.get_by_role("status").first.inner_text()
    frame.get_by_role("button", name="Check").click()
    says(frame, r"^Not yet\. Step \d belongs elsewhere")
    order = [i["text"] for i in json.loads(labkit.kernel_eval(page, "print(json.dumps(steps.items[0]['steps']))"))]
    for place, text in enumerate(re.sub("<[^>]+>", "", text) for text in order):
        while frame.locator("li").nth(place).inner_text().split("\n")[-1] != text:
            frame.get_by_role("button", name=f"Move up: {text}").click()
    frame.get_by_role("button", name="Check").click()
    says(frame, r"^Correct\. ")


# ---- the other kinds ----
def test_several_answers(page):
    frame = question(page, "Which pairs")
    frame.get_by_role("checkbox").nth(0).check()
    frame.get_by_role("checkbox").nth(1).check()
    frame.get_by_role("button").click()
    says(frame, r"^Not yet\. B does not belong here")
    frame.get_by_role("checkbox").nth(1).uncheck()
    frame.get_by_role("button").click()
    says(frame, r"^Not right\. What you ticked is right, but one is missing\. Right: A, C\.$")
    frame.get_by_role("button", name="Answer again").click()
    for i in (0, 2):
        frame.get_by_role("checkbox").nth(i).check()
    frame.get_by_role("button").click()
    says(frame, r"^Correct\.")


def test_a_number_with_a_known_slip_and_the_enter_key(page):
    frame = question(page, "Parameters")
    box = frame.get_by_role("textbox", name="Your number")
    box.fill("many")
    box.press("Enter")
    says(frame, "^Write a number")
    box.fill("131,072")
    box.press("Enter")
    says(frame, r"^Not yet\. That counts each matrix once for each head")
    box.fill("16 384")
    box.press("Enter")
    says(frame, r"^Correct\. ")
    assert focus(page) == "Answer again"                 # the field is locked, and must not drop the focus


def focus(page):
    return page.evaluate("document.activeElement.innerText")


def test_a_text_is_compared_and_marked_by_its_writer(page):
    frame = question(page, "Q4")
    frame.get_by_role("button").click()
    says(frame, "^Write a sentence first")
    frame.get_by_role("textbox").fill("Heads get too narrow.")
    before = position(page)
    page.keyboard.press("Shift+Enter")                   # a new line, and not the next cell
    page.keyboard.press("Backspace")
    assert position(page) == before
    frame.get_by_role("button").click()
    says(frame, "^0 of 5 points ticked; 1 or more")
    assert frame.locator("q").count() == 3               # sample answers
    frame.get_by_role("checkbox").first.check()
    says(frame, "^1 of 5 points ticked")


def test_a_drill_goes_on(page):
    frame = question(page, "Q1 drill")
    asked = set()
    for _ in range(25):
        asked.add(frame.locator("legend").inner_text())
        d_model, h = map(int, re.findall(r"= (\d+)", frame.locator("legend").inner_text()))
        frame.get_by_text(str(d_model // h), exact=True).click()
        frame.get_by_role("button", name="Check").click()
        says(frame, r"^Correct\. ")
        frame.get_by_role("button", name="Next question").click()
    assert len(asked) > 15
    assert "25 of 25 right at the first try" in labkit.cell(page, QUIZ).locator(".tally").inner_text()


def test_the_browser_and_python_judge_alike(page):
    """The browser marks for the eye, Python for the record: they must never differ."""
    seen = json.loads(labkit.kernel_eval(page, "print(json.dumps({**quiz.answers, **steps.answers}))"))
    judged = {event["id"].split("/")[1]: event["right"] for event in kept(page, "answer")}
    assert len(judged) == 5 and judged == {id: state["right"] for id, state in seen.items() if id in judged}
    drilled = kept(page, "drill")
    assert len(drilled) == 25 and all(event["right"] for event in drilled)
    score = labkit.cell(page, QUIZ).locator(".score").inner_text()
    assert score.startswith("4 of 5 right") and score.endswith("1 open.")


# ---- predictions ----
def test_a_prediction_after_run_all_updates_the_comparison(page):
    shown, asked = labkit.cell(page, COMPARE).locator(".compare"), labkit.cell(page, PREDICT)
    assert "You did not commit" in shown.inner_text()
    asked.get_by_role("textbox", name="Your number").fill("0,9")
    page.keyboard.press("Enter")
    assert focus(page) == "Predict again"
    shown.get_by_text("You said 0.9; it is 0.37.").wait_for()
    assert kept(page, "prediction")[0]["late"] is True


def test_a_prediction_can_be_skipped(page):
    asked = labkit.cell(page, CHOICE)
    asked.get_by_role("button", name="Commit").click()
    says(asked, "^Pick an answer first")
    asked.get_by_role("button", name="Skip").click()
    says(asked, "^Skipped")
    assert kept(page, "prediction")[-1]["skipped"] is True


# ---- for everyone ----
@pytest.mark.parametrize("theme", labkit.THEMES)
@pytest.mark.parametrize("number", [QUIZ, STEPS, PREDICT, COMPARE, CHOICE])
def test_axe_finds_nothing(page, theme, number):
    labkit.set_theme(page, theme)
    assert labkit.axe(page, labkit.cell(page, number).locator(".jp-OutputArea").first) == []


def test_axe_would_find_something(page):
    output = labkit.cell(page, QUIZ).locator(".jp-OutputArea").first
    output.evaluate("node => { node.querySelector('.say').style.color = '#999';"
                    " node.querySelector('.say').style.background = '#aaa'; }")
    assert any("color-contrast" in found for found in labkit.axe(page, output))


def test_nothing_went_wrong_unseen(page):
    assert page.problems == [] and page.outside == []
    assert page.locator(".jp-LogConsole-badge, .jp-mod-hasLogs").count() == 0


def test_numbers_as_people_write_them(browser):
    source = (FILES / "quiz.js").read_text(encoding="utf-8")
    page = browser.new_page()
    typed = {"0.5": 0.5, "0,5": 0.5, "85,054,464": 85054464, "1,000.5": 1000.5, "16 384": 16384, "1_000": 1000,
             "1e3": 1000, "−2": -2, "60%": 0.6, "": None, "x": None, "1e999": None, "1,2,3": None, "%": None}
    said = page.evaluate("async ([source, texts]) => { const m = await import("
                         "URL.createObjectURL(new Blob([source], {type: 'text/javascript'})));"
                         " return [...texts.map(text => m.parseNumber(text)), m.parseNumber('45.5 %', '%')]; }", [source, list(typed)])
    assert said == [*typed.values(), 45.5]


# ---- when the disk or the kernel fails ----
def test_a_disk_that_takes_nothing_is_said_in_the_widget(page):
    labkit.kernel_eval(page, "import os; real = os.environ['COURSE_LIB_HOME']; "
                             "open(real + '-file', 'w').close(); os.environ['COURSE_LIB_HOME'] = real + '-file/x'")
    frame = question(page, "Important head")
    frame.get_by_role("radio").first.check()
    frame.get_by_role("button").click()
    labkit.cell(page, QUIZ).get_by_text(re.compile(r"^Not saved: .*held in memory")).wait_for()
    labkit.kernel_eval(page, "os.environ['COURSE_LIB_HOME'] = real")
    frame.get_by_role("radio").nth(3).check()
    frame.get_by_role("button").click()
    labkit.cell(page, QUIZ).get_by_text("Kept on this computer.").wait_for()
    assert [e["given"] for e in kept(page, "answer") if e["id"].endswith("important_head")] == ["A", "D"]


def test_without_a_kernel_it_marks_and_says_that_nothing_is_saved(page):
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    frame = question(page, "Q1")
    frame.get_by_role("button", name="Answer again").click()
    frame.get_by_role("radio").first.check()
    frame.get_by_role("button").click()
    says(frame, "^Not yet")
    labkit.cell(page, QUIZ).get_by_text(re.compile("^Not saved: no kernel answers")).wait_for(timeout=10_000)


def test_a_new_kernel_brings_the_answers_back(page):
    page.evaluate("async () => { const s = window.jupyterapp.shell.currentWidget.sessionContext;"
                  " await s.startKernel(); await s.ready; }")
    labkit.run_all(page)
    frame = question(page, "Q1")
    says(frame, r"^Correct\. ")
    assert frame.get_by_role("radio").nth(1).is_checked()
    assert question(page, "Q4").get_by_role("textbox").input_value() == "Heads get too narrow."
