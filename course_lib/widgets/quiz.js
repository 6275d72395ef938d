// Uses keys.js. The browser's side of quiz.py: quizzes, predictions and comparisons with native, labelled controls.
// Marking happens here, so feedback comes at once and also on a page without a kernel; Python keeps the answers.

const TRIES = 2;
const NO_KERNEL = "Not saved: no kernel answers. Run the cell again, then answer once more.";

// ---- small tools ----
/** A name for one group of radio buttons: no other group on the page may share it. */
const newName = () => `quiz-${Math.random().toString(36).slice(2)}`;
function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}
function html(tag, source, className = "") { return make(tag, {innerHTML: source, className}); }

/** "85,054,464", "0,5", "1e3" and, where no percentage is asked for, "60%" as numbers; null if it is none. */
export function parseNumber(text, unit) {
  const percent = /%\s*$/.test(text);
  let plain = text.replace(/%\s*$/, "").trim().replace(/[\s_]/g, "").replace(/−/g, "-");
  plain = /^-?\d{1,3}(,\d{3})+(\.\d*)?$/.test(plain) ? plain.replaceAll(",", "") : plain.replace(",", ".");
  if (plain === "" || !Number.isFinite(Number(plain))) return null;   // JSON has no infinity: it would arrive as nothing
  return percent && unit !== "%" ? Number(plain) / 100 : Number(plain);
}

/** Send traits to Python; `line` says whether they were kept. */
function saver(model, line) {
  let timer = null;
  model.on("change:saved_count", () => {
    clearTimeout(timer);
    line.textContent = model.get("saved") || "Kept on this computer.";
  });
  return (name, value) => {
    model.set(name, value);
    model.save_changes();
    clearTimeout(timer);
    timer = setTimeout(() => { line.textContent = NO_KERNEL; }, 4000);
  };
}

// ---- one kind of control each: {node, read() -> given or a complaint, show(given, locked)} ----
function complaint(text) { return {complaint: text}; }

function choice(item, type) {
  const name = newName();
  const rows = item.options.map(option => {
    const input = make("input", {type, name, value: option.letter});
    const label = make("label", {}, input, make("span", {className: "letter", textContent: option.letter}),
                       html("span", option.text));
    return {option, input, node: make("div", {className: "option"}, label)};
  });
  const chosen = () => rows.filter(row => row.input.checked).map(row => row.option.letter);
  return {
    node: make("div", {className: "options"}, ...rows.map(row => row.node)),
    read() {
      const letters = chosen();
      if (!letters.length) return complaint("Pick an answer first.");
      return type === "radio" ? letters[0] : letters;
    },
    show(given, locked) {
      const letters = [given ?? []].flat();
      for (const {option, input, node} of rows) {
        input.checked = letters.includes(option.letter);
        input.disabled = locked;
        node.querySelector(".why")?.remove();
        node.classList.toggle("correct", locked && option.correct === true);
        if (locked && option.why) {
          const mark = option.correct ? "✓ Right. " : type === "radio" ? "✗ Not right. " : "✗ Does not belong. ";
          node.append(make("p", {className: "why"}, mark, html("span", option.why)));
        }
      }
    },
  };
}

function number(item) {
  const input = make("input", {type: "text", inputMode: "decimal", autocomplete: "off"});
  const label = make("label", {className: "number"}, "Your number ", input, item.unit ? ` ${item.unit}` : "");
  return {
    node: label,
    read() {
      const value = parseNumber(input.value, item.unit);
      return value === null ? complaint("Write a number, such as 0.5 or 1,000.") : value;
    },
    show(given, locked) {
      if (given != null) input.value = given;
      input.disabled = locked;
    },
    enter: action => input.addEventListener("keydown", event => {
      if (event.key !== "Enter") return;
      event.preventDefault();   // else a button that gets the focus now would be pressed by the same key
      action();
    }),
  };
}

function order(item) {
  const list = make("ol", {className: "steps"});
  const live = make("p", {className: "unseen", role: "status"});
  const plain = i => html("span", item.steps[i].text).textContent;
  let current = [...item.start], locked = false;
  function move(place, by) {
    const target = place + by;
    if (target < 0 || target >= current.length) return;
    const step = current[place];
    [current[place], current[target]] = [current[target], current[place]];
    draw();
    const buttons = [...list.children[target].querySelectorAll("button")];
    (buttons.find(b => b.dataset.by === String(by) && !b.disabled) || buttons.find(b => !b.disabled)).focus();
    live.textContent = `Now step ${target + 1} of ${current.length}: ${plain(step)}`;
  }
  function arrow(place, by) {
    const button = make("button", {type: "button", textContent: by < 0 ? "↑" : "↓"});
    button.dataset.by = by;
    button.disabled = locked || place + by < 0 || place + by >= current.length;
    button.setAttribute("aria-label", `Move ${by < 0 ? "up" : "down"}: ${plain(current[place])}`);
    button.addEventListener("click", () => move(place, by));
    return button;
  }
  function draw() {
    list.replaceChildren(...current.map((step, place) => {
      const row = make("li", {}, arrow(place, -1), arrow(place, 1), html("span", item.steps[step].text));
      if (locked) row.append(html("p", item.steps[step].why, "why"));
      return row;
    }));
  }
  return {
    node: make("div", {}, list, live),
    read: () => [...current],
    show(given, lock) { current = [...(given ?? current)]; locked = lock; draw(); },
  };
}

// ---- marking: {right, say} ----
const same = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);

const judge = {
  one(item, given) {
    const option = item.options.find(o => o.letter === given);
    return {right: option.correct, say: option.why};
  },
  several(item, given) {
    const wrong = item.options.filter(o => given.includes(o.letter) && !o.correct);
    const missing = item.options.filter(o => !given.includes(o.letter) && o.correct).length;
    const say = wrong.length ? `${wrong[0].letter} does not belong here: ${wrong[0].why}`
      : missing ? `What you ticked is right, but ${missing === 1 ? "one is" : `${missing} are`} missing.` : "";
    return {right: !wrong.length && !missing, say};
  },
  number(item, given) {
    const right = Math.abs(given - item.answer) <= item.tolerance;
    const slip = (item.slips ?? []).find(s => Math.abs(given - s.value) <= item.tolerance);
    return {right, say: right ? item.why : slip ? slip.why : given > item.answer ? "Too large." : "Too small."};
  },
  order(item, given) {
    const place = given.findIndex((step, i) => step !== i);
    if (place < 0) return {right: true, say: ""};
    return {right: false, say: `Step ${place + 1} belongs elsewhere: ${item.steps[given[place]].why}`};
  },
};

function solution(item) {
  if (item.kind === "number") return `The answer is ${item.answer.toLocaleString("en")}${item.unit ? " " + item.unit : ""}. ${item.why}`;
  if (item.kind === "order") return `The right order: ${item.steps.map((s, i) => `${i + 1}. ${s.text}`).join("; ")}.`;
  const letters = item.options.filter(o => o.correct).map(o => o.letter);
  return `Right: ${letters.join(", ")}.`;
}

// ---- a question with a Check button and a second try ----
const controls = {
  one: item => choice(item, "radio"), several: item => choice(item, "checkbox"), number, order,
};

const titleOf = item => item.title ?? item.id[0].toUpperCase() + item.id.slice(1).replaceAll("_", " ");

function questionFrame(item) {
  return make("fieldset", {}, make("legend", {}, make("b", {textContent: `${titleOf(item)}.`}), " ", html("span", item.text)));
}

function verdict(state, result, item) {
  if (state.right) return `<b>Correct.</b> ${result.say}`;
  if (state.done) return `<b>Not right.</b> ${result.say} ${solution(item)}`;
  return `<b>Not yet.</b> ${result.say} You have a second try.`;
}

function question(item, state, save, next) {
  const control = controls[item.kind](item);
  const button = make("button", {type: "button", className: "check"});
  const status = make("p", {className: "say"});
  status.setAttribute("role", "status");
  const frame = questionFrame(item);
  frame.append(control.node, make("div", {className: "row"}, button), status);
  function render() {
    control.show(state.given, Boolean(state.done));
    button.textContent = !state.done ? "Check" : next ? "Next question" : "Answer again";
    if (state.attempts) status.innerHTML = verdict(state, judge[item.kind](item, state.given), item);
  }
  function check() {
    const given = control.read();
    if (given?.complaint) { status.textContent = given.complaint; return; }
    const right = judge[item.kind](item, given).right;
    const attempts = (state.attempts ?? 0) + 1;
    state = {...state, given, attempts, right, done: right || attempts >= TRIES};
    save(state);
    render();
  }
  function press() {
    if (!state.done) return check();
    if (next) return next();
    state = {};
    status.textContent = "";
    render();
  }
  button.addEventListener("click", press);
  control.enter?.(() => {
    press();
    if (state.done) button.focus();   // the field is locked now, and would drop the focus
  });
  render();
  return frame;
}

// ---- short text: written, then compared with samples and marked by the learner ----
function shortText(item, state, save) {
  const area = make("textarea", {rows: 4, value: state.given ?? ""});
  area.setAttribute("aria-label", `Your answer to: ${titleOf(item)}`);
  const button = make("button", {type: "button", className: "check"});
  const status = make("p", {className: "say"});
  status.setAttribute("role", "status");
  const after = make("div", {className: "after"});
  const frame = questionFrame(item);
  frame.append(area, make("div", {className: "row"}, button), status, after);
  const keep = change => { state = {...state, ...change}; save(state); render(); };
  function points() {
    return item.rubric.map((point, i) => {
      const input = make("input", {type: "checkbox", checked: state.ticked.includes(i)});
      input.addEventListener("change", () => {
        const ticked = state.ticked.filter(j => j !== i).concat(input.checked ? [i] : []).sort((a, b) => a - b);
        state = {...state, ticked, right: ticked.length >= item.need};
        save(state);
        summary();
      });
      return make("label", {}, input, html("span", point));
    });
  }
  function summary() {
    const n = state.ticked.length;
    status.textContent = `${n} of ${item.rubric.length} points ticked; ${item.need} or more make a good answer.`;
  }
  function render() {
    area.disabled = Boolean(state.done);
    button.textContent = state.done ? "Change my answer" : "Keep my answer and compare";
    after.replaceChildren();
    if (!state.done) return;
    after.append(make("p", {textContent: "Which of these does your answer say? Mark yourself."}), ...points(),
                 make("p", {textContent: "Sample answers:"}),
                 make("ul", {}, ...item.samples.map(s => make("li", {}, html("q", s.text), " ", html("span", s.why)))));
    summary();
  }
  button.addEventListener("click", () => {
    if (state.done) { state = {...state, done: false}; status.textContent = ""; render(); area.focus(); return; }
    if (!area.value.trim()) { status.textContent = "Write a sentence first."; return; }
    keep({given: area.value, ticked: state.ticked ?? [], attempts: (state.attempts ?? 0) + 1, done: true,
          right: (state.ticked ?? []).length >= item.need});
  });
  render();
  return frame;
}

// ---- drill: the next question from those that lie ready ----
function drill(item, model, save) {
  const box = make("div", {className: "drill"});
  const tally = make("p", {className: "tally"});
  let index = 0, right = 0, asked = 0;
  function show(focus) {
    const ready = model.get("draws")[item.id];
    const drawn = {...ready[index % ready.length], id: item.id};
    const frame = question(drawn, {}, state => {
      if (state.attempts === 1) { asked += 1; right += state.right ? 1 : 0; }
      tally.textContent = `${right} of ${asked} right at the first try. There is no end to these.`;
      save({...state, index: index % ready.length});
    }, () => { index += 1; show(true); });
    box.replaceChildren(frame, tally);
    if (focus) frame.querySelector("input").focus();
  }
  show(false);
  return box;
}

// ---- the three views ----
function askView(model, el) {
  const line = make("p", {className: "kept"});
  line.setAttribute("role", "status");
  const score = make("p", {className: "score"});
  const save = saver(model, line);
  const items = model.get("items"), counted = items.filter(item => item.kind !== "drill");
  function tell() {
    const states = counted.map(item => model.get("answers")[item.id] ?? {});
    const right = states.filter(s => s.right), left = states.filter(s => !s.done).length;
    score.textContent = `${right.length} of ${counted.length} right, ${right.filter(s => s.attempts === 1).length} at the first try`
      + (left ? `; ${left} open.` : ".");
  }
  for (const item of items) {
    const keep = state => { save("answers", {...model.get("answers"), [item.id]: state}); tell(); };
    const state = model.get("answers")[item.id] ?? {};
    el.append(item.kind === "drill" ? drill(item, model, keep)
      : item.kind === "text" ? shortText(item, state, keep) : question(item, state, keep));
  }
  if (counted.length) { el.append(score); tell(); }
  el.append(line);
}

function predictView(model, el) {
  const item = model.get("item");
  const control = controls[item.kind](item);
  const commit = make("button", {type: "button", className: "check", textContent: "Commit"});
  const skip = make("button", {type: "button", textContent: "Skip"});
  const status = make("p", {className: "say"}), line = make("p", {className: "kept"});
  for (const node of [status, line]) node.setAttribute("role", "status");
  const frame = make("fieldset", {className: "predict"},
                     make("legend", {}, make("b", {textContent: "Predict first."}), " ", html("span", item.text)));
  const save = saver(model, line);
  function render() {
    const made = model.get("committed"), done = "given" in made || Boolean(made.skipped);
    control.show(made.given, done);
    commit.textContent = done ? "Predict again" : "Commit";
    skip.hidden = done;
    status.textContent = !done ? "" : made.skipped ? "Skipped. Run the next cell." : "You are committed. Run the next cell.";
  }
  commit.addEventListener("click", () => {
    const made = model.get("committed");
    if ("given" in made || made.skipped) { model.set("committed", {}); model.save_changes(); render(); return; }
    const given = control.read();
    if (given?.complaint) { status.textContent = given.complaint; return; }
    save("committed", {given});
    render();
  });
  skip.addEventListener("click", () => { save("committed", {skipped: true}); render(); commit.focus(); });
  control.enter?.(() => {
    commit.click();
    if ("given" in model.get("committed")) commit.focus();   // as above
  });
  frame.append(control.node, make("div", {className: "row"}, commit, skip), status, line);
  el.append(frame);
  render();
}

function compareView(model, el) {
  const box = make("div", {className: "compare"});
  function render() {
    const t = model.get("texts");
    const cell = (head, text) => make("div", {}, make("span", {className: "head", textContent: head}), html("span", text, "value"));
    box.replaceChildren(html("p", t.question, "asked"),
                        make("div", {className: "pair"}, cell("You said", t.said), cell("Measured", t.measured)),
                        html("p", `<b>${t.sentence}</b> ${t.because}`, "say"));
  }
  model.on("change:texts", render);
  el.append(box);
  render();
}

function render({model, el}) {
  el.classList.add("course-quiz");
  el.addEventListener("keydown", keepKeys);
  ({ask: askView, predict: predictView, compare: compareView})[model.get("view")](model, el);
}
export default {render};
