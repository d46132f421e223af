// Updates the runs on a page by server-sent events, and refreshes the live parts of the page when a run has ended.
// A hidden page holds no connection open, and a visible one only a few, since browsers allow six.
"use strict";

const MOST = 3;
const OVER = ["done", "failed", "cancelled", "interrupted"];
const streams = new Map();
let isRefreshing = false;

function unfinished() {
  const places = [...document.querySelectorAll("[data-run]")];
  return places.filter((place) => !OVER.some((state) => place.querySelector(".state." + state)));
}

function watch() {
  if (document.hidden) return;
  for (const place of unfinished()) {
    const run = place.dataset.run;
    if (streams.size >= MOST) return;
    if (streams.has(run)) continue;
    const stream = new EventSource(`/api/v1/runs/${run}/events`);
    stream.addEventListener("message", (event) => show(JSON.parse(event.data)));
    streams.set(run, stream);
  }
}

function unwatch(run) {
  streams.get(run)?.close();
  streams.delete(run);
}

function show(run) {
  if (OVER.includes(run.state)) {
    unwatch(run.id);
    announce(`${run.name}: ${run.state}`);
    refresh();
    return;
  }
  for (const place of document.querySelectorAll(`[data-run="${run.id}"]`)) {
    const state = place.querySelector("[data-state]");
    state.textContent = run.state;
    state.className = `state ${run.state}`;
    const share = run.total ? `, ${Math.floor((100 * run.done) / run.total)} %` : "";
    const stage = run.state === "queued" ? "waits for its turn" : `${run.stage}${share}`;
    place.querySelector("[data-stage]").textContent = stage;
    const bar = place.querySelector("progress");
    if (bar && run.total) {
      bar.max = run.total;
      bar.value = run.done;
    } else if (bar) {
      bar.removeAttribute("value");
    }
  }
}

function announce(words) {
  statusLine.textContent = words;
}

// Replaces the live parts of the page by their current content on the server; forms stay as they are.
async function refresh() {
  if (isRefreshing) return;
  isRefreshing = true;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const old of document.querySelectorAll("[data-live]")) {
      const fresh = page.getElementById(old.id);
      if (!fresh) continue;
      const hadFocus = old.contains(document.activeElement);
      old.replaceWith(document.adoptNode(fresh));
      if (hadFocus) fresh.focus({ preventScroll: true });
    }
  } finally {
    isRefreshing = false;
  }
  watch();
}

const statusLine = document.createElement("p"); // read out by screen readers
statusLine.className = "hidden";
statusLine.setAttribute("role", "status");
document.body.append(statusLine);

document.addEventListener("visibilitychange", () => {
  if (document.hidden) [...streams.keys()].forEach(unwatch);
  else if (unfinished().length) refresh();
});
window.addEventListener("pagehide", () => [...streams.keys()].forEach(unwatch));
watch();
