// Keeps the runs on a page up to date by server-sent events, and shows the page anew where one has ended.
// A page that cannot be seen holds no connection open, and one that can only a few: browsers allow six.
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

function leave(run) {
  streams.get(run)?.close();
  streams.delete(run);
}

function show(run) {
  if (OVER.includes(run.state)) {
    leave(run.id);
    say(`${run.name}: ${run.state}`);
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

function say(words) {
  document.getElementById("said").textContent = words;
}

// Puts what the server shows now in the place of what changes, and leaves forms alone.
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

const said = document.createElement("p");
said.id = "said";
said.className = "hidden";
said.setAttribute("role", "status");
document.body.append(said);

document.addEventListener("visibilitychange", () => {
  if (document.hidden) [...streams.keys()].forEach(leave);
  else if (unfinished().length) refresh();
});
window.addEventListener("pagehide", () => [...streams.keys()].forEach(leave));
watch();
