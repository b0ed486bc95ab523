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

// A study is another form of the screen to release.
function show(name) {
  const shown = name === "study" ? "release" : name;
  fetched(shown);
  document.getElementById("release").dataset.kind = name;
  for (const screen of document.querySelectorAll(".screen")) screen.hidden = screen.id !== shown;
  mark();
  markStep();
  scrollTo(0, 0);
}
function mark() {
  const { id, dataset } = document.querySelector(".screen:not([hidden])");
  for (const button of document.querySelectorAll(".top [data-screen], .kinds [data-screen]")) {
    if (button.dataset.screen === (button.closest(".top") ? id : dataset.kind)) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
}
document.addEventListener("htmx:afterSettle", mark);

// Every screen has an address, and so has a record that is open and a study: Back, Forward, a reload and a bookmark lead there.
const KEYED = {
  read: { key: "#read-record [name=record]", place: "read-record", route: "/read/record" },
  study: { key: "#study-form [name=key]", place: "study-fields", route: "/study" },
};
function openKey(name) { return document.querySelector(KEYED[name]?.key ?? "#none")?.value ?? ""; }
function address(name) { return openKey(name) ? `#${name}/${openKey(name)}` : `#${name}`; }
function swapped(place, found, swapStyle = "innerHTML") { htmx.swap(place, found, { swapStyle, swapDelay: 0, settleDelay: 0 }); }

function visit(name) {
  show(name);
  if ((location.hash || "#plan") !== address(name)) history.pushState(null, "", address(name));
}

let awaited = false; // something that has a key is shown as soon as its screen is there
async function arrive() {
  const [name, key = ""] = location.hash.slice(1).split("/");
  show(name in KEYED || document.getElementById(name)?.matches(".screen") ? name : "plan");
  const place = document.getElementById(KEYED[name]?.place);
  awaited = name in KEYED && !place;
  if (!place || key === openKey(name)) return;
  if (name === "study" && !key) history.replaceState(null, "", address(name));
  else if (name === "read") place.replaceChildren();
  const found = key && (await (await ask(KEYED[name].route, new URLSearchParams({ record: key, key }))).text());
  if (!found || location.hash !== `#${name}/${key}`) return;
  swapped(place, found);
  if (name === "study") htmx.trigger("#study-plan", "study-changed");
}
addEventListener("popstate", arrive);
document.addEventListener("htmx:afterSettle", () => { if (awaited) arrive(); });

// What needs a place of a screen that has not come yet is done as soon as it is there.
let early = null;
function onceThere(id, act) {
  early = document.getElementById(id) ? null : () => onceThere(id, act);
  if (!early) act();
}
document.addEventListener("htmx:afterSettle", () => early?.());

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
  save(await answer.blob(), button.dataset.name);
}

function save(content, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(content), download: name });
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
  if (button.dataset.save) save(new Blob([document.getElementById(button.dataset.save).value]), button.dataset.name);
});

addEventListener("DOMContentLoaded", async () => {
  if (!(await unlocked())) return;
  arrive();
  fetched("read"); // where a release can be opened
});
