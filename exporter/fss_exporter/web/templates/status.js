"use strict";
// Loads the page again every 15 seconds while the box is ticked, and says so when no answer has come for 40 seconds.
// Without this script the link "reload" does the same.
const box = document.getElementById("refresh");
const away = document.getElementById("away");
let asked = Date.now(), answered = asked;
box.parentElement.hidden = false;

async function load() {
  try {
    const answer = await fetch(location.href, { signal: AbortSignal.timeout(10000) });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.title = fresh.title;
    for (const shown of document.querySelectorAll("details[open]")) {
      const same = fresh.getElementById(shown.id);
      if (same) same.open = true;
    }
    for (const id of ["collected", "content"])
      document.getElementById(id).replaceWith(document.adoptNode(fresh.getElementById(id)));
    answered = Date.now();
  } catch { /* `away` says so */ }
}

setInterval(() => {
  if (!box.checked || document.hidden) {
    asked = answered = Date.now();
    return;
  }
  if (Date.now() - asked >= 15000) {
    asked = Date.now();
    load();
  }
  away.hidden = Date.now() - answered < 40000;
}, 1000);
