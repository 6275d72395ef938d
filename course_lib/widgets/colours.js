// Numbers as colours of the course's one map. Joined with other files by view.py.

// Write values (n_rows × n_cols, lowest lo, highest hi) as colours into a canvas of one pixel a cell.
function paint(canvas, colours, {values, n_rows, n_cols, lo, hi}) {
  if (canvas.width !== n_cols || canvas.height !== n_rows) {
    canvas.width = n_cols;
    canvas.height = n_rows;
  }
  const context = canvas.getContext("2d", {willReadFrequently: true});
  const image = context.createImageData(n_cols, n_rows);
  for (let i = 0; i < n_rows * n_cols; i++) {
    const c = 3 * shade(values[i], lo, hi);
    image.data[4 * i] = colours[c];
    image.data[4 * i + 1] = colours[c + 1];
    image.data[4 * i + 2] = colours[c + 2];
    image.data[4 * i + 3] = Number.isNaN(values[i]) ? 0 : 255; // NaN: nothing there, the page shows through
  }
  context.putImageData(image, 0, 0);
}

// The colour map of the course: 256 × (red, green, blue).
function colourBytes(stage) {
  const sent = stage.get("colours");
  return new Uint8Array(sent.buffer.slice(sent.byteOffset, sent.byteOffset + sent.byteLength));
}

const shade = (value, lo, hi) =>
  Math.min(255, Math.max(0, Math.round((255 * (value - lo)) / (hi - lo)))) || 0;

// Black or white, whichever reads better on this colour (WCAG relative luminance).
function inkOn(colours, index) {
  const linear = v => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const [r, g, b] = [0, 1, 2].map(k => linear(colours[3 * index + k]));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000" : "#fff";
}
