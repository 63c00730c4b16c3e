"use strict";
// Loads the page again every 15 seconds while the box is ticked. Without this script the link "reload" does the same.
const box = document.getElementById("refresh");
box.parentElement.hidden = false;
setInterval(async () => {
  if (!box.checked || document.hidden) return;
  try {
    const answer = await fetch(location.href);
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.title = fresh.title;
    for (const id of ["collected", "content"])
      document.getElementById(id).replaceWith(document.adoptNode(fresh.getElementById(id)));
  } catch { /* the exporter is away: the time on the page says how old it is */ }
}, 15000);
