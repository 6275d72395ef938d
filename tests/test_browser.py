"""The views in a real browser: JupyterLab, mouse, keyboard, both themes, axe, and a kernel that goes away.

Fast: notebook 01 and a small notebook of one view of each kind. Slow: every other notebook, and Notebook 7.
"""

import json
import shutil
import time
from pathlib import Path

import labkit
import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright: python3 -m course_lib test installs it")
expect = sync_api.expect
pytestmark = [pytest.mark.skipif(labkit.CHROMIUM is None, reason=labkit.WHY_NOT), pytest.mark.timeout(600)]

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
SETUP = """
from dataclasses import replace
import torch
from types import SimpleNamespace
from course_lib.models import Decoder, Encoder, EncoderDecoder, TransformerConfig
from course_lib.tasks.french import french
from course_lib.quiz import ask
from course_lib.widgets import *

torch.manual_seed(0)
data = french(500, 20)
words = data.target_vocabulary.words
size = max(len(data.source_vocabulary), len(data.target_vocabulary))
sizes = TransformerConfig(vocab_size=size, d_model=32, n_heads=4, n_layers=2, d_ff=64, max_len=32)
encoder, decoder, both = Encoder(sizes).eval(), Decoder(sizes).eval(), EncoderDecoder(replace(sizes, n_layers=1)).eval()
names = "the animal did not cross the street because it was tired".split()
tokens = torch.arange(3, 3 + len(names))[None]

def encode(text):
    if "?" in text:
        raise ValueError("I do not know the word ?")
    return [3 + len(name) for name in text.split()], text.split()

def run(d_model, n_heads):
    weights = (4 * torch.randn(3, n_heads, 8)).softmax(-1)
    return SimpleNamespace(accuracy=d_model / 100, all_right=0.2, n_parameters=100 * d_model, d_k=d_model // n_heads,
                           weights=weights, asked=torch.tensor([[0, 3, 5], [1, 2, 7], [6, 4, 0]]))

runs = {(d, h): run(d, h) for d in (8, 16, 32, 64) for h in (1, 2, 4, 8)}
"""
KINDS = {
    "heads": "heads = explore_heads(runs, chance=1 / 6); heads",
    "positions": "positions = explore_positions(); positions",
    "mask": "mask = explore_mask(decoder, tokens, names); mask",
    "block": "block = explore_block(both, tokens[:, :5], names[:5], source_tokens=tokens, source_names=names); block",
    "generation": "generation = explore_generation(decoder, [3, 4], words * 2, eos_id=2); generation",
    "parameters": "parameters = explore_parameters(); parameters",
    "deployment": "deployment = explore_deployment(4e10); deployment",
    "alignment": "alignment = explore_alignment(both, data, 4); alignment",
    "attention": "attention = explore_attention(encoder, encode, ' '.join(names)); attention",
    "quiz": "quiz = ask('01_multi_head_intuition'); quiz",
}
NUMBER = {kind: i for i, kind in enumerate(KINDS, start=1)}


@pytest.fixture(scope="module")
def chromium():
    with sync_api.sync_playwright() as playwright:
        browser = labkit.launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    root = tmp_path_factory.mktemp("notebooks")
    labkit.write_notebook(root / "views.ipynb", SETUP, *KINDS.values())
    with labkit.Lab(root, tmp_path_factory.mktemp("home")) as server:
        yield server


@pytest.fixture(scope="module")
def page(chromium, lab):
    page = labkit.new_page(chromium, lab)
    labkit.open_notebook(page, lab, "views.ipynb")
    labkit.run_all(page)
    yield page
    page.context.close()


def output(page, kind):
    found = labkit.cell(page, NUMBER[kind]).locator(".jp-OutputArea").first
    found.scroll_into_view_if_needed()
    return found


def eventually(read, wanted, limit=30):
    """Wait until read() gives what is wanted: a message to the kernel takes a moment."""
    end = time.monotonic() + limit
    while (got := read()) != wanted and time.monotonic() < end:
        time.sleep(0.2)
    assert got == wanted


def kernel_says(page, expression, wanted):
    eventually(lambda: json.loads(labkit.kernel_eval(page, f"import json; print(json.dumps({expression}))")), wanted)


def pictures(found):
    return found.evaluate(
        "node => [...node.querySelectorAll('canvas')].map(c => c.toDataURL()).join() + node.innerText"
    )


def cells(page):
    return page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length")


def troubles(page):
    """What must never happen: a request beyond the test server, an error in the console, a message in Lab's log."""
    badge = page.locator(".jp-LogConsoleStatusItem:not(.lm-mod-hidden)").count()
    tracebacks = page.locator("[data-mime-type='application/vnd.jupyter.error']").all_inner_texts()
    return [*page.outside, *page.problems, *["a message in the log console"] * badge, *tracebacks]


def test_every_view_is_drawn(page):
    assert page.locator(".tx").count() == len(KINDS) - 1
    assert troubles(page) == []


@pytest.mark.parametrize(
    "kind, role, name, keys, expression, wanted",
    [
        ("heads", "slider", "Head count h", ["End", "ArrowLeft"], "heads.n_heads", 4),
        ("heads", "slider", "Width d_model", ["Home", "ArrowRight"], "heads.d_model", 16),
        ("positions", "slider", "Width d_model", ["Home", "ArrowRight"], "positions.d_model", 4),
        ("positions", "slider", "Compare with position", ["ArrowRight", "ArrowUp"], "positions.position", 2),
        ("mask", "button", "Tokens T: one more", ["Enter", "Space"], "mask.T", 7),
        ("mask", "button", "Turn this cell over", ["Space"], "mask.toggled", [[0, 0]]),
        ("block", "button", "Step: one more", ["Enter", "Space"], "block.step", 3),
        ("generation", "slider", "Top-k", ["Home", "ArrowRight"], "generation.top_k", 2),
        ("generation", "button", "Take the likeliest", ["Enter"], "len(generation.chosen)", 1),
        ("parameters", "slider", "Layers", ["Home"], "parameters.n_layers", 1),
        ("deployment", "slider", "Overhead, times", ["Home"], "deployment.overhead", 1.0),
        ("attention", "slider", "Head", ["End"], "attention.head", 4),
        ("attention", "checkbox", "Colours up to the largest weight", ["Space"], "attention.stretch", True),
    ],
)
def test_by_keyboard_alone(page, kind, role, name, keys, expression, wanted):
    found, count = output(page, kind), cells(page)
    control = found.get_by_role(role, name=name, exact=True).first
    control.focus()
    before = pictures(found)
    for key in keys:
        page.keyboard.press(key)
    kernel_says(page, expression, wanted)
    assert pictures(found) != before or role == "checkbox"
    page.keyboard.press("x")  # JupyterLab would cut the cell
    assert cells(page) == count and control.evaluate("node => node === document.activeElement")
    assert control.evaluate("node => getComputedStyle(node).outline").endswith("solid 3px")  # JupyterLab has 2px
    page.keyboard.press("Escape")  # back to the cell, where the arrow keys go on to the next one
    assert focus(page).startswith("Code Cell") and active_cell(page) == NUMBER[kind]


def focus(page):
    """What has the focus, as a screen reader would name it."""
    return page.evaluate("""() => { const node = document.activeElement;
                                    return node.ariaLabel || node.innerText || node.tagName; }""")


def active_cell(page):
    return page.evaluate("() => window.jupyterapp.shell.currentWidget.content.activeCellIndex")


@pytest.mark.parametrize(
    "kind, name, says",
    [
        ("heads", "Width d_model", "Who looks most at what was asked for?"),
        ("positions", "Width d_model", "d_model = "),
        ("parameters", "Layers", "parameters. Built like "),
        ("deployment", "Days", "energy of one answer, Wh: "),
        ("generation", "Temperature", "tokens can be drawn"),
        ("attention", "Layer", "looks most at"),
    ],
)
def test_what_a_slider_leads_to_is_said_to_a_screen_reader(page, kind, name, says):
    found = output(page, kind)
    spoken = found.locator(".tx-spoken")
    found.get_by_role("slider", name=name, exact=True).focus()
    for key in ("Home", "ArrowRight"):
        page.keyboard.press(key)
    expect(spoken).to_contain_text(says)
    assert [n.get_attribute("aria-live") for n in found.locator("output").all()] == ["off"] * found.locator("output").count()


def test_a_button_that_goes_out_hands_its_focus_on(page):
    found = output(page, "generation")
    labkit.kernel_eval(page, "generation.chosen = [5]")
    found.get_by_role("button", name="One back").focus()
    page.keyboard.press("Enter")
    kernel_says(page, "generation.chosen", [])
    expect(found.get_by_role("button", name="Take the likeliest")).to_be_focused()
    labkit.kernel_eval(page, "generation.chosen = [generation.eos_id]")
    expect(found.get_by_role("button", name="One back")).to_be_focused()
    labkit.kernel_eval(page, "generation.chosen = []")


@pytest.mark.parametrize(
    "kind, label, expression, wanted",
    [
        ("heads", "Example", "heads.example", 2),
        ("alignment", "Sentence", "alignment.sentence", 2),
        ("alignment", "Read each word at", "alignment.read_at", "the step that reads the word"),
        ("mask", "Mask", "mask.preset", "causal"),
        ("parameters", "Start from", "parameters.preset", "GPT-2 small"),
    ],
)
def test_a_choice(page, kind, label, expression, wanted):
    found = output(page, kind)
    before = pictures(found)
    found.get_by_role("combobox", name=label, exact=True).focus()
    page.keyboard.press("ArrowDown")
    kernel_says(page, expression, wanted)
    assert pictures(found) != before


def test_a_model_of_one_layer_gives_no_choice_of_layers(page):
    found = output(page, "alignment")
    assert found.get_by_role("combobox", name="Layer").count() == 0
    assert found.get_by_role("combobox", name="Head", exact=True).count() == 1


def test_by_mouse(page):
    found = output(page, "heads")
    slider = found.get_by_role("slider", name="Head count h")
    slider.hover()  # waits until it stands still, in view
    page.mouse.down()
    box = slider.bounding_box()
    slider.hover(position={"x": box["width"] - 2, "y": box["height"] / 2})
    page.mouse.up()
    kernel_says(page, "heads.n_heads", 8)
    labkit.kernel_eval(page, "mask.toggled = []")
    output(page, "mask").locator(".tx-cells").first.click(position={"x": 10, "y": 10})
    kernel_says(page, "mask.toggled", [[0, 0]])


def test_python_moves_the_view(page):
    found = output(page, "heads")
    labkit.kernel_eval(page, "heads.n_heads, heads.d_model = 2, 64")
    expect(found.get_by_role("slider", name="Head count h")).to_have_attribute("aria-valuetext", "2")
    expect(found.locator(".hv-side")).to_contain_text("d_model 64 = 2 heads × d_k 32")
    labkit.kernel_eval(page, "heads.n_heads = 3")
    expect(found.get_by_role("alert").first).to_have_text("n_heads must be one of 1, 2, 4, 8; got 3.")
    labkit.kernel_eval(page, "heads.n_heads = 4")
    expect(found.get_by_role("alert").first).to_be_hidden()


def test_the_page_never_jumps(page):
    found = output(page, "heads")
    heights = set()
    for n_heads in (1, 2, 4, 8):
        labkit.kernel_eval(page, f"heads.n_heads = {n_heads}")
        expect(found.get_by_role("slider", name="Head count h")).to_have_attribute("aria-valuetext", str(n_heads))
        heights.add(round(found.bounding_box()["height"]))
    assert len(heights) == 1


def test_a_map_reads_by_key_and_speaks_only_then(page):
    found = output(page, "heads")
    spoken = found.locator("[role=status]")
    page.wait_for_timeout(600)  # what a slider led to is said when it has come to rest
    found.locator(".tx-cells").hover(position={"x": 60, "y": 12})
    expect(found.locator(".tx-reading")).to_contain_text("Head 1 gives position")
    before = spoken.inner_text()
    found.locator(".tx-cells").hover(position={"x": 200, "y": 12})
    assert spoken.inner_text() == before
    found.get_by_role("combobox", name="position", exact=True).focus()
    page.keyboard.press("ArrowDown")
    expect(spoken).to_contain_text("gives position")


def test_a_map_reads_as_a_table(page):
    found = output(page, "heads")
    found.locator("summary").focus()
    page.keyboard.press("Enter")
    table = found.locator("details table")
    expect(table.locator("thead th")).to_have_count(9)
    expect(table.locator("tbody th").first).to_have_text("head 1")
    page.keyboard.press("Enter")
    large = output(page, "positions").locator("details").nth(1)
    large.locator("summary").click()
    expect(large.locator("li").first).to_contain_text("position 0: largest at other 0 (1.00)")
    large.locator("summary").click()


def test_an_error_is_shown_in_the_view(page):
    found = output(page, "attention")
    box = found.get_by_role("textbox", name="Sentence")
    box.fill("what ?")
    page.keyboard.press("Enter")
    expect(found.get_by_role("alert").first).to_have_text("ValueError: I do not know the word ?")
    box.fill("the cat sat")
    page.keyboard.press("Enter")
    expect(found.get_by_role("alert").first).to_be_hidden()
    expect(found.locator(".av-text button")).to_have_count(3)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_sticks_out_on_a_narrow_page(page, kind):
    """Neither beyond the output nor, over its neighbour, beyond a panel of the view."""
    page.set_viewport_size({"width": 800, "height": 1000})
    found = output(page, kind)
    for details in found.locator("details").all():
        details.evaluate("node => { node.open = true; }")
    try:  # the views draw themselves anew for their new width
        eventually(lambda: too_wide(found), [], limit=5)
    finally:
        page.set_viewport_size({"width": 1280, "height": 1000})


def too_wide(found):
    """What sticks out of an output or of a panel in it: the beginning of each element's HTML. A table that is unfolded
    scrolls inside its `details`.
    """
    return found.evaluate(
        """node => [node, ...node.querySelectorAll(".tx-panel")].flatMap(frame => [...frame.querySelectorAll("*")]
             .filter(n => { const folded = n.parentElement.closest("details");
                            return !folded || getComputedStyle(folded).overflowX !== "auto"; })
             .filter(n => n.getBoundingClientRect().right > frame.getBoundingClientRect().right + 1)
             .map(n => n.outerHTML.slice(0, 80)))"""
    )


@pytest.mark.parametrize("theme", labkit.THEMES)
@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing(page, kind, theme):
    labkit.set_theme(page, theme)
    found = output(page, kind)
    for details in found.locator("details").all():
        details.evaluate("node => { node.open = true; }")
    assert labkit.axe(page, found) == []


def test_shift_and_enter_run_the_cell_from_within_a_view(page):
    output(page, "deployment").get_by_role("slider", name="Days").focus()
    labkit.kernel_eval(page, "deployment.days = 30")
    page.keyboard.press("Shift+Enter")
    kernel_says(page, "deployment.days", 365)  # a new view
    assert active_cell(page) == NUMBER["deployment"] + 1


def test_nothing_went_wrong_on_the_way(page):
    assert troubles(page) == []


def test_a_restarted_kernel_is_noticed_and_a_reload_brings_the_view_back(chromium, lab):
    page = labkit.new_page(chromium, lab)
    labkit.write_notebook(lab.root / "restarted.ipynb", SETUP, KINDS["mask"])
    labkit.open_notebook(page, lab, "restarted.ipynb")
    labkit.run_all(page)
    view = labkit.cell(page, 1).locator(".jp-OutputArea").first
    gone = view.locator(".tx-gone")
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    view.get_by_role("button", name="Tokens T: one more").click()
    expect(gone).to_be_visible(timeout=30_000)
    assert "run this cell again" in gone.inner_text()
    labkit.run_all(page)
    view.get_by_role("button", name="Tokens T: one more").click()
    kernel_says(page, "mask.T", 6)
    expect(gone).to_be_hidden()
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    labkit.open_notebook(page, lab, "restarted.ipynb")
    view.get_by_role("button", name="Tokens T: one more").click(timeout=60_000)
    kernel_says(page, "mask.T", 7)
    page.context.close()


BAD = """
import anywidget, traitlets
class Bad(anywidget.AnyWidget):
    _esm = '''export default { render({model, el}) {
      el.innerHTML = "<input type=range> <p style='color: #999; background: #fff'>too pale</p>";
      el.style.width = "3000px";
      fetch("http://192.0.2.1/font.js").catch(() => console.error("no font"));
      model.set("n", 1); model.save_changes(); } }'''
    n = traitlets.Int(0).tag(sync=True)
    @traitlets.observe("n")
    def moved(self, change): raise RuntimeError("nobody sees this")
Bad()
"""


def test_each_gate_can_go_red(chromium, lab):
    page = labkit.new_page(chromium, lab)
    labkit.write_notebook(lab.root / "bad.ipynb", BAD)
    labkit.open_notebook(page, lab, "bad.ipynb")
    labkit.run_all(page)
    expect(page.locator(".jp-LogConsoleStatusItem:not(.lm-mod-hidden)")).to_be_visible(timeout=30_000)
    assert "http://192.0.2.1/font.js" in page.outside and any("no font" in problem for problem in page.problems)
    assert len(troubles(page)) >= 3
    found = " ".join(labkit.axe(page, labkit.cell(page, 0).locator(".jp-OutputArea").first))
    assert "label" in found and "color-contrast" in found
    page.context.close()


def check_notebook(page, server, name):
    """Run a notebook from end to end; then axe over each of its outputs, in both themes."""
    labkit.open_notebook(page, server, name)
    labkit.run_all(page, limit=1_000_000)
    problems = troubles(page)
    for theme in labkit.THEMES:
        labkit.set_theme(page, theme)
        for number, found in enumerate(page.locator(".jp-Cell .jp-OutputArea").all()):
            if found.locator(".jp-OutputArea-child").count():
                problems += [f"{theme}, output {number}: {problem}" for problem in labkit.axe(page, found)]
    return problems + troubles(page)


def notebook_cases():
    names = sorted(path.name for path in NOTEBOOKS.glob("*.ipynb"))
    return [pytest.param(name, marks=[] if name.startswith("01") else pytest.mark.slow) for name in names]


@pytest.mark.timeout(1200)  # a minute or two on a quiet machine; a busy one is no reason to fail
@pytest.mark.parametrize("name", notebook_cases())
def test_a_notebook_from_end_to_end(chromium, lab, name):
    shutil.copy(NOTEBOOKS / name, lab.root / name)
    page = labkit.new_page(chromium, lab)
    assert check_notebook(page, lab, name) == []
    page.context.close()


@pytest.mark.slow
def test_the_views_work_in_notebook_7(chromium, tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "home").mkdir()
    labkit.write_notebook(tmp_path / "root" / "views.ipynb", SETUP, *KINDS.values())
    with labkit.Lab(tmp_path / "root", tmp_path / "home", app="notebook") as server:
        page = labkit.new_page(chromium, server)
        labkit.open_notebook(page, server, "views.ipynb")
        labkit.run_all(page)
        output(page, "heads").get_by_role("slider", name="Head count h").focus()
        page.keyboard.press("End")
        kernel_says(page, "heads.n_heads", 8)
        assert [labkit.axe(page, output(page, kind)) for kind in KINDS] == [[]] * len(KINDS)
        assert page.outside == []
        page.context.close()
