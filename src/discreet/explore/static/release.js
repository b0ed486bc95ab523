// Sending a file to the page's own server, and where to look once something was released.
"use strict";

async function sendFile(picker) {
  const place = document.getElementById(picker.dataset.upload);
  const file = picker.files[0];
  if (!file) {
    place.replaceChildren();
    return;
  }
  place.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch("/release/upload", {
      method: "POST",
      headers: { ...headers(), "X-Discreet-Name": encodeURIComponent(file.name.slice(-300).toWellFormed()) },
      body: file,
    });
    htmx.swap(place, await answer.text(), { swapStyle: "innerHTML", swapDelay: 0, settleDelay: 0 });
  } catch {
    place.textContent = "The file was not taken: it may be longer than the page takes. Give its path instead.";
  } finally {
    place.removeAttribute("aria-busy");
  }
}

document.addEventListener("change", (event) => {
  if (event.target.dataset.upload) sendFile(event.target);
});

// Whoever looked is led to what there is to see: the answer, or the first field that is wrong.
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.target?.id !== "release-look") return;
  const wrong = document.querySelector("#release-form [aria-invalid=true]");
  (document.getElementById("release-looked") ?? wrong)?.focus();
});

// What was chosen on another screen, a plan or a budget, fills in the form as soon as that is there.
let chosen = {};

function fillIn() {
  const form = document.getElementById("release-form");
  if (!form) return;
  for (const [name, value] of Object.entries(chosen)) form.elements[name].value = value;
  chosen = {};
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-release]");
  if (!button) return;
  chosen = JSON.parse(button.dataset.release);
  const planned = document.getElementById("plan-categories");
  if (planned.value === planned.defaultValue) { // the labels of the example, which nobody typed
    delete chosen.categories;
    delete chosen.prior;
  }
  show("release");
  fillIn();
});
document.addEventListener("htmx:afterSettle", fillIn);

document.addEventListener("release-read", () => show("read"));
