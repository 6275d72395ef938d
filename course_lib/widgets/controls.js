// Native, labelled controls, each over one trait of the view. Uses family.js.

// The values a control may take: a list, or from min to max in steps.
function valuesOf(limit) {
  if (Array.isArray(limit)) return limit;
  const count = Math.round((limit.max - limit.min) / limit.step);
  return Array.from({length: count + 1}, (_, i) => +(limit.min + i * limit.step).toFixed(6));
}

// Call update now, and whenever the trait changes, whoever changed it.
function follow(stage, name, update) {
  stage.model.on("change:" + name, update);
  update();
}

function labelled(label, ...parts) {
  return element("div", {className: "tx-control"}, label, ...parts);
}

// A slider over the values of one trait. ticks: write every value below it; upTo: a smaller end that depends on another
// control; text: how a value is written.
function range(stage, name, text, {ticks = false, wide = false, text: inWords = String, upTo = null} = {}) {
  const values = valuesOf(stage.limits[name]),
    id = freshId();
  const input = element("input", {type: "range", id, min: 0, max: values.length - 1, step: 1});
  const shown = element("output", {htmlFor: id, ariaLive: "off"}), // the slider itself says its value
    label = element("label", {htmlFor: id}, text);
  const row = element("div", {}, label, shown);
  const control = labelled(row, input);
  if (wide) control.classList.add("wide");
  if (ticks)
    control.append(
      element(
        "div",
        {className: "tx-ticks", ariaHidden: "true"},
        ...values.map(v => element("span", {}, String(v))),
      ),
    );
  input.addEventListener("input", () => stage.set(name, values[+input.value]));
  const update = () => {
    if (upTo) input.max = values.findLastIndex(v => v <= upTo());
    const value = upTo ? Math.min(stage.get(name), upTo()) : stage.get(name);
    input.value = values.findIndex(v => Math.abs(v - value) < 1e-9);
    input.setAttribute("aria-valuetext", inWords(value));
    shown.textContent = inWords(value);
  };
  stage.model.on(upTo ? "change" : "change:" + name, update);
  update();
  stage.controls.append(control);
  return control;
}

// A drop-down list over the values of one trait; names: what to write for each value.
function choice(stage, name, text, names = stage.limits[name].map(String)) {
  const id = freshId(),
    values = stage.limits[name];
  const select = element("select", {id}, ...names.map((shown, i) => element("option", {value: i}, shown)));
  select.addEventListener("change", () => stage.set(name, values[+select.value]));
  const update = () => {
    select.value = values.indexOf(stage.get(name));
  };
  follow(stage, name, update);
  stage.controls.append(labelled(element("label", {htmlFor: id}, text), select));
  return select;
}

// Two buttons, one step back and one forward.
function stepper(stage, name, text) {
  const values = valuesOf(stage.limits[name]),
    shown = element("output", {ariaLive: "off"});
  const step = by => {
    const i = values.indexOf(stage.get(name)) + by;
    if (i >= 0 && i < values.length) {
      stage.set(name, values[i]);
      stage.say(`${text}: ${values[i]}`);
    }
  };
  const button = (sign, by, what) => {
    const made = element("button", {type: "button", ariaLabel: `${text}: ${what}`}, sign);
    made.addEventListener("click", () => step(by));
    return made;
  };
  const update = () => {
    shown.textContent = stage.get(name);
  };
  follow(stage, name, update);
  const group = element(
    "div",
    {className: "tx-stepper", role: "group", ariaLabel: text},
    button("−", -1, "one less"),
    shown,
    button("+", 1, "one more"),
  );
  stage.controls.append(labelled(element("span", {className: "tx-label"}, text), group));
}

// A check box over a true-or-false trait.
function toggle(stage, name, text) {
  const box = element("input", {type: "checkbox"});
  box.addEventListener("change", () => stage.set(name, box.checked));
  const update = () => {
    box.checked = stage.get(name);
  };
  follow(stage, name, update);
  stage.controls.append(
    element("div", {className: "tx-control"}, element("label", {className: "tx-toggle"}, box, text)),
  );
}

// A line of text; Python hears it on Enter, on leaving the field, and by the button.
function textBox(stage, name, text) {
  const id = freshId(),
    box = element("input", {type: "text", id, maxLength: stage.limits[name].length});
  const send = () => {
    if (box.value !== stage.get(name)) stage.set(name, box.value);
  };
  const button = element("button", {type: "button"}, "Show");
  button.addEventListener("click", send);
  box.addEventListener("change", send);
  const update = () => {
    box.value = stage.get(name);
  };
  follow(stage, name, update);
  const control = labelled(
    element("label", {htmlFor: id}, text),
    element("div", {className: "tx-text"}, box, button),
  );
  control.classList.add("all");
  stage.controls.append(control);
}
