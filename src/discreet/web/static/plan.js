// The slider of the screen for plans, which moves on a logarithmic scale, and the ε that a goal asked for.
"use strict";

function epsilonField() { return document.getElementById("plan-epsilon"); }
function slider() { return document.getElementById("plan-slider"); }

function value(text) {
  const [above, below = "1"] = text.trim().replace(",", ".").split("/");
  return Number(above) / Number(below);
}

// The slider follows what is typed; a number that it cannot show leaves it where it is.
function follow() {
  if (!epsilonField()) return;
  const level = value(epsilonField().value);
  if (level > 0 && Number.isFinite(level)) slider().value = Math.log10(level);
  slider().setAttribute("aria-valuetext", `ε = ${epsilonField().value}`);
}

// Someone who types is waited for, and someone who moves the slider is not: the form hears of it in another event.
document.addEventListener("input", (event) => {
  if (event.isTrusted && event.target.closest("#plan-form")) document.getElementById("plan-goal-answer").replaceChildren();
  if (event.target.id === "plan-epsilon") follow();
  if (event.target.id !== "plan-slider") return;
  event.stopPropagation();
  epsilonField().value = String(Number((10 ** Number(slider().value)).toPrecision(2)));
  slider().setAttribute("aria-valuetext", `ε = ${epsilonField().value}`);
  htmx.trigger("#plan-form", "moved");
}, true);

// A goal's answer is not wanted any more once another ε was chosen.
let epsilonAsked = "";
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.detail.target.id === "plan-goal-answer") epsilonAsked = epsilonField().value;
});
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target.id === "plan-goal-answer" && epsilonField().value !== epsilonAsked) event.detail.shouldSwap = false;
});

// What a script of the page puts into it has no target of a request.
document.addEventListener("htmx:afterSwap", (event) => {
  const target = event.detail.target;
  if (target?.id === "plan") follow();
  const found = target?.id === "plan-goal-answer" && target.querySelector("[data-epsilon]");
  if (!found) return;
  epsilonField().value = found.dataset.epsilon;
  follow();
  epsilonField().dispatchEvent(new Event("input", { bubbles: true }));
});

// What is slower is out of date as soon as there is a new answer, and says so until its own comes; what is folded away is not computed.
function isComparing() { return document.getElementById("plan-research").open; }
function compare() {
  document.getElementById("plan-compared").setAttribute("aria-busy", "true");
  htmx.trigger("#plan-compared", "wanted");
}
document.addEventListener("plan-answered", () => {
  document.getElementById("plan-curves").setAttribute("aria-busy", "true");
  if (isComparing()) compare();
});
document.addEventListener("toggle", (event) => { if (event.target.id === "plan-research" && isComparing()) compare(); }, true);

// A message must not be hidden: what is folded away opens where something in it is wrong.
document.addEventListener("htmx:oobAfterSwap", (event) => {
  const folded = event.target.matches(".error:not(:empty)") && event.target.closest("details");
  if (folded) folded.open = true;
});
