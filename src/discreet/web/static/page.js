// The page's own script: the screens, fields that are wrong, copying and downloads. access.js is before it.
"use strict";

document.addEventListener("htmx:beforeRequest", (event) => event.detail.target.setAttribute("aria-busy", "true"));
document.addEventListener("htmx:afterRequest", (event) => event.detail.target.removeAttribute("aria-busy"));

// A field whose message is not empty is wrong. The event comes to the new message; its detail tells of the one before.
document.addEventListener("htmx:oobAfterSwap", (event) => {
  const message = event.target;
  for (const input of document.querySelectorAll(`[aria-describedby~="${message.id}"]`)) {
    input.setAttribute("aria-invalid", message.textContent ? "true" : "false");
  }
});

// A screen is fetched when it is first shown, or needed.
function fetched(name) {
  const screen = document.getElementById(name);
  if (screen.dataset.fetched) return;
  screen.dataset.fetched = "yes";
  htmx.trigger(screen, "opened");
}

function show(name) {
  fetched(name);
  for (const screen of document.querySelectorAll(".screen")) screen.hidden = screen.id !== name;
  for (const button of document.querySelectorAll("[data-screen]")) {
    if (button.dataset.screen === name) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
  scrollTo(0, 0);
}

// Every screen has an address, and a record that is open has one: Back, Forward and a reload lead there.
function openKey() { return document.querySelector("#read-record [name=record]")?.value ?? ""; }

function visit(name) {
  show(name);
  const address = name === "read" && openKey() ? `#read/${openKey()}` : `#${name}`;
  if ((location.hash || "#plan") !== address) history.pushState(null, "", address);
}

let awaited = ""; // the key of a record that is opened as soon as its screen is there
async function arrive() {
  const [name, key = ""] = location.hash.slice(1).split("/");
  show(document.getElementById(name)?.matches(".screen") ? name : "plan");
  awaited = name === "read" && key !== openKey() ? key : "";
  const place = document.getElementById("read-record");
  if (name !== "read" || key === openKey() || !place) return;
  awaited = "";
  place.replaceChildren();
  const found = key && (await (await ask("/read/record", new URLSearchParams({ record: key }))).text());
  if (found && location.hash === `#read/${key}`) htmx.swap(place, found, { swapStyle: "innerHTML", swapDelay: 0, settleDelay: 0 });
}
addEventListener("popstate", arrive);
document.addEventListener("htmx:afterSettle", (event) => { if (awaited && event.detail.target?.id === "read") arrive(); });

// What was typed is kept in the memory of the server, for a reload of this tab: a browser would write it to the disk.
const keeping = {};
function keep(form) {
  const name = form?.getAttribute("data-kept"); // a field may be called dataset
  if (!name) return;
  clearTimeout(keeping[name]);
  keeping[name] = setTimeout(() => ask(`/typed/${name}`, new URLSearchParams(new FormData(form))).catch(() => null), 200);
}
for (const kind of ["input", "change"]) document.addEventListener(kind, (event) => keep(event.target.form), true);

async function copy(button) {
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  const said = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = said; }, 1500);
}

// A link cannot carry the token, so a download is fetched and then saved.
async function download(button) {
  const sent = button.dataset.form.split(" ").flatMap((id) => [...new FormData(document.getElementById(id))]);
  const answer = await ask(button.dataset.download, new URLSearchParams(sent));
  const wrong = answer.ok ? "" : await answer.text();
  if (button.nextElementSibling?.matches("p.error, p.warn")) button.nextElementSibling.remove();
  if (wrong) button.insertAdjacentHTML("afterend", wrong);
  if (!answer.ok) return;
  if (answer.status === 204) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = button.dataset.name;
  link.click();
  URL.revokeObjectURL(link.href);
}

document.addEventListener("click", (event) => {
  if (event.target.closest(".skip")) {
    event.preventDefault();
    document.querySelector(".screen:not([hidden])").focus();
  }
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.screen) visit(button.dataset.screen);
  if (button.dataset.copy) copy(button);
  if (button.dataset.download) download(button);
});

addEventListener("DOMContentLoaded", async () => {
  if (!(await unlocked())) return;
  arrive();
  fetched("read"); // where a release can be opened
});
