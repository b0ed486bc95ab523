// What is wider than its place scrolls by itself. The keyboard must reach it, and nothing else.
addEventListener("DOMContentLoaded", () => {
  const watcher = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  for (const box of document.querySelectorAll("article :is(pre, .table-wrapper, .formula)")) watcher.observe(box);
});
