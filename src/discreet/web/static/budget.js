// The screen for budgets: which dataset is chosen, where the focus goes, and reading a ledger again when its screen is shown.
"use strict";

document.addEventListener("click", (event) => {
  const chosen = event.target.closest(".budget-list button");
  if (chosen) {
    for (const other of document.querySelectorAll(".budget-list [aria-current]")) other.removeAttribute("aria-current");
    chosen.setAttribute("aria-current", "true");
  }
  // Releases of other screens and programs may have been charged meanwhile. What someone is typing stays.
  const shown = event.target.closest("[data-screen=budget]");
  if (shown && document.querySelector("#budget-one") && !document.querySelector("details.budget-new[open]")) {
    htmx.trigger("#budget-form", "refresh");
  }
});

// The form that created a dataset is gone: its news are what to read next.
document.addEventListener("htmx:afterSwap", (event) => {
  const target = event.detail.target;
  if (target?.id === "budget-answer") document.querySelector(".budget-news")?.focus();
  // On a narrow page the chosen dataset stands below the list.
  if (target?.id === "budget-one" && target.getBoundingClientRect().top > innerHeight / 2) target.scrollIntoView();
});
