// explore_attention: all heads small, one head large, and the sentence shaded by what one token looks at.
// Uses family.js, controls.js, colours.js and heat_map.js.

// Layers down, heads across. The sliders do the same by keyboard, so these buttons stay out of the tab order.
function overview(view, colours) {
  const {layer: layers, head: heads} = view.limits,
    place = element("div", {className: "av-heads"});
  place.style.gridTemplateColumns = `repeat(${heads.length}, minmax(26px, 44px))`;
  const buttons = layers.flatMap(layer =>
    heads.map(head => {
      const button = element(
        "button",
        {
          type: "button",
          tabIndex: -1,
          ariaLabel: `Layer ${layer}, head ${head}`,
          title: `Layer ${layer}, head ${head}`,
        },
        element("canvas"),
      );
      button.addEventListener("click", () => {
        view.set("layer", layer);
        view.set("head", head);
      });
      return button;
    }),
  );
  place.append(...buttons);
  return {
    el: place,
    fill(weights, T) {
      buttons.forEach((button, i) =>
        paint(button.firstChild, colours, {
          values: weights.subarray(i * T * T, (i + 1) * T * T),
          n_rows: T,
          n_cols: T,
          lo: 0,
          hi: 1,
        }),
      );
    },
    draw() {
      const chosen = (view.get("layer") - 1) * heads.length + view.get("head") - 1;
      buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === chosen)));
    },
  };
}

// The sentence as text: the asking token framed, every token shaded by the weight it gets.
function shadedText(view, colours) {
  const place = element("div", {
    className: "av-text",
    role: "group",
    ariaLabel: "Tokens: choose the one that asks",
  });
  return {
    el: place,
    draw(names, row, query, hi) {
      while (place.children.length > names.length) place.lastChild.remove();
      while (place.children.length < names.length) {
        const i = place.children.length,
          button = element("button", {type: "button"});
        button.addEventListener("click", () => view.set("query", i));
        place.append(button);
      }
      names.forEach((name, i) => {
        const button = place.children[i],
          index = shade(row[i], 0, hi),
          c = 3 * index;
        button.textContent = name;
        button.style.background = `rgb(${colours[c]}, ${colours[c + 1]}, ${colours[c + 2]})`;
        button.style.color = inkOn(colours, index);
        button.setAttribute("aria-pressed", String(i === query));
        button.ariaLabel = `${name}, weight ${show(row[i])}`;
      });
    },
  };
}

function render({model, el}) {
  const view = stage(model, el),
    colours = colourBytes(view);
  textBox(view, "sentence", "Sentence");
  if (view.limits.layer.length > 1) range(view, "layer", "Layer");
  if (view.limits.head.length > 1) range(view, "head", "Head");
  toggle(view, "stretch", "Colours up to the largest weight");
  const all = overview(view, colours),
    text = shadedText(view, colours),
    words = element("p", {className: "tx-words"});
  const map = new HeatMap(view, {
    row: "query",
    col: "key",
    tall: true,
    picked: i => view.set("query", i),
    read: (i, j, v, {rowNames, colNames}) =>
      `“${rowNames[i]}” (${i}) gives “${colNames[j]}” (${j}) the weight ${show(v)}.`,
  });
  view.body.append(
    text.el,
    words,
    panels(
      panel("One head: who looks (row) at whom (column)", {from: 320, to: 460}, map.el),
      panel("All heads: layers down, heads across", {from: 200, to: 460}, all.el),
    ),
  );
  let shown = null,
    weights = null;

  view.whenChanged(() => {
    const result = view.get("result"),
      {names} = result,
      T = names.length;
    if (result !== shown) {
      shown = result;
      weights = floats(result.weights);
      all.fill(weights, T);
    }
    const layer = view.get("layer"),
      head = view.get("head"),
      query = Math.min(view.get("query"), T - 1);
    const start = ((layer - 1) * view.limits.head.length + head - 1) * T * T,
      values = weights.subarray(start, start + T * T);
    const row = values.subarray(query * T, (query + 1) * T),
      key = row.indexOf(Math.max(...row)),
      long = names.map((name, i) => `${i} ${name}`);
    const hi = view.get("stretch") ? Math.max(...values) : 1;
    all.draw();
    text.draw(names, row, query, hi);
    map.draw({
      values,
      n_rows: T,
      n_cols: T,
      lo: 0,
      hi,
      rowNames: names,
      colNames: names,
      longNames: long,
      marks: [[query, 0, T]],
      label: `Layer ${layer}, head ${head}: weights of ${T} tokens`,
    });
    map.select(query);
    words.textContent =
      `Layer ${layer}, head ${head}: “${names[query]}” looks most at “${names[key]}” (${show(row[key])}). ` +
      "Choose another token to see where it looks.";
  });
}

export default {render};
