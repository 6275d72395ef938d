// Makes a page's views live without Jupyter: gives each view's own file a model that holds its traits here.
(() => {
  const NOT_KEPT = "Checked here; this page keeps no answers.";
  const NEEDS_PYTHON = "This control needs Python, and a page has none: open the notebook in JupyterLab.";

  // A buffer came as text; the views expect a DataView.
  function bytes(base64) {
    const text = atob(base64);
    return new DataView(Uint8Array.from(text, letter => letter.charCodeAt(0)).buffer);
  }

  function unpack({state, buffers}) {
    for (const {path, data} of buffers) {
      const last = path.at(-1);
      path.slice(0, -1).reduce((node, key) => node[key], state)[last] = bytes(data);
    }
    return state;
  }

  class Model {
    constructor(state, notice) {
      Object.assign(this, {state, notice, heard: new Map()});
    }
    get(name) {
      return this.state[name];
    }
    set(name, value) {
      const waits = this.state.limits && name in this.state.limits && !this.state.alone.includes(name);
      this.notice.textContent = waits ? NEEDS_PYTHON : "";
      if (!waits) this.state[name] = value;
      this.tell(`change:${name}`); // refused: the control goes back to where it was
      this.tell("change");
    }
    save_changes() {
      if (!("saved_count" in this.state)) return;
      setTimeout(() => {
        this.state.saved = NOT_KEPT;
        this.state.saved_count += 1;
        this.tell("change:saved_count");
      });
    }
    send() {
      setTimeout(() => this.tell("msg:custom"));
    }
    on(name, act) {
      this.heard.set(name, [...(this.heard.get(name) ?? []), act]);
    }
    off(name, act) {
      this.heard.set(name, (this.heard.get(name) ?? []).filter(other => act && other !== act));
    }
    tell(name) {
      for (const act of this.heard.get(name) ?? []) act();
    }
  }

  async function bring(place, sent, files) {
    const known = sent.models[place.dataset.model];
    if (!known) return;
    const still = [...place.childNodes];
    const el = document.createElement("div"),
      notice = document.createElement("p");
    notice.className = "note";
    notice.setAttribute("role", "status");
    try {
      const view = await files[known.file];
      place.replaceChildren(el, notice);
      await view.default.render({model: new Model(unpack(structuredClone(known)), notice), el});
      place.dataset.live = "yes";
    } catch (problem) {
      notice.textContent = `This view could not be made live: ${problem.message}`;
      place.replaceChildren(...still, notice);
    }
  }

  const sent = JSON.parse(document.getElementById("views").textContent);
  const files = sent.files.map(text => import("data:text/javascript;charset=utf-8," + encodeURIComponent(text)));
  for (const place of document.querySelectorAll(".view")) bring(place, sent, files);
})();
