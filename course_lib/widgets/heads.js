// explore_heads: where each head looks, and how good that model is. Uses family.js and heat_map.js.

const percent = share => Math.round(100 * share) + "%";

// d_model as a bar, cut into its heads: a head is d_model / h wide.
function widthBar(widest) {
  const bar = element("div", {className: "hv-width", ariaHidden: "true"}),
    text = element("p");
  return {
    el: element("div", {}, bar, text),
    draw({d_model, n_heads, d_k}) {
      bar.style.width = `${(100 * d_model) / widest}%`;
      bar.replaceChildren(...Array.from({length: n_heads}, () => element("span")));
      text.textContent = `d_model ${d_model} = ${n_heads} ${n_heads > 1 ? "heads" : "head"} × d_k ${d_k}`;
    },
  };
}

function accuracyBar(chance) {
  const big = element("p", {className: "tx-big"}),
    fill = element("div", {className: "hv-fill"}),
    detail = element("p", {className: "hv-detail"});
  const bar = element("div", {className: "hv-bar", ariaHidden: "true"}, fill);
  const parts = [big, bar];
  if (chance !== null) {
    bar.append(element("div", {className: "hv-chance", style: `left: ${100 * chance}%`}));
    parts.push(
      element(
        "p",
        {className: "hv-guess", style: `padding-left: ${100 * chance}%`},
        `▲ guessing: ${percent(chance)}`,
      ),
    );
  }
  return {
    el: element("div", {}, ...parts, detail),
    draw({accuracy, all_right, n_parameters}) {
      big.textContent = percent(accuracy);
      fill.style.width = percent(accuracy);
      const size = n_parameters.toLocaleString("en");
      detail.textContent = `Questions with every answer right: ${percent(all_right)}.\n${size} parameters.`;
    },
  };
}

// The 4 × 4 models, filled in as the learner visits them.
function visitedTable(stage, models) {
  const {n_heads: heads, d_model: widths} = stage.limits,
    seen = new Set(),
    place = element("div");
  const cell = (d, h, here) => {
    const model = models.get(d + "," + h),
      td = element("td", {}, seen.has(model) ? percent(model.accuracy) : "·");
    if (model === here) td.className = "here";
    return td;
  };
  return {
    el: place,
    draw(here) {
      seen.add(here);
      const head = element(
        "tr",
        {},
        element("th", {scope: "col"}, "d_model \\ h"),
        ...heads.map(h => element("th", {scope: "col"}, String(h))),
      );
      const rows = widths.map(d =>
        element("tr", {}, element("th", {scope: "row"}, String(d)), ...heads.map(h => cell(d, h, here))),
      );
      place.replaceChildren(
        element(
          "table",
          {},
          element("caption", {}, "Right answers of the models tried"),
          element("thead", {}, head),
          element("tbody", {}, ...rows),
        ),
      );
    },
  };
}

const NTH = ["1st", "2nd", "3rd"],
  nth = i => NTH[i] || `${i + 1}th`;

// Which asked-for position each head found, in words.
function found(weights, {n_heads, T}, asked) {
  const best = Array.from({length: n_heads}, (_, i) => {
    const row = Array.from(weights.slice(i * T, (i + 1) * T));
    return row.indexOf(Math.max(...row));
  });
  const weight = i => show(weights[i * T + best[i]]);
  const finders = p => best.flatMap((b, i) => (b === p ? [`head ${i + 1} (${weight(i)})`] : []));
  const parts = asked.map((p, slot) => `the ${nth(slot)}, position ${p}: ${list(finders(p)) || "no head"}`);
  return `Who looks most at what was asked for? For ${parts.join("; for ")}.`;
}

function render({model, el}) {
  const view = stage(model, el),
    sent = view.get("result"),
    models = new Map(sent.models.map(m => [m.d_model + "," + m.n_heads, m]));
  const most = Math.max(...view.limits.n_heads),
    T = sent.models[0].T;
  for (const m of sent.models) m.weights = floats(m.weights);
  range(view, "n_heads", "Head count h", {ticks: true});
  range(view, "d_model", "Width d_model", {ticks: true});
  choice(view, "example", "Example");
  const map = new HeatMap(view, {
    row: "head",
    col: "position",
    gap: true,
    numbers: true,
    read: (i, j, v, {asked}) =>
      `Head ${i + 1} gives position ${j} the weight ${show(v)}. ` +
      (asked.includes(j) ? `It was asked for ${nth(asked.indexOf(j))}.` : "It was not asked for."),
  });
  const width = widthBar(Math.max(...view.limits.d_model)),
    accuracy = accuracyBar(sent.chance),
    visited = visitedTable(view, models);
  const words = element("p", {className: "tx-words hv-words"});
  const side = element(
    "div",
    {className: "hv-side"},
    panel("Right answers, on new data", {}, accuracy.el),
    panel("How the width is shared", {}, width.el),
    visited.el,
  );
  view.body.append(
    panels(panel("Where each head looks (frame: asked for)", {from: 330, to: 470}, map.el), side),
    words,
  );

  view.whenChanged(() => {
    const m = models.get(view.get("d_model") + "," + view.get("n_heads")),
      example = view.get("example") - 1;
    const weights = m.weights.slice(example * m.n_heads * T, (example + 1) * m.n_heads * T),
      asked = m.asked[example];
    const values = new Float32Array(most * T).fill(NaN); // always the same height: the page must not jump
    values.set(weights);
    map.draw({
      values,
      n_rows: most,
      n_cols: T,
      lo: 0,
      hi: 1,
      asked,
      used: m.n_heads,
      stretch: 0.85,
      rowNames: Array.from({length: most}, (_, i) => (i < m.n_heads ? `head ${i + 1}` : "")),
      colNames: Array.from({length: T}, (_, j) =>
        asked.includes(j) ? `${nth(asked.indexOf(j))} ▾\n${j}` : String(j),
      ),
      longNames: Array.from({length: T}, (_, j) =>
        asked.includes(j) ? `${j} (asked ${nth(asked.indexOf(j))})` : String(j),
      ),
      marks: asked.flatMap(p => Array.from({length: m.n_heads}, (_, i) => [i, p])),
      label: `Attention over ${T} positions, heads: ${m.n_heads}; asked for ${list(asked)}`,
    });
    for (const part of [accuracy, width, visited]) part.draw(m);
    words.textContent = found(weights, m, asked);
  });
}

export default {render};
