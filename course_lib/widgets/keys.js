// JupyterLab takes single keys for its own commands ("x" cuts the cell). Inside a view they belong to the view.
// Two lead out: Escape goes back to the cell, and Shift+Enter runs it and goes on, but for in a text field.
function keepKeys(event) {
  if (event.key === "Escape") event.target.closest(".jp-Cell")?.focus();
  const chord = event.ctrlKey || event.metaKey || event.altKey;
  const runs = event.key === "Enter" && event.shiftKey && !event.target.matches("textarea, input[type=text]");
  if (!chord && !runs && event.key !== "Tab" && event.key !== "Escape") event.stopPropagation();
}
