// What is wider than the page scrolls by itself, and a keyboard must be able to reach it; what fits needs no stop there.
(() => {
  const WIDE = "pre, table, math, .jp-OutputArea-child";
  function mark() {
    for (const box of document.querySelectorAll(WIDE)) {
      if (box.closest(".view")) continue; // views see to themselves
      const wide = box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX === "auto";
      if (wide) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  }
  addEventListener("load", mark);
  addEventListener("resize", mark);
})();
