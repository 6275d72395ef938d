// explore_generation: the next token's distribution, the text so far, and a beam. Uses family.js and controls.js.

function textSoFar() {
  const prompt = element("span"),
    chosen = element("b"),
    end = element("span");
  return {
    el: element("p", {className: "gv-text"}, prompt, " ", chosen, end),
    draw(shown) {
      prompt.textContent = shown.prompt;
      chosen.textContent = shown.text;
      end.textContent = shown.ended ? " (ended)" : " …";
    },
  };
}

// One row a token; its bar has an outline for the model's probability and a filling for what is left of it.
function distribution(view, take) {
  const place = element("div"),
    percent = p => (p && p < 0.0005 ? "< 0.1%" : show(100 * p, 1) + "%");
  const bar = ({raw, kept}, most) => {
    const box = element("div", {className: "gv-bar", ariaHidden: "true"});
    const outline = element("div", {className: "gv-raw", style: `width: ${(100 * raw) / most}%`}),
      fill = element("div", {className: "gv-kept", style: `width: ${(100 * kept) / most}%`});
    box.append(fill, outline);
    return box;
  };
  function draw({tokens, ended}) {
    const most = Math.max(...tokens.flatMap(t => [t.raw, t.kept]));
    const held = place.contains(document.activeElement) ? document.activeElement.dataset.row : null;
    const rows = tokens.map((token, i) => {
      const button = element(
        "button",
        {type: "button", disabled: ended, ariaLabel: `Continue with ${token.text}`},
        token.text,
      );
      button.dataset.row = i;
      button.addEventListener("click", () => take(token));
      return [button, percent(token.raw), token.kept ? percent(token.kept) : "cut", bar(token, most)];
    });
    place.replaceChildren(
      table(
        "Next token: the likeliest first",
        ["token", "model", "after the controls", "bar: outline model, filled after"],
        rows,
      ),
    );
    if (held !== null) place.querySelector(`button[data-row="${held}"]`).focus(); // redrawn, but still where one was
  }
  return {el: place, draw};
}

function render({model, el}) {
  const view = stage(model, el),
    all = view.limits.top_k.at(-1);
  range(view, "temperature", "Temperature");
  range(view, "top_k", "Top-k", {text: k => (k === all ? "all" : String(k))});
  range(view, "top_p", "Top-p");
  range(view, "beam", "Beam width");
  const text = textSoFar(),
    words = element("p", {className: "tx-words"});
  const take = token => {
    view.set("chosen", [...view.get("chosen"), token.id]);
    view.say(`Added ${token.text}`);
  };
  const tokens = distribution(view, take),
    beams = element("div", {className: "gv-beams"});
  const button = (name, act) => {
    const made = element("button", {type: "button"}, name);
    made.addEventListener("click", act);
    return made;
  };
  const likeliest = button("Take the likeliest", () => take(view.get("result").tokens[0]));
  const draw = button("Draw one", () => {
    view.set("draws", view.get("draws") + 1);
    view.say("Drew one token");
  });
  const back = button("One back", () => {
    view.set("chosen", view.get("chosen").slice(0, -1));
    view.say("Took the last token away");
  });
  view.body.append(
    text.el,
    element("div", {className: "tx-read"}, likeliest, draw, back),
    words,
    panels(
      panel("What comes next", {from: 450, to: 540}, tokens.el),
      panel("The beam", {from: 240, to: 380}, beams),
    ),
  );

  view.whenChanged(() => {
    const shown = view.get("result"),
      held = view.body.contains(document.activeElement);
    text.draw(shown);
    tokens.draw(shown);
    likeliest.disabled = draw.disabled = shown.ended;
    back.disabled = view.get("chosen").length === 0;
    const now = document.activeElement; // a button that goes out would drop the focus
    if (held && (now.disabled || !view.body.contains(now))) (back.disabled ? likeliest : back).focus();
    words.textContent =
      `${shown.possible} of ${shown.vocab_size} tokens can be drawn; ` +
      `the choice holds ${show(shown.entropy)} nats of surprise on average.`;
    const rows = shown.beams.map((beam, i) => [String(i + 1), beam.text, show(beam.log_prob)]);
    beams.replaceChildren(
      rows.length
        ? table(`Best continuations, up to ${shown.ahead} tokens`, ["rank", "text", "log-probability"], rows)
        : element(
            "p",
            {},
            "Width 1 is greedy: one path, no looking ahead. Make the beam wider to compare whole continuations.",
          ),
    );
  });
}

export default {render};
