// The page's secret, which is in memory alone, and the check before every request that the server still is the one that gave it.
"use strict";

const KEPT = "discreet-code";
const RENEWED = 10_000; // milliseconds, after which the code for a reload is renewed
const PATIENCE = 120_000; // milliseconds, for which a server may think about a challenge
let tab = crypto.randomUUID(); // no secret: what was typed is kept under it, in the memory of the server
let token = "";
let proof = null; // the token, as what answers to challenges are checked with
let code = ""; // what a reload is opened with
let before = ""; // the code before it, which the next one replaces: a page that is left while it asks for that one still has its code

function headers() {
  return { "X-Discreet-Token": token, "X-Discreet-Tab": tab };
}

// Nothing can be sent any more, and nothing on the page looks as if it could.
function lock(told) {
  token = code = before = "";
  proof = null;
  for (const part of document.querySelectorAll("main, .top nav")) part.inert = true;
  for (const confirm of document.querySelectorAll(".confirm")) confirm.remove();
  const place = document.getElementById("locked");
  if (told) place.textContent = told;
  place.hidden = false;
  place.scrollIntoView();
}

// The address or, after a reload, the tab's storage holds a code that is worth the token once. Both are on the disk: they are emptied.
async function unlocked() {
  const isCode = /^#[\w-]{43}$/.test(location.hash);
  const [given, same] = isCode ? [location.hash.slice(1)] : (sessionStorage.getItem(KEPT) ?? "").split(" ");
  tab = same ?? tab;
  sessionStorage.removeItem(KEPT);
  history.replaceState(null, "", location.pathname + (isCode ? "" : location.hash)); // the address of a screen stays
  const answer = given && (await fetch("/access/redeem", { method: "POST", body: given }).catch(() => null));
  if (!answer?.ok) {
    lock();
    return false;
  }
  token = await answer.text();
  proof = await crypto.subtle.importKey("raw", new TextEncoder().encode(token), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  await renew(); // from here on the page can be reloaded
  if (!token) return false;
  document.querySelector(".top nav").inert = false;
  setInterval(renew, RENEWED);
  return true;
}

// Whether whoever listens at the page's address has the token, which is not sent for this.
async function isGenuine() {
  const challenge = crypto.randomUUID() + crypto.randomUUID();
  const answer = await fetch("/access/proof", { method: "POST", body: challenge, signal: AbortSignal.timeout(PATIENCE) });
  const given = Uint8Array.from((await answer.text()).match(/../g) ?? [], (byte) => parseInt(byte, 16));
  return crypto.subtle.verify("HMAC", proof, given, new TextEncoder().encode(`${location.host} ${challenge}`));
}

// Every request has a challenge of its own: an answer to an earlier one says nothing about who listens now.
async function isChecked() {
  if (!token) return false;
  if (await isGenuine().catch(() => false)) return token !== "";
  lock("This page is locked, and nothing more is sent from it: discreet explore has ended, or another program answers at its address. Start discreet explore again; what was released is listed there.");
  return false;
}

// Send something to the page's own server, once it is known to be that.
async function ask(path, body, more = {}) {
  if (!(await isChecked())) throw new Error("the page is locked");
  try {
    return await fetch(path, { method: "POST", headers: { ...headers(), ...more }, body });
  } catch (error) {
    await isChecked();
    throw error;
  }
}

document.addEventListener("htmx:confirm", async (event) => {
  event.preventDefault();
  const { elt, question, issueRequest } = event.detail;
  if (question && !confirm(question)) return;
  elt.classList.add("checking");
  if (await isChecked()) issueRequest(true);
  elt.classList.remove("checking");
});
document.addEventListener("htmx:sendError", isChecked);
document.addEventListener("htmx:configRequest", (event) => Object.assign(event.detail.headers, headers()));

// The code for a reload ends soon after the page was left: it is renewed while the page is open, and stored only when it is left.
async function renew() {
  if (!token) return;
  const answer = await ask("/access/code", before).catch(() => null);
  if (!answer?.ok) return;
  const next = await answer.text();
  [before, code] = [code, next];
}

document.addEventListener("visibilitychange", () => { if (!document.hidden) renew(); });
addEventListener("pagehide", () => { if (code) sessionStorage.setItem(KEPT, `${code} ${tab}`); });
addEventListener("pageshow", () => { if (token) sessionStorage.removeItem(KEPT); });
