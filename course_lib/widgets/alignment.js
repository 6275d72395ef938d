// explore_alignment: one cross-attention map, the true source words framed. Uses family.js and heat_map.js.

function render({model, el}) {
  const view = stage(model, el),
    {sentences, scores} = view.get("result"),
    readings = view.limits.read_at,
    heads = view.limits.head.length;
  for (const one of sentences) one.maps = floats(one.maps);
  choice(
    view,
    "sentence",
    "Sentence",
    sentences.map(s => s.source.join(" ")),
  );
  choice(view, "read_at", "Read each word at", readings);
  if (view.limits.layer.length > 1) choice(view, "layer", "Layer");
  choice(
    view,
    "head",
    "Head",
    view.limits.head.map(h => (h ? String(h) : "mean of all")),
  );
  const map = new HeatMap(view, {
    row: "target word",
    col: "source word",
    numbers: true,
    tall: true,
    read: (i, j, v, {one}) =>
      `“${one.target[i]}” looks at “${one.source[j]}”: ${show(v)}. ` +
      (one.truth[i] < 0
        ? "It comes from no source word."
        : one.truth[i] === j
          ? "It does come from there."
          : `It comes from “${one.source[one.truth[i]]}”.`),
  });
  const big = element("p", {className: "tx-big"}),
    detail = element("p"),
    here = element("p"),
    best = element("p"),
    words = element("p", {className: "tx-words"});
  view.body.append(
    words,
    panels(
      panel("Cross-attention (frame: the true source word)", {from: 360, to: 560}, map.el),
      panel("Largest weight on the true word", {from: 200, to: 260}, big, detail, here, best),
    ),
  );

  view.tells = () =>
    [words, big, detail, here].map(part => part.textContent).join(" ");
  view.whenChanged(() => {
    const one = sentences[view.get("sentence") - 1],
      late = readings.indexOf(view.get("read_at")),
      layer = view.get("layer") - 1,
      head = view.get("head");
    const T = one.target.length,
      S = one.source.length,
      start = ((layer * heads + head) * (T + 1) + late) * S,
      values = one.maps.subarray(start, start + T * S);
    const marks = one.truth.flatMap((j, i) => (j < 0 ? [] : [[i, j]]));
    map.draw({
      values,
      n_rows: T,
      n_cols: S,
      lo: 0,
      hi: 1,
      rowNames: one.target,
      colNames: one.source,
      marks,
      one,
      stretch: 0.75,
      label: `Cross-attention of ${T} target words to ${S} source words`,
    });
    const largest = i => {
      const row = Array.from(values.subarray(i * S, (i + 1) * S));
      return row.indexOf(Math.max(...row));
    };
    const right = marks.filter(([i, j]) => largest(i) === j).length,
      score = scores[late][layer][head];
    const [top, l, h] = scores[late]
      .flatMap((row, l) => row.map((s, h) => [s, l, h]))
      .filter(([, , h]) => h)
      .sort((a, b) => b[0] - a[0])[0];
    big.textContent = Math.round(100 * score) + "%";
    detail.textContent = `of the words of ${sentences.length} sentences.`;
    here.textContent = `In this one: ${right} of ${marks.length}.`;
    best.textContent = `Best single head so read: layer ${l + 1}, head ${h} (${Math.round(100 * top)}%).`;
    words.textContent = `Each row is a word of “${one.target.join(" ")}”, read at ${readings[late]}.`;
  });
}

export default {render};
