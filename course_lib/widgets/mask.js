// explore_mask: three maps of the same pairs: allowed or not, weights before, weights after.
// Uses family.js, controls.js, colours.js and heat_map.js.

function render({model, el}) {
  const view = stage(model, el),
    heads = view.limits.head;
  stepper(view, "T", "Tokens T");
  choice(view, "preset", "Mask");
  const size = range(view, "size", "Size", {upTo: () => view.get("T")});
  if (heads.length > 1) choice(view, "head", "Head");
  const flip = (i, j) => {
    const others = view.get("toggled").filter(([a, b]) => a !== i || b !== j);
    view.set("toggled", others.length < view.get("toggled").length ? others : [...others, [i, j]]);
  };
  let here = [0, 0];
  const follow = (i, j) => {
    here = [i, j];
    for (const map of [allowed, before, after]) map.select(i, j);
  };
  const name = i => view.get("result").names[i],
    pair = (i, j) => `“${name(i)}” (${i}) → “${name(j)}” (${j})`;
  const weight = (i, j, v) => `${pair(i, j)}: ${show(v)}`;
  const allowed = new HeatMap(view, {
    numbers: true,
    scale: false,
    write: v => (v ? "✓" : "✕"),
    digits: 0,
    picked: (i, j, clicked) => {
      follow(i, j);
      if (clicked) flip(i, j);
    },
    read: (i, j, v) => `${pair(i, j)}: ${v ? "may look" : "may not look"}`,
  });
  const before = new HeatMap(view, {numbers: true, controls: false, read: weight, picked: follow});
  const after = new HeatMap(view, {numbers: true, controls: false, read: weight, picked: follow});
  const button = element("button", {type: "button"}, "Turn this cell over"),
    words = element("p", {className: "tx-words"});
  button.addEventListener("click", () => {
    flip(...here);
    view.say(`Turned over: ${pair(...here)}`);
  });
  const room = {from: 240, to: 300};
  view.body.append(
    words,
    panels(
      panel("Who may look at whom (click)", room, allowed.el, button),
      panel("Weights without the mask", room, before.el),
      panel("Weights with the mask", room, after.el),
    ),
  );

  view.whenChanged(() => {
    const {names, words: text, ...maps} = view.get("result"),
      T = names.length;
    const base = {
      n_rows: T,
      n_cols: T,
      lo: 0,
      hi: 1,
      rowNames: names.map((n, i) => `${n} ${i}`),
      colNames: names.map((n, i) => String(i)),
      longNames: names.map((n, i) => `${n} ${i}`),
    };
    const mask = floats(maps.mask),
      future = [];
    for (let i = 0; i < T; i++) for (let j = i + 1; j < T; j++) if (mask[i * T + j]) future.push([i, j]);
    here = here.map(i => Math.min(i, T - 1));
    allowed.draw({...base, values: mask, label: `Mask of ${T} queries by ${T} keys`});
    before.draw({...base, values: floats(maps.before), label: `Weights of ${T} queries without the mask`});
    after.draw({
      ...base,
      values: floats(maps.after),
      marks: future,
      label: `Weights of ${T} queries with the mask; framed: looks ahead`,
    });
    words.textContent = text;
  }, "result");
  view.whenChanged(() => {
    size.hidden = ["none", "causal"].includes(view.get("preset"));
  }, "preset");
}

export default {render};
