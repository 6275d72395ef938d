// explore_block: the steps of one block in a list, the chosen one as a map of tokens by features.
// Uses family.js, controls.js, colours.js and heat_map.js.

// The steps as an ordered list of buttons: where we are, and a way to jump.
function stepList(view, steps) {
  const buttons = steps.map(({title, shape}, i) => {
    const button = element("button", {type: "button"}, `${i + 1}. ${title}`);
    button.addEventListener("click", () => {
      view.set("step", i + 1);
      view.say(`Step ${i + 1}: ${title}, shape ${shape}`);
    });
    return button;
  });
  return {
    el: element("ol", {className: "bv-steps"}, ...buttons.map(button => element("li", {}, button))),
    draw(now) {
      buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i + 1 === now)));
    },
  };
}

// Mean, spread and length of one token's vector.
function inNumbers(vector) {
  const n = vector.length,
    mean = vector.reduce((a, b) => a + b, 0) / n;
  const spread = Math.sqrt(vector.reduce((a, b) => a + (b - mean) ** 2, 0) / n),
    length = Math.sqrt(vector.reduce((a, b) => a + b * b, 0));
  const some = Array.from(vector.slice(0, 6), v => show(v)).join(", ");
  const listed = n > 6 ? `first values ${some}, …` : `values ${some}.`;
  return `mean ${show(mean)}, standard deviation ${show(spread)}, length ${show(length)}; ${listed}`;
}

function render({model, el}) {
  const view = stage(model, el),
    {steps, names, source_names: sourceNames} = view.get("result");
  for (const step of steps) step.values = floats(step.values);
  stepper(view, "step", "Step");
  choice(
    view,
    "token",
    "Token",
    names.map((name, i) => `${i} ${name}`),
  );
  const chain = stepList(view, steps),
    words = element("p", {className: "tx-words"}),
    numbers = element("p", {className: "tx-words"});
  const map = new HeatMap(view, {
    row: "token",
    col: "feature",
    picked: i => view.set("token", i),
    read: (i, j, v, data) => `“${data.rowNames[i]}”, feature ${j}: ${show(v)}`,
  });
  const weights = new HeatMap(view, {
    row: "head",
    col: "key",
    tall: true,
    numbers: sourceNames.length < 13,
    read: (i, j, v, data) => `Head ${i + 1} gives “${data.colNames[j]}” the weight ${show(v)}.`,
  });
  const place = panel(
    "",
    {from: 400, to: 620},
    element("div", {}, map.el),
    element("div", {}, weights.el),
    numbers,
  );
  view.body.append(words, panels(panel("Steps", {from: 180, to: 220}, chain.el), place));

  view.whenChanged(() => {
    const now = view.get("step"),
      {title, text, shape, sizes, values} = steps[now - 1],
      token = view.get("token"),
      isWeights = sizes.length === 3;
    chain.draw(now);
    words.textContent = `Step ${now} of ${steps.length}: ${title}. ${text}`;
    place.firstChild.textContent = `${title}, shape ${shape}`;
    map.el.hidden = isWeights;
    weights.el.hidden = !isWeights;
    if (isWeights) {
      const [h, T, S] = sizes,
        keys = S === names.length ? names : sourceNames,
        rows = new Float32Array(h * S);
      for (let head = 0; head < h; head++)
        rows.set(values.subarray((head * T + token) * S, (head * T + token + 1) * S), head * S);
      weights.draw({
        values: rows,
        n_rows: h,
        n_cols: S,
        lo: 0,
        hi: 1,
        rowNames: Array.from({length: h}, (_, i) => `head ${i + 1}`),
        colNames: keys,
        longNames: keys.map((name, i) => `${i} ${name}`),
        label: `Weights of token ${token}, ${names[token]}, in ${h} heads`,
      });
      numbers.textContent = `The row of “${names[token]}” in each head; each row sums to 1.`;
    } else {
      const [T, width] = sizes,
        rows = T === names.length ? names : sourceNames,
        most = Math.max(...values.map(Math.abs)),
        row = Math.min(token, T - 1);
      map.draw({
        values,
        n_rows: T,
        n_cols: width,
        lo: -most,
        hi: most,
        rowNames: rows,
        colNames: Array.from({length: width}, (_, i) => i),
        stretch: (0.55 * width) / T,
        marks: [[row, 0, width]],
        label: `${title}: ${T} tokens by ${width} features`,
      });
      map.select(row);
      numbers.textContent = `“${rows[row]}”: ${inNumbers(values.subarray(row * width, (row + 1) * width))}`;
    }
  });
}

export default {render};
