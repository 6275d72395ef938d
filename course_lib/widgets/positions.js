// explore_positions: fingerprints, and which positions look alike. Uses family.js, heat_map.js and curves.js.

// The rows of one table, and how alike any two of them are.
function encodings(flat, d) {
  const at = p => p * d,
    lengths = new Float64Array(flat.length / d).map((_, p) => Math.sqrt(dot(p, p)));
  function dot(p, q) {
    let sum = 0;
    for (let i = 0; i < d; i++) sum += flat[at(p) + i] * flat[at(q) + i];
    return sum;
  }
  function distance(p, q) {
    let sum = 0;
    for (let i = 0; i < d; i++) sum += (flat[at(p) + i] - flat[at(q) + i]) ** 2;
    return Math.sqrt(sum);
  }
  return {
    distance,
    cosine: (p, q) => dot(p, q) / (lengths[p] * lengths[q]),
    first: n => flat.subarray(0, at(n)),
    known: new Map(),
  };
}

// The nearest of n positions to p, and its distance.
function nearest(table, p, n) {
  let best = -1,
    least = Infinity;
  for (let q = 0; q < n; q++) {
    const gap = q === p ? Infinity : table.distance(p, q);
    if (gap < least) {
      best = q;
      least = gap;
    }
  }
  return [best, least];
}

// What does not depend on the chosen position: similarities of the first `shown`, and the share of them
// whose nearest position is next door.
function overview(table, n, shown) {
  if (!table.known.has(n)) {
    const values = new Float32Array(shown * shown);
    let nextDoor = 0;
    for (let p = 0; p < shown; p++) {
      nextDoor += Math.abs(nearest(table, p, n)[0] - p) === 1;
      for (let q = p; q < shown; q++) values[p * shown + q] = values[q * shown + p] = table.cosine(p, q);
    }
    table.known.set(n, {values, share: nextDoor / shown});
  }
  return table.known.get(n);
}

function inWords(table, p, n, d, shown, share) {
  const [q, gap] = nearest(table, p, n),
    door = p + 1 < n ? p + 1 : p - 1,
    steps = Math.abs(p - q);
  const verdict =
    steps === 1
      ? `The position most like ${p} is its neighbour ${q}, at distance ${show(gap, 3)}.`
      : `The position most like ${p} is ${q}, ${steps} steps away, at distance ${show(gap, 3)}; ` +
        `its neighbour ${door} is at ${show(table.distance(p, door), 3)}.`;
  const whom = shown < n ? `Of the first ${shown} of ${n} positions` : `Of the ${n} positions`;
  const nextDoor = `${Math.round(100 * share)}% have a next-door position as their most similar one`;
  return `${verdict} ${whom}, ${nextDoor} (d_model = ${d}).`;
}

function render({model, el}) {
  const view = stage(model, el),
    widths = view.limits.d_model;
  range(view, "d_model", "Width d_model", {ticks: true, wide: true});
  range(view, "n_positions", "Positions", {ticks: true});
  range(view, "position", "Compare with position", {upTo: () => view.get("n_positions") - 1});
  if (view.limits.base) choice(view, "base", "Base");
  const picked = i => view.set("position", i);
  const prints = new HeatMap(view, {
      row: "position",
      col: "dimension",
      picked,
      read: (i, j, v) => `Position ${i}, dimension ${j}: ${show(v)}.`,
    }),
    printsPanel = panel("", {from: 250, to: 300}, prints.el);
  const likeness = new HeatMap(view, {
      row: "position",
      col: "other",
      picked,
      read: (i, j, v) => `Positions ${i} and ${j}: similarity ${show(v)}.`,
    }),
    curve = lineChart(view, {
      x: "position",
      y: "similarity",
      digits: 3,
      read: (i, v) => `Position ${i}: similarity ${show(v, 3)}.`,
    });
  const curvePanel = panel("", {from: 290, to: 320}, curve.el),
    words = element("p", {className: "tx-words"});
  view.body.append(
    words,
    panels(
      printsPanel,
      panel("Similarity (cosine) of each two", {from: 250, to: 300}, likeness.el),
      curvePanel,
    ),
  );
  let tables = [];
  const unpack = () => {
    tables = view.get("result").tables.map((buffer, i) => encodings(floats(buffer), widths[i]));
  };
  model.on("change:result", unpack);
  unpack();

  view.whenChanged(() => {
    const d = view.get("d_model"),
      n = view.get("n_positions"),
      table = tables[widths.indexOf(d)];
    const p = Math.min(view.get("position"), n - 1),
      shown = Math.min(n, view.get("result").mapped),
      {values, share} = overview(table, n, shown);
    const names = Array.from({length: shown}, (_, i) => i),
      square = {n_rows: shown, rowNames: names, lo: -1, hi: 1};
    prints.draw({
      ...square,
      values: table.first(shown),
      n_cols: d,
      colNames: Array.from({length: d}, (_, i) => i),
      stretch: d / shown,
      label: `Fingerprints of ${shown} positions in ${d} dimensions`,
    });
    likeness.draw({
      ...square,
      values,
      n_cols: shown,
      colNames: names,
      label: `Cosine similarity of ${shown} positions, d_model ${d}`,
    });
    if (p < shown) {
      prints.select(p);
      likeness.select(p);
    }
    const row = Float32Array.from({length: n}, (_, q) => table.cosine(p, q)),
      [q] = nearest(table, p, n);
    curve.draw({
      values: row,
      lo: Math.min(0, Math.floor(2 * Math.min(...row)) / 2),
      hi: 1,
      marks: [
        [p, ""],
        [q, `nearest: ${q}`],
      ],
      label: `Similarity to position ${p}`,
    });
    printsPanel.firstChild.textContent = `Fingerprints: ${shown} × ${d} numbers`;
    curvePanel.firstChild.textContent = `Similarity to position ${p}`;
    words.textContent = inWords(table, p, n, d, shown, share);
  });
}

export default {render};
