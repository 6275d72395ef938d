// One curve over whole numbers 0, 1, 2, …, readable by mouse, keyboard and screen reader.
// Uses family.js and heat_map.js.

// lineChart(stage, options) -> {el, draw(data)}
//   options: x, what the whole numbers are called in words; y, what the curve shows; read(i, value) -> a sentence.
//   data: {values, lo, hi, marks: [[i, text], …], label}
function lineChart(stage, {x, y, digits = 2, read = (i, v) => `${x} ${i}: ${y} ${show(v, digits)}.`}) {
  const W = 340,
    H = 200,
    left = 34,
    right = 10,
    top = 18,
    bottom = 24,
    id = freshId();
  const picture = svg("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", class: "tx-chart"});
  const number = element("input", {type: "number", id, min: 0, value: 0});
  const reading = element("p", {className: "tx-reading"});
  let data = null;
  const folded = foldedTable(() => chartTable(data, x, y, digits));
  const at = i => left + (W - left - right) * (data.values.length > 1 ? i / (data.values.length - 1) : 0.5);
  const up = v => H - bottom - ((H - top - bottom) * (v - data.lo)) / (data.hi - data.lo);
  const cursor = svg("line", {class: "cursor", y1: top, y2: H - bottom});
  const point = i => {
    cursor.setAttribute("x1", at(i));
    cursor.setAttribute("x2", at(i));
    reading.textContent = read(i, data.values[i]);
  };
  const rest = () => point(Math.min(data.values.length - 1, Math.max(0, Math.round(+number.value) || 0)));
  picture.addEventListener("pointermove", event => {
    const box = picture.getBoundingClientRect(),
      share = (((event.clientX - box.left) / box.width) * W - left) / (W - left - right);
    point(Math.min(data.values.length - 1, Math.max(0, Math.round(share * (data.values.length - 1)))));
  });
  picture.addEventListener("pointerleave", rest);
  number.addEventListener("input", () => {
    rest();
    stage.say(reading.textContent);
  });

  function axis() {
    const middle = (data.lo + data.hi) / 2,
      last = data.values.length - 1;
    return [
      ...[data.lo, middle, data.hi].flatMap(v => [
        svg("line", {class: "grid", x1: left, x2: W - right, y1: up(v), y2: up(v)}),
        write(left - 6, up(v) + 4, +v.toFixed(2), "end"),
      ]),
      ...[0, Math.round(last / 2), last].map(i => write(at(i), H - 6, i, i === last ? "end" : "middle")),
    ];
  }
  function draw(next) {
    data = next;
    number.max = data.values.length - 1;
    const path = Array.from(
      data.values,
      (v, i) => `${i ? "L" : "M"}${at(i).toFixed(1)},${up(v).toFixed(1)}`,
    ).join("");
    const marks = data.marks.flatMap(([i, text]) => [
      svg("circle", {cx: at(i), cy: up(data.values[i]), r: 5}),
      write(at(i), up(data.values[i]) - 9, text, at(i) > W - 90 ? "end" : at(i) < 70 ? "start" : "middle"),
    ]);
    picture.replaceChildren(...axis(), svg("path", {d: path}), cursor, ...marks);
    picture.setAttribute("aria-label", data.label);
    rest();
    folded.fill();
  }
  const control = element(
    "div",
    {className: "tx-read"},
    element("label", {htmlFor: id}, `read ${x}`),
    number,
  );
  return {el: element("div", {}, picture, control, reading, folded.details), draw};
}

function write(x, y, text, anchor) {
  const made = svg("text", {x, y, "text-anchor": anchor});
  made.textContent = text;
  return made;
}

function chartTable({values, label}, x, y, digits) {
  const all = Array.from(values, (v, i) => [String(i), show(v, digits)]);
  if (all.length <= 16) return table(label, [x, y], all);
  const best = all.slice().sort((a, b) => b[1] - a[1]);
  const say = part => list(part.map(([i, v]) => `${i} (${v})`));
  return element(
    "p",
    {},
    `${label}. Highest at ${x} ${say(best.slice(0, 3))}; lowest at ${x} ${say(best.slice(-3).reverse())}.`,
  );
}
