"""The views of a notebook on a page without Jupyter.

A view's own JavaScript file and its state go into the page, and live.js there plays the part of Jupyter. Controls
that the browser follows alone work; the others need Python, and the page says so.
"""

import html
import json
from pathlib import Path

HERE = Path(__file__).parent
VIEW, STATE = "application/vnd.jupyter.widget-view+json", "application/vnd.jupyter.widget-state+json"


def with_places_for_views(notebook):
    """A copy in which each output that is a view has become a place for it."""
    notebook = notebook.copy()
    notebook.cells = [cell.copy() for cell in notebook.cells]
    known = states(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [_placed(output, known) for output in cell.outputs]
    notebook.metadata = {name: value for name, value in notebook.metadata.items() if name != "widgets"}
    return notebook


def _placed(output, known):
    model = output.get("data", {}).get(VIEW, {}).get("model_id")
    if model is None:
        return output
    still = output.data.get("text/html") or f"<pre>{html.escape(output.data.get('text/plain', ''))}</pre>"
    limits = limits_in_words(known[model]) if model in known else ""
    note = limits and f'<p class="note">{html.escape(limits)}</p>'
    place = f'<div class="view-place">{note}<div class="view" data-model="{model}">{still}</div></div>'
    return {**output, "data": {"text/html": place}}


def states(notebook):
    """{model id: its state} of the views with a JavaScript file of their own."""
    models = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    return {id: model["state"] for id, model in models.items() if "_esm" in model["state"]}


def shown_states(notebook):
    """The states of the views that the notebook shows, in order."""
    known = states(notebook)
    return [known[id] for id in _views(notebook) if id in known]


def liveness(state):
    """What of a view works without Python: "quiz", "live", "partly" or "still"."""
    if "limits" not in state:
        return "quiz"
    waiting = set(state["limits"]) - set(state["alone"])
    return "live" if not waiting else "partly" if state["alone"] else "still"


def limits_in_words(state):
    """What a reader must know before they touch this view; "" if all of it works."""
    kind = liveness(state)
    if kind == "still":
        return "A still picture: moving its controls needs Python. Open the notebook in JupyterLab for that."
    if kind == "partly":
        names = [name for name in state["limits"] if name not in state["alone"]]
        return f"Live, but for what Python must compute: {', '.join(names)}."
    return ""


# ---- what the browser gets ----
def live_part(notebook):
    """The scripts that make the views live, or "" where there is none."""
    found = states(notebook)
    models = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    shown = [m for m in _views(notebook) if m in found]
    if not shown:
        return ""
    files = sorted({found[id]["_esm"] for id in shown})
    styles = sorted({found[id].get("_css", "") for id in shown})
    sent = {"files": files, "models": {}}
    for id in shown:
        state = {name: value for name, value in for_readers(found[id]).items() if not name.startswith("_")}
        state.pop("layout", None)
        sent["models"][id] = {
            "file": files.index(found[id]["_esm"]),
            "state": state,
            "buffers": models[id].get("buffers", []),
        }
    data = json.dumps(sent, ensure_ascii=False).replace("<", "\\u003c")
    style = "\n".join(styles).replace("</", "<\\/")
    script = (HERE / "live.js").read_text(encoding="utf-8")
    return (
        f'<style>{style}</style>\n<script type="application/json" id="views">{data}</script>\n<script>{script}</script>'
    )


def _views(notebook):
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return [o["data"][VIEW]["model_id"] for o in outputs if VIEW in o.get("data", {})]


def for_readers(state):
    """A comparison knows nothing of this reader's prediction, and must not say that there was none."""
    if state.get("view") != "compare":
        return state
    return {**state, "texts": {**state["texts"], "said": "what you picked above", "sentence": "Compare."}}
