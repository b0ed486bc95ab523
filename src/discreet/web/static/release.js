// Sending a file to the page's own server, and where to look once something was released.
"use strict";

async function sendFile(picker, file = picker.files[0]) {
  const place = document.getElementById(picker.dataset.upload);
  if (!file) {
    place.replaceChildren();
    return;
  }
  place.setAttribute("aria-busy", "true");
  try {
    const answer = await ask("/release/upload", file, { "X-Discreet-Name": encodeURIComponent(file.name.slice(-300).toWellFormed()) });
    swapped(place, await answer.text());
    keep(picker.form);
  } catch {
    place.textContent = "The file was not taken: it may be longer than the page takes. Give its path instead.";
  } finally {
    place.removeAttribute("aria-busy");
  }
}

// The file of a study is text, which stands in the form.
async function openStudy(file) {
  const field = document.getElementById("study-text");
  field.value = await file.text();
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

document.addEventListener("change", (event) => {
  if (event.target.dataset.upload) sendFile(event.target);
  if (event.target.id === "study-pick" && event.target.files.length) openStudy(event.target.files[0]);
});

// Whoever looked is led to what there is to see: the answer, or the first field that is wrong.
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.target?.id !== "release-look") return;
  const wrong = document.querySelector("#release .plan-inputs form [aria-invalid=true]");
  const found = document.getElementById("release-looked") ?? wrong;
  found?.focus({ preventScroll: true });
  found?.scrollIntoView({ block: found === wrong ? "center" : "start" });
});

// A column that is chosen from the list is that of the answers.
document.addEventListener("click", (event) => {
  const chosen = event.target.closest("[data-column]");
  if (!chosen) return;
  const field = document.getElementById("release-column");
  field.value = chosen.dataset.column;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.focus();
});

// Whoever waits for records to be counted sees for how long, and may stop waiting: by looking nothing is charged.
document.addEventListener("htmx:beforeRequest", (event) => {
  const { elt, target, requestConfig } = event.detail;
  if (target.id !== "release-look") return;
  target.dataset.kind = document.getElementById("release").dataset.kind; // it is shown beside the form that it answers
  if (!/(look|check)$/.test(requestConfig.path)) return;
  const said = document.createElement("p");
  const stop = Object.assign(document.createElement("button"), { type: "button", textContent: "Stop waiting" });
  stop.addEventListener("click", () => htmx.trigger(elt, "htmx:abort"));
  said.className = "computing";
  said.setAttribute("role", "status");
  target.replaceChildren(said, stop);
  const began = Date.now();
  let what = "the records";
  const tell = () => { said.textContent = `Counting ${what}… ${Math.round((Date.now() - began) / 1000)} s`; };
  tell();
  ask("/release/rows", new URLSearchParams(requestConfig.formData)).then((answer) => answer.text()).then((rows) => { what = rows || what; }, () => null);
  const ticking = setInterval(tell, 1000);
  elt.addEventListener("htmx:afterRequest", (done) => {
    clearInterval(ticking);
    if (done.detail.xhr.status === 0) target.replaceChildren();
  }, { once: true });
});

// Where in the job someone stands: the last of its steps that what is shown belongs to.
const STEPS = [["#release-done", 7], ["#release-looked .confirm", 6], ["#release-looked", 3], ["[data-kind=study] #study-plan > *", 4], ["#release-columns > *", 2], [".job", 0]];
function markStep() {
  const found = STEPS.find(([place]) => document.querySelector(place)?.checkVisibility());
  document.querySelectorAll(".job li").forEach((step, number) => {
    if (number === found?.[1]) step.setAttribute("aria-current", "step");
    else step.removeAttribute("aria-current");
  });
}
document.addEventListener("htmx:afterSettle", markStep);

const CONFIRM = "#release-looked .confirm[hx-post='/release/draw']";

// What was looked at is what will be released: once something else is typed, it has to be looked at again, unless it is being charged.
function outdate() {
  const confirm = document.querySelector(`${CONFIRM}:not(.htmx-request, .checking)`);
  if (!confirm) return;
  const told = document.createElement("p");
  told.className = "warn";
  told.textContent = "The form was changed since you looked. Nothing was charged; look again to release what it says now.";
  confirm.replaceChildren(told);
}

document.addEventListener("input", (event) => {
  if (event.target.closest("#release-form, #study-form")) outdate();
});

// While it is charged and drawn, nothing says any more that it was not.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (!event.detail.elt.matches(CONFIRM)) return;
  document.querySelector("#release-looked > .made-up").textContent = "It is charged, and then drawn. You may wait, or close the page: it is done once.";
});

// What was chosen on another screen, a plan or a budget, fills in the form as soon as that is there.
let chosen = {};

// The plan as it stands in its form. A number of categories has no labels to take along; those of the first example are nobody's.
function planned() {
  const { epsilon, public: known, mechanism, categories, prior, groups } = document.getElementById("plan-form").elements;
  const labels = categories.value !== categories.defaultValue && !/^\s*\d*\s*$/.test(categories.value);
  return {
    epsilon: epsilon.value,
    public: known.value === "sizes" ? "total" : known.value, // sizes are published by the command line alone
    mechanism: mechanism.value,
    ...(groups.value.includes("=") && { by: groups.value }), // a number of groups has no names to take along
    ...(labels && { categories: categories.value, prior: prior.value.split(":")[0] }),
  };
}

function fillIn() {
  const form = document.getElementById("release-form");
  if (!form) return;
  for (const [name, value] of Object.entries(chosen)) {
    form.elements[name].value = value;
    if (name === "by") form.elements.by.closest("details").open = true;
  }
  keep(form);
  if (Object.keys(chosen).length) outdate();
  chosen = {};
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-release]");
  if (!button) return;
  chosen = button.dataset.release === "plan" ? planned() : JSON.parse(button.dataset.release);
  visit("release");
  fillIn();
});
document.addEventListener("htmx:afterSettle", fillIn);

document.addEventListener("htmx:afterSettle", (event) => {
  const { target, requestConfig } = event.detail;
  if (target?.id === "read-record") visit("read");
  if (target?.id !== "study-fields" || !requestConfig) return; // a table was added
  visit("study");
  outdate();
  htmx.trigger("#study-plan", "study-changed");
});
