// explore_parameters: counts and shares, as tables with a bar in each row. Uses family.js and controls.js.

const thousands = n => n.toLocaleString("en");

function shares(caption, rows) {
  const total = rows.reduce((sum, [, n]) => sum + n, 0);
  const bar = n =>
    element(
      "div",
      {className: "pv-bar", ariaHidden: "true"},
      element("div", {style: `width: ${(100 * n) / total}%`}),
    );
  return table(
    caption,
    ["part", "parameters", "share", "as a bar"],
    rows.map(([part, n]) => [part, thousands(n), show((100 * n) / total, 1) + "%", bar(n)]),
  );
}

function render({model, el}) {
  const view = stage(model, el);
  choice(view, "preset", "Start from");
  range(view, "d_model", "Width d_model");
  range(view, "n_heads", "Heads h");
  range(view, "d_ff", "Feed-forward d_ff");
  range(view, "n_layers", "Layers");
  range(view, "vocab_size", "Vocabulary", {text: thousands});
  const big = element("p", {className: "tx-big"}),
    note = element("p", {className: "pv-note"});
  const groups = element("div"),
    block = element("div"),
    parts = foldedTable(() => shares("Every part", view.get("result").parts));
  parts.details.firstChild.textContent = "Show every part";
  view.body.append(
    panels(
      panel("Parameters", {from: 510, to: 520}, big, note, groups),
      panel("Inside one block", {from: 300, to: 420}, block, parts.details),
    ),
  );
  view.tells = () => `${big.textContent} parameters. ${note.textContent}`;
  view.whenChanged(() => {
    const shown = view.get("result");
    big.textContent = thousands(shown.total);
    note.textContent = shown.printed
      ? `Printed for ${view.get("preset")}: ${shown.printed}${shown.note ? "; " + shown.note : ""}.`
      : `Built like ${view.get("preset")}, with sizes of your own.`;
    groups.replaceChildren(shares("The whole model", shown.groups));
    block.replaceChildren(shares("Attention against feed-forward", shown.block));
    parts.fill();
  });
}

export default {render};
