// A grid of values as colours, readable by mouse, keyboard and screen reader. Uses family.js.

// Write values (n_rows × n_cols, lowest lo, highest hi) as colours into a canvas of one pixel a cell.
function paint(canvas, colours, {values, n_rows, n_cols, lo, hi}) {
  if (canvas.width !== n_cols || canvas.height !== n_rows) { canvas.width = n_cols; canvas.height = n_rows; }
  const context = canvas.getContext("2d", {willReadFrequently: true}), image = context.createImageData(n_cols, n_rows);
  for (let i = 0; i < n_rows * n_cols; i++) {
    const c = 3 * shade(values[i], lo, hi);
    image.data[4 * i] = colours[c];
    image.data[4 * i + 1] = colours[c + 1];
    image.data[4 * i + 2] = colours[c + 2];
    image.data[4 * i + 3] = Number.isNaN(values[i]) ? 0 : 255;      // NaN: nothing there, the page shows through
  }
  context.putImageData(image, 0, 0);
}

// The colour map of the course: 256 × (red, green, blue).
function colourBytes(stage) {
  const sent = stage.get("colours");
  return new Uint8Array(sent.buffer.slice(sent.byteOffset, sent.byteOffset + sent.byteLength));
}

const shade = (value, lo, hi) => Math.min(255, Math.max(0, Math.round(255 * (value - lo) / (hi - lo)))) || 0;

// Black or white, whichever reads better on this colour (WCAG relative luminance).
function inkOn(colours, index) {
  const linear = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const [r, g, b] = [0, 1, 2].map(k => linear(colours[3 * index + k]));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000" : "#fff";
}

function svg(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// At most `most` labels beside the cells, evenly thinned, so that they never run into each other.
function labels(place, names, rows, most) {
  const every = Math.ceil(names.length / most), kept = names.map((name, i) => [String(name), i]).filter(([, i]) => i % every === 0);
  const middle = i => `${rows ? "top" : "left"}: ${100 * (i + 0.5) / names.length}%`;
  const widest = kept.reduce((a, [name]) => name.length > a.length ? name : a, "");
  place.replaceChildren(element("span", {className: "room"}, widest), ...kept.map(([name, i]) => element("span", {style: middle(i)}, name)));
}

// heatMap(stage, options) -> {el, draw(data)}
//   options: row and col, what they are called in words ("query", "key"); gap between rows; numbers in the cells;
//   digits; write(value) -> what stands in a cell; read(i, j, value, data) -> a sentence; controls: false where
//   another map's controls lead this one too, through select(i, j); picked(i, j, clicked) is told of each cell chosen by click or key.
//   data: {values, n_rows, n_cols, lo, hi, rowNames, colNames, label}, and if wanted marks: [[i, j, wide = 1], …], framed cells,
//   used: the number of rows in use (the rest keep
//   their room), stretch: the height of a cell over its width, longNames: column names for lists and tables
function heatMap(stage, {row = "query", col = "key", gap = false, numbers = false, digits = 2, tall = false, scale = true,
                         controls = true, read = null, write = null, picked = () => {}}) {
  const colours = colourBytes(stage);
  const canvas = element("canvas", {role: "img"}), over = svg("svg", {preserveAspectRatio: "none", "aria-hidden": "true"});
  const written = element("div", {className: "tx-numbers", ariaHidden: "true"});
  const cells = element("div", {className: "tx-cells"}, canvas, written, over);
  const rowNames = element("div", {className: "tx-rows", ariaHidden: "true"}), colNames = element("div", {className: "tx-cols" + (tall ? " tall" : ""), ariaHidden: "true"});
  const corner = element("div"), map = element("div", {className: gap ? "tx-map gap" : "tx-map"}, corner, colNames, rowNames, cells);
  const reading = element("p", {className: "tx-reading"});
  const choose = what => element("select", {id: freshId(), ariaLabel: what});
  const rowSelect = choose(row), colSelect = choose(col);
  const selects = element("div", {className: "tx-read", hidden: !controls}, element("label", {}, row, rowSelect), element("label", {}, col, colSelect));
  const legend = scaleBar(colours);
  let data = null;
  const sentence = (i, j) => { const v = data.values[i * data.n_cols + j]; return read ? read(i, j, v, data) : `${row} ${data.rowNames[i]}, ${col} ${data.colNames[j]}: ${show(v, digits)}`; };
  const folded = foldedTable(() => data ? asTable(data, row, col, digits) : "");
  const cross = svg("g", {class: "cross"});

  function point(i, j) {                                         // a cross hair on one cell, and that cell in words
    cross.replaceChildren(svg("rect", {class: "cross", x: 0, y: i, width: data.n_cols, height: 1}), svg("rect", {class: "cross", x: j, y: 0, width: 1, height: data.used || data.n_rows}));
    reading.textContent = sentence(i, j);
  }
  function rest() { cross.replaceChildren(); reading.textContent = sentence(+rowSelect.value, +colSelect.value); }
  function under(event) {
    const box = canvas.getBoundingClientRect(), at = (x, size, n) => Math.min(n - 1, Math.max(0, Math.floor(x / size * n)));
    return [Math.min((data.used || data.n_rows) - 1, at(event.clientY - box.top, box.height, data.n_rows)), at(event.clientX - box.left, box.width, data.n_cols)];
  }
  cells.addEventListener("pointermove", event => point(...under(event)));
  cells.addEventListener("pointerleave", rest);
  cells.addEventListener("click", event => {
    const [i, j] = under(event);
    rowSelect.value = i; colSelect.value = j;
    picked(i, j, true);
    stage.say(sentence(i, j));
  });
  for (const select of [rowSelect, colSelect]) select.addEventListener("change", () => {
    picked(+rowSelect.value, +colSelect.value, false);
    point(+rowSelect.value, +colSelect.value);
    stage.say(reading.textContent);
  });

  function draw(next) {
    const resized = !data || next.n_rows !== data.n_rows || next.used !== data.used || next.n_cols !== data.n_cols;
    const renamed = resized || String(next.rowNames) !== String(data.rowNames) || String(next.colNames) !== String(data.colNames);
    data = next;
    if (renamed) { fillOptions(rowSelect, data.rowNames.slice(0, data.used)); fillOptions(colSelect, data.longNames || data.colNames); labels(rowNames, data.rowNames, true, 16); labels(colNames, data.colNames, false, tall ? 24 : 12); }
    if (resized) { cells.style.aspectRatio = `${data.n_cols} / ${data.n_rows * (data.stretch || 1)}`; over.setAttribute("viewBox", `0 0 ${data.n_cols} ${data.n_rows}`); }
    paint(canvas, colours, data);
    canvas.setAttribute("aria-label", data.label);
    over.replaceChildren(...rules(data, gap), ...marked(data), cross);
    if (numbers) writeNumbers(written, colours, data, write || (v => show(v, digits).replace(/^(-?)0\./, "$1.")));
    legend.update(data.lo, data.hi);
    cross.replaceChildren();
    reading.textContent = sentence(+rowSelect.value, +colSelect.value);
    folded.fill();
  }
  const el = element("div", {}, map, ...(scale ? [legend.el] : []), selects, reading, folded.details);
  return {el, draw, select(i, j = +colSelect.value) { rowSelect.value = i; colSelect.value = j; if (data) rest(); }};
}

// Keep the reader's place when the names change, as far as it still exists.
function fillOptions(select, names) {
  const old = Math.max(0, select.selectedIndex);
  select.replaceChildren(...names.map((name, i) => element("option", {value: i}, String(name))));
  select.selectedIndex = Math.min(old, names.length - 1);
}

function rules({n_rows: all, n_cols, used}, gap) {
  const lines = [], n_rows = used || all;
  if (gap) for (let i = 1; i < n_rows; i++) lines.push(svg("line", {class: "gap", x1: 0, x2: n_cols, y1: i, y2: i}));
  if (used) for (let i = used; i < all; i++) lines.push(svg("rect", {class: "empty", x: 0, y: i + 0.08, width: n_cols, height: 0.84}));
  if (n_cols <= 16) for (let j = 1; j < n_cols; j++) lines.push(svg("line", {class: "rule", x1: j, x2: j, y1: 0, y2: n_rows}));
  if (!gap && n_rows <= 16) for (let i = 1; i < n_rows; i++) lines.push(svg("line", {class: "rule", x1: 0, x2: n_cols, y1: i, y2: i}));
  return lines;
}

// A mark is a frame in black and white, so that it stands out on every colour.
function marked({marks = []}) {
  return marks.flatMap(([i, j, wide = 1]) => ["halo", "mark"].map(kind => svg("rect", {class: kind, x: j, y: i, width: wide, height: 1})));
}

function writeNumbers(place, colours, {values, n_rows, n_cols, lo, hi}, write) {
  place.style.gridTemplate = `repeat(${n_rows}, 1fr) / repeat(${n_cols}, 1fr)`;
  while (place.children.length < n_rows * n_cols) place.append(element("span"));
  while (place.children.length > n_rows * n_cols) place.lastChild.remove();
  for (let i = 0; i < n_rows * n_cols; i++) {
    const cell = place.children[i];
    cell.textContent = Number.isNaN(values[i]) ? "" : write(values[i]);
    cell.style.color = inkOn(colours, shade(values[i], lo, hi));
  }
}

function scaleBar(colours) {
  const bar = element("canvas", {ariaHidden: "true"}), low = element("span"), high = element("span");
  paint(bar, colours, {values: Array.from({length: 256}, (_, i) => i), n_rows: 1, n_cols: 256, lo: 0, hi: 255});
  return {el: element("div", {className: "tx-scale"}, low, bar, high), update(lo, hi) { low.textContent = +lo.toFixed(2); high.textContent = +hi.toFixed(2); }};
}

// Up to 16 × 16 a real table; above that the three largest columns of each row, in words.
function asTable(data, row, col, digits) {
  const {values, n_cols, rowNames, label} = data, colNames = data.longNames || data.colNames, n_rows = data.used || data.n_rows;
  const line = i => Array.from({length: n_cols}, (_, j) => values[i * n_cols + j]);
  if (n_rows <= 16 && n_cols <= 16) {
    return table(label, [`${row} \\ ${col}`, ...colNames], Array.from({length: n_rows}, (_, i) => [rowNames[i], ...line(i).map(v => Number.isNaN(v) ? "–" : show(v, digits))]));
  }
  const top = i => line(i).map((v, j) => [v, j]).sort((a, b) => b[0] - a[0]).slice(0, 3).map(([v, j]) => `${colNames[j]} (${show(v, digits)})`);
  return element("ul", {}, ...Array.from({length: n_rows}, (_, i) => element("li", {}, `${row} ${rowNames[i]}: largest at ${col} ${list(top(i))}`)));
}
