// What every explorer shares: the frame, tables, words. Uses keys.js; view.py joins this file with others.

// element("p", {className: "tx-words"}, "some text", child, …)
function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// float32 numbers out of a buffer of the kernel; the copy puts them at an address that a Float32Array accepts.
function floats(view) {
  return new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}

const show = (number, digits = 2) => (+number.toFixed(digits) || 0).toFixed(digits); // never “-0.00”
const list = items =>
  items.length < 2 ? items.join("") : items.slice(0, -1).join(", ") + " and " + items.at(-1);
const freshId = () => "tx" + Math.random().toString(36).slice(2, 10);

// After each move, ask Python for a sign of life; a restarted kernel knows nothing of this view and stays silent.
function watchKernel(model, notice, patience = 4000) {
  let waiting = null;
  notice.textContent =
    "Python does not answer. It may be busy; if the kernel was restarted, run this cell again.";
  model.on("msg:custom", () => {
    clearTimeout(waiting);
    waiting = null;
    notice.hidden = true;
  });
  const missed = () => {
    clearTimeout(waiting);
    waiting = null;
    notice.hidden = false;
  };
  return () => {
    waiting ??= setTimeout(missed, patience);
    try {
      model.send("still there?");
    } catch {
      missed(); // JupyterLab may know already that nobody is there
    }
  };
}

// The frame: a row of controls, a body, an error line, a notice where Python is gone, and a line for screen readers.
function stage(model, el) {
  const controls = element("div", {className: "tx-controls"}),
    body = element("div");
  const error = element("p", {className: "tx-error", role: "alert", hidden: true});
  const gone = element("p", {className: "tx-gone", role: "alert", hidden: true});
  const spoken = element("p", {className: "tx-spoken", role: "status"});
  el.classList.add("tx");
  el.replaceChildren(controls, error, gone, body, spoken);
  el.addEventListener("keydown", keepKeys);
  const showError = () => {
    error.textContent = model.get("error");
    error.hidden = !error.textContent;
  };
  model.on("change:error", showError);
  showError();
  const ask = watchKernel(model, gone);
  let moved = -Infinity, // when a control was last moved of which the view itself said nothing
    due = null;
  const tell = () => {
    if (spoken.textContent !== view.tells()) spoken.textContent = view.tells();
  };
  const view = {
    model,
    el,
    controls,
    body,
    limits: model.get("limits"),
    get: name => model.get(name),
    set(name, value) {
      moved = performance.now();
      model.set(name, value);
      model.save_changes();
      ask();
    },
    // on key and click only, never while the mouse moves
    say(text) {
      moved = -Infinity;
      clearTimeout(due);
      spoken.textContent = text;
    },
    // what a screen reader hears after a control was moved, where the view says nothing better
    tells: () => body.querySelector(".tx-words")?.textContent ?? "",
    // draw now, and again when one of these changes (without names: when anything does)
    whenChanged(draw, ...names) {
      const redraw = () => {
        draw();
        clearTimeout(due);
        // when a slider has come to rest; Python may take a while, but a redraw much later is none of the reader's
        if (performance.now() - moved < 4000) due = setTimeout(tell, 500);
      };
      for (const event of names.length ? names.map(name => `change:${name}`) : ["change"]) model.on(event, redraw);
      draw();
    },
  };
  return view;
}

// A real table: heads is one row of column names, rows are [name, value, …].
function table(caption, heads, rows) {
  const head = element("tr", {}, ...heads.map(text => element("th", {scope: "col"}, text)));
  const body = rows.map(([name, ...cells]) =>
    element("tr", {}, element("th", {scope: "row"}, name), ...cells.map(cell => element("td", {}, cell))),
  );
  return element(
    "table",
    {},
    element("caption", {}, caption),
    element("thead", {}, head),
    element("tbody", {}, ...body),
  );
}

// "Show as table": make() is called when it is open, and again at each redraw while it stays open.
function foldedTable(make) {
  const place = element("div"),
    details = element("details", {}, element("summary", {}, "Show as table"), place);
  const fill = () => {
    if (details.open) place.replaceChildren(make());
  };
  details.addEventListener("toggle", fill);
  return {details, fill};
}

// A titled part of the body, between `from` and `to` px wide, so that panels shrink a little before they wrap.
function panel(title, {from = 240, to = 480}, ...children) {
  const made = element(
    "div",
    {className: "tx-panel"},
    element("p", {className: "tx-title"}, title),
    ...children,
  );
  made.style.flexBasis = `min(100%, ${from}px)`;
  made.style.maxWidth = `${to}px`;
  return made;
}

const panels = (...children) => element("div", {className: "tx-panels"}, ...children);
