"""How long from pressing a key on a slider to changed pixels? The views against ipywidgets.interact with matplotlib.

Run by hand: python benchmarks/latency.py [moves]. Prints a table and the load of the machine. Two screen frames, about
31 ms, are the floor. Targets (median / 95th percentile): 35 / 60 ms where the browser draws alone, 60 / 100 ms where
Python computes; and a redraw of 16 heads costs Python less than 16 ms of CPU.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import labkit  # noqa: E402  (lies in tests/)

SETUP = """
import torch
from types import SimpleNamespace
from course_lib.models import Decoder, TransformerConfig
from course_lib.widgets import explore_heads, explore_mask, explore_positions
torch.manual_seed(0)
decoder = Decoder(TransformerConfig(vocab_size=20, d_model=64, n_heads=8, n_layers=1, d_ff=64, max_len=16)).eval()
def run(d_model, n_heads):
    return SimpleNamespace(accuracy=d_model / 100, all_right=0.2, n_parameters=100, d_k=d_model // n_heads,
                           weights=torch.rand(3, n_heads, 8).softmax(-1), asked=torch.tensor([[0, 3, 5]] * 3))
runs = {(d, h): run(d, h) for d in (8, 16, 32, 64) for h in (1, 2, 4, 8)}
"""
MASK = """mask = explore_mask(decoder, torch.arange(3, 15)[None], [str(i) for i in range(12)])
mask.T, mask.preset = 12, "sliding window"
mask"""
PEER = """import ipywidgets
import matplotlib.pyplot as plt
weights = torch.rand(8, 8, 8).softmax(-1)
def draw(head=0):
    plt.imshow(weights[head]); plt.title(f"head {head}"); plt.show()
ipywidgets.interact(draw, head=(0, 7));"""
CASES = {  # what is measured: (cell, slider, who computes)
    "explore_heads, d_model": ("explore_heads(runs, chance=0.2)", "Width d_model", "browser"),
    "explore_positions, d_model": ("explore_positions()", "Width d_model", "browser"),
    "explore_mask, size": (MASK, "Size", "Python"),
    "interact and matplotlib": (PEER, None, "peer"),
}
STOPWATCH = """() => { window.stopwatch = root => new Promise(done => {
  const picture = () => (root.querySelector("canvas")?.toDataURL() || "") + (root.querySelector("img")?.src || "");
  const before = picture(), late = setTimeout(() => done(null), 8000);
  window.addEventListener("keydown", event => {
    const look = () => {
      if (picture() === before) return requestAnimationFrame(look);
      requestAnimationFrame(() => { clearTimeout(late); done(performance.now() - event.timeStamp); });
    };
    requestAnimationFrame(look);
  }, {capture: true, once: true});
}); }"""


def move(page, slider, root, key):
    """Milliseconds from one press of a key to the frame after the changed picture; None if nothing changed in 8 s."""
    page.evaluate("root => { window.measured = window.stopwatch(root); }", root)
    slider.focus()
    page.keyboard.press(key)
    return page.evaluate("() => window.measured")


def measure(page, number, name, moves):
    """Latencies in ms of moving one slider to and fro."""
    output = labkit.cell(page, number).locator(".jp-OutputArea").first
    output.scroll_into_view_if_needed()
    slider = output.get_by_role("slider", name=name, exact=True) if name else output.get_by_role("slider")
    slider.focus()
    page.keyboard.press("Home")
    page.wait_for_timeout(1500)
    times = []
    for i in range(moves):
        times.append(move(page, slider, output.element_handle(), "ArrowRight" if i // 3 % 2 == 0 else "ArrowLeft"))
        page.wait_for_timeout(100)
    return times


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def latencies(moves):
    """{case: [ms]} in one JupyterLab, one after the other."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        root, home = Path(folder, "root"), Path(folder, "home")
        root.mkdir(), home.mkdir()
        labkit.write_notebook(root / "latency.ipynb", SETUP, *(cell for cell, _, _ in CASES.values()))
        with labkit.Lab(root, home) as lab:
            page = labkit.new_page(labkit.launch(playwright), lab)
            labkit.open_notebook(page, lab, "latency.ipynb")
            labkit.run_all(page)
            page.evaluate(STOPWATCH)
            return {
                case: measure(page, i, name, moves) for i, (case, (_, name, _)) in enumerate(CASES.items(), start=1)
            }


def redraw_cost(times=50):
    """CPU milliseconds that Python spends on one new sentence of 16 tokens with 16 heads."""
    import torch

    from course_lib.models import Encoder, TransformerConfig
    from course_lib.widgets import explore_attention

    torch.set_num_threads(1)
    sizes = TransformerConfig(vocab_size=20, d_model=64, n_heads=16, n_layers=1, d_ff=64, max_len=16)
    view = explore_attention(Encoder(sizes), lambda text: ([int(t) for t in text.split()], text.split()), "1 " * 16)
    start = time.process_time()
    for i in range(times):
        view.sentence = f"{i % 19} " * 16
    assert view.error == "" and len(view.names) == 16
    return 1000 * (time.process_time() - start) / times


def main():
    moves = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    print(f"redraw of 16 heads, 16 tokens, model included: {redraw_cost():.1f} ms of CPU in Python")
    print(f"{'keyboard to changed pixels, ms':32}{'median':>8}{'p95':>8}{'lost':>6}   ({moves} moves each)")
    for case, times in latencies(moves).items():
        kept = [t for t in times if t is not None]
        print(f"{case:32}{statistics.median(kept):8.0f}{percentile(kept, 0.95):8.0f}{len(times) - len(kept):6}")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
