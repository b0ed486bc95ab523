// Opening a record: chosen, dropped or pasted. It is sent as it is, to the page's own server alone.
"use strict";

function say(text) {
  document.getElementById("read-file-error").textContent = text;
}

async function openRecord(content, name) {
  const most = Number(document.getElementById("read-open").dataset.most);
  if (content.size > most) {
    say(`This file is longer than any record: the page opens up to ${Math.floor(most / 2 ** 20)} megabytes.`);
    return;
  }
  const place = document.getElementById("read-record");
  say("");
  show("read");
  place.setAttribute("aria-busy", "true");
  try {
    const answer = await ask("/read/open", content, { "X-Discreet-Name": encodeURIComponent(name.slice(0, 300).toWellFormed()) });
    if (answer.status === 204) return;
    swapped(place, await answer.text(), answer.headers.get("HX-Reswap") ?? "innerHTML");
    if (!answer.ok || answer.headers.has("HX-Reswap")) return;
    visit("read");
    document.getElementById("read-opened")?.focus();
  } catch {
    say("The server did not answer: is discreet explore still running?");
  } finally {
    place.removeAttribute("aria-busy");
  }
}

document.addEventListener("change", (event) => {
  if (event.target.id !== "read-file" || !event.target.files.length) return;
  openRecord(event.target.files[0], event.target.files[0].name);
  event.target.value = "";
});

document.addEventListener("click", (event) => {
  if (event.target.id !== "read-paste") return;
  openRecord(new Blob([document.getElementById("read-pasted").value]), "");
});

// A file may be dropped anywhere: its ending, and the screen, say what it is. The browser would open it in place of the page.
for (const kind of ["dragenter", "dragover"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
}
document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) document.body.classList.remove("dropping");
});
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const file = event.dataTransfer.files[0];
  if (!file || !token) return;
  const isRecord = /\.(json|html?)$/i.test(file.name) || !document.getElementById("read").hidden;
  const kind = /\.toml$/i.test(file.name) ? "study" : isRecord ? "read" : "release";
  visit(kind);
  if (kind === "read") onceThere("read-open", () => openRecord(file, file.name));
  if (kind === "study") onceThere("study-text", () => openStudy(file));
  if (kind === "release") onceThere("release-pick", () => sendFile(document.getElementById("release-pick"), file));
});

// The slider and the field beside it are one level.
document.addEventListener("input", (event) => {
  const other = { "read-slider": "read-level", "read-level": "read-slider" }[event.target.id];
  if (other) document.getElementById(other).value = event.target.value;
});
