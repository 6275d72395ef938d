// explore_deployment: assumptions as sliders, what follows from them as a table. Uses family.js and controls.js.

const compact = n => n.toLocaleString("en", {notation: "compact", maximumSignificantDigits: 3});

function render({model, el}) {
  const view = stage(model, el);
  range(view, "parameters", "Parameters", {text: compact});
  range(view, "requests_per_day", "Requests a day", {text: compact});
  range(view, "tokens_per_request", "Tokens a request", {text: compact});
  range(view, "days", "Days");
  range(view, "flops_per_second", "Operations a second", {text: compact});
  range(view, "watts_low", "Watts, low");
  range(view, "watts_high", "Watts, high");
  range(view, "overhead", "Overhead, times");
  const place = element("div"),
    note = element("p", {className: "tx-words"});
  view.body.append(place, note);
  view.tells = () => view.get("result").rows.map(row => row.join(": ")).join("; ");
  view.whenChanged(() => {
    const {rows, speed} = view.get("result");
    place.replaceChildren(table("What follows from these assumptions", ["quantity", "value"], rows));
    note.textContent = speed;
  }, "result");
}

export default {render};
