// A grid of values as colours, readable by mouse, keyboard and screen reader. Uses family.js and colours.js.

// new HeatMap(stage, options): .el is the element, .draw(data) shows values, .select(i, j) leads it from elsewhere.
//   options
//     row, col: what rows and columns are called in words ("query", "key")
//     read(i, j, value, data) -> one cell as a sentence; numbers: values stand in the cells, as write(value) gives them
//     gap: rows are strips of their own; tall: long column names, written upwards; scale: show the colour scale
//     controls: false where another map's row and column lists lead this one too
//     picked(i, j, clicked): called for each cell chosen by click or key
//   data
//     {values, n_rows, n_cols, lo, hi, rowNames, colNames, label}, and if wanted
//     marks: framed cells [[i, j, wide = 1], …]; used: rows in use, the others keep their room;
//     stretch: height of a cell over its width; longNames: column names for lists and tables
class HeatMap {
  constructor(stage, options) {
    const usual = {row: "query", col: "key", digits: 2, scale: true, controls: true, picked: () => {}};
    Object.assign(this, usual, options, {stage, colours: colourBytes(stage), data: null});
    this.canvas = element("canvas", {role: "img"});
    this.over = svg("svg", {preserveAspectRatio: "none", "aria-hidden": "true"});
    this.written = element("div", {className: "tx-numbers", ariaHidden: "true"});
    this.cells = element("div", {className: "tx-cells"}, this.canvas, this.written, this.over);
    this.rowNames = element("div", {className: "tx-rows", ariaHidden: "true"});
    this.colNames = element("div", {className: this.tall ? "tx-cols tall" : "tx-cols", ariaHidden: "true"});
    this.rowSelect = element("select", {ariaLabel: this.row});
    this.colSelect = element("select", {ariaLabel: this.col});
    this.reading = element("p", {className: "tx-reading"});
    this.cross = svg("g", {});
    this.legend = scaleBar(this.colours);
    this.folded = foldedTable(() => (this.data ? asTable(this.data, this.row, this.col, this.digits) : ""));
    this.el = this.assemble();
    this.listen();
  }

  assemble() {
    const map = element("div", {className: this.gap ? "tx-map gap" : "tx-map"});
    map.append(element("div"), this.colNames, this.rowNames, this.cells);
    const selects = element("div", {className: "tx-read", hidden: !this.controls});
    selects.append(
      element("label", {}, this.row, this.rowSelect),
      element("label", {}, this.col, this.colSelect),
    );
    const legend = this.scale ? [this.legend.el] : [];
    return element("div", {}, map, ...legend, selects, this.reading, this.folded.details);
  }

  listen() {
    this.cells.addEventListener("pointermove", event => this.point(...this.under(event)));
    this.cells.addEventListener("pointerleave", () => this.rest());
    this.cells.addEventListener("click", event => {
      const [i, j] = this.under(event);
      this.select(i, j);
      this.picked(i, j, true);
      this.stage.say(this.sentence(i, j));
    });
    for (const select of [this.rowSelect, this.colSelect]) {
      select.addEventListener("change", () => {
        const [i, j] = this.chosen();
        this.picked(i, j, false);
        this.point(i, j);
        this.stage.say(this.sentence(i, j));
      });
    }
  }

  // Row and column of the lists, and those under the pointer.
  chosen() {
    return [+this.rowSelect.value, +this.colSelect.value];
  }

  under(event) {
    const box = this.canvas.getBoundingClientRect();
    const at = (x, size, n, last) => Math.min(last - 1, Math.max(0, Math.floor((x / size) * n)));
    const {n_rows, n_cols, used = n_rows} = this.data;
    return [
      at(event.clientY - box.top, box.height, n_rows, used),
      at(event.clientX - box.left, box.width, n_cols, n_cols),
    ];
  }

  sentence(i, j) {
    const {values, n_cols, rowNames, colNames} = this.data,
      value = values[i * n_cols + j];
    if (this.read) return this.read(i, j, value, this.data);
    return `${this.row} ${rowNames[i]}, ${this.col} ${colNames[j]}: ${show(value, this.digits)}`;
  }

  // A cross hair on one cell, and that cell in words; at rest, the cell of the lists without a cross hair.
  point(i, j) {
    const {n_rows, n_cols, used = n_rows} = this.data;
    this.cross.replaceChildren(
      svg("rect", {class: "cross", x: 0, y: i, width: n_cols, height: 1}),
      svg("rect", {class: "cross", x: j, y: 0, width: 1, height: used}),
    );
    this.reading.textContent = this.sentence(i, j);
  }

  rest() {
    this.cross.replaceChildren();
    this.reading.textContent = this.sentence(...this.chosen());
  }

  select(i, j = +this.colSelect.value) {
    this.rowSelect.value = i;
    this.colSelect.value = j;
    if (this.data) this.rest();
  }

  draw(data) {
    const layout = ({n_rows, n_cols, used, rowNames, colNames}) =>
      JSON.stringify([n_rows, n_cols, used, rowNames, colNames]);
    const changed = !this.data || layout(data) !== layout(this.data);
    this.data = data;
    if (changed) this.layOut(data);
    paint(this.canvas, this.colours, data);
    this.canvas.setAttribute("aria-label", data.label);
    this.over.replaceChildren(...rules(data, this.gap), ...marked(data), this.cross);
    const short = v => show(v, this.digits).replace(/^(-?)0\./, "$1.");
    if (this.numbers) writeNumbers(this.written, this.colours, data, this.write || short);
    this.legend.update(data.lo, data.hi);
    this.rest();
    this.folded.fill();
  }

  layOut({n_rows, n_cols, used, rowNames, colNames, longNames = colNames, stretch = 1}) {
    fillOptions(this.rowSelect, rowNames.slice(0, used));
    fillOptions(this.colSelect, longNames);
    labels(this.rowNames, rowNames, true, 16);
    labels(this.colNames, colNames, false, this.tall ? 24 : 12);
    this.cells.style.aspectRatio = `${n_cols} / ${n_rows * stretch}`;
    this.over.setAttribute("viewBox", `0 0 ${n_cols} ${n_rows}`);
  }
}

function svg(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// At most `most` labels beside the cells, evenly thinned, so that they never run into each other.
function labels(place, names, rows, most) {
  const every = Math.ceil(names.length / most);
  const kept = names.map((name, i) => [String(name), i]).filter(([, i]) => i % every === 0);
  const middle = i => `${rows ? "top" : "left"}: ${(100 * (i + 0.5)) / names.length}%`;
  const widest = kept.reduce((a, [name]) => (name.length > a.length ? name : a), "");
  place.replaceChildren(
    element("span", {className: "room"}, widest),
    ...kept.map(([name, i]) => element("span", {style: middle(i)}, name)),
  );
}

// Keep the reader's place when the names change, as far as it still exists.
function fillOptions(select, names) {
  const old = Math.max(0, select.selectedIndex);
  select.replaceChildren(...names.map((name, i) => element("option", {value: i}, String(name))));
  select.selectedIndex = Math.min(old, names.length - 1);
}

function rules({n_rows: all, n_cols, used}, gap) {
  const lines = [],
    n_rows = used || all;
  if (gap)
    for (let i = 1; i < n_rows; i++) lines.push(svg("line", {class: "gap", x1: 0, x2: n_cols, y1: i, y2: i}));
  if (used)
    for (let i = used; i < all; i++)
      lines.push(svg("rect", {class: "empty", x: 0, y: i + 0.08, width: n_cols, height: 0.84}));
  if (n_cols <= 16)
    for (let j = 1; j < n_cols; j++)
      lines.push(svg("line", {class: "rule", x1: j, x2: j, y1: 0, y2: n_rows}));
  if (!gap && n_rows <= 16)
    for (let i = 1; i < n_rows; i++)
      lines.push(svg("line", {class: "rule", x1: 0, x2: n_cols, y1: i, y2: i}));
  return lines;
}

// A mark is a frame in black and white, so that it stands out on every colour.
function marked({marks = []}) {
  return marks.flatMap(([i, j, wide = 1]) =>
    ["halo", "mark"].map(kind => svg("rect", {class: kind, x: j, y: i, width: wide, height: 1})),
  );
}

function writeNumbers(place, colours, {values, n_rows, n_cols, lo, hi}, write) {
  place.style.gridTemplate = `repeat(${n_rows}, 1fr) / repeat(${n_cols}, 1fr)`;
  while (place.children.length < n_rows * n_cols) place.append(element("span"));
  while (place.children.length > n_rows * n_cols) place.lastChild.remove();
  for (let i = 0; i < n_rows * n_cols; i++) {
    const cell = place.children[i];
    const text = Number.isNaN(values[i]) ? "" : write(values[i]);
    if (cell.textContent !== text) cell.textContent = text; // laying out text anew is slow
    cell.style.color = inkOn(colours, shade(values[i], lo, hi));
  }
}

function scaleBar(colours) {
  const bar = element("canvas", {ariaHidden: "true"}),
    low = element("span"),
    high = element("span");
  paint(bar, colours, {
    values: Array.from({length: 256}, (_, i) => i),
    n_rows: 1,
    n_cols: 256,
    lo: 0,
    hi: 255,
  });
  return {
    el: element("div", {className: "tx-scale"}, low, bar, high),
    update(lo, hi) {
      low.textContent = +lo.toFixed(2);
      high.textContent = +hi.toFixed(2);
    },
  };
}

// Up to 16 × 16 a real table; above that the three largest columns of each row, in words.
function asTable(data, row, col, digits) {
  const {values, n_cols, rowNames, label} = data,
    colNames = data.longNames || data.colNames,
    n_rows = data.used || data.n_rows;
  const line = i => Array.from({length: n_cols}, (_, j) => values[i * n_cols + j]);
  if (n_rows <= 16 && n_cols <= 16) {
    return table(
      label,
      [`${row} \\ ${col}`, ...colNames],
      Array.from({length: n_rows}, (_, i) => [
        rowNames[i],
        ...line(i).map(v => (Number.isNaN(v) ? "–" : show(v, digits))),
      ]),
    );
  }
  const top = i =>
    line(i)
      .map((v, j) => [v, j])
      .sort((a, b) => b[0] - a[0])
      .slice(0, 3)
      .map(([v, j]) => `${colNames[j]} (${show(v, digits)})`);
  return element(
    "ul",
    {},
    ...Array.from({length: n_rows}, (_, i) =>
      element("li", {}, `${row} ${rowNames[i]}: largest at ${col} ${list(top(i))}`),
    ),
  );
}
