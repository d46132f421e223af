// Keeps the states of runs on a page right: takes them from the event stream that all tabs share, refreshes the live
// parts of the page when a run has ended or a new one has come, and says when a run ends and when the server is gone.
"use strict";

const script = document.currentScript;
const NOTICE_TIME = 12000; // milliseconds
const title = document.title;
let known = null; // run → whether it is over; null until the stream has told
let refreshing = null; // the refresh that is under way
let refreshAgain = false;
let leave = () => {};

function join() {
  known = null;
  if (typeof SharedWorker === "undefined") {
    if (typeof followRuns !== "undefined") joinAs({ postMessage: receive });
    else script.after(loaded(script.dataset.events, () => joinAs({ postMessage: receive })));
    return;
  }
  const { port } = new SharedWorker(script.dataset.events, "queryveil");
  port.onmessage = (event) => receive(event.data);
  leave = () => {
    port.postMessage("leave");
    port.close();
  };
}

function joinAs(tab) {
  followRuns(tab);
  leave = () => tab.onmessage();
}

function loaded(address, then) {
  const element = document.createElement("script");
  element.src = address;
  element.addEventListener("load", then);
  return element;
}

function receive(message) {
  if ("connected" in message) document.getElementById("offline").hidden = message.connected;
  const runs = message.runs || [];
  for (const run of runs) show(run);
  if (message.all && known === null) {
    known = new Map(runs.map((run) => [run.id, run.is_over]));
    if (isStale()) refresh();
    return;
  }
  if (known === null) return;
  if (message.all) for (const id of [...known.keys()]) if (!runs.some((run) => run.id === id)) known.delete(id);
  const ended = runs.filter((run) => run.is_over && known.get(run.id) === false);
  const isNew = runs.some((run) => !known.has(run.id) || (known.get(run.id) && !run.is_over));
  for (const run of runs) known.set(run.id, run.is_over);
  for (const id of message.deleted || []) known.delete(id);
  if (ended.length) announce(ended);
  if (ended.length || isNew || message.deleted) refresh();
}

// Whether the page shows a run as unfinished that is over, because it was made before the run ended.
function isStale() {
  const unfinished = [...document.querySelectorAll("[data-over=no]")];
  return unfinished.some((place) => known.get(place.dataset.run) !== false);
}

function show(run) {
  for (const place of document.querySelectorAll(`[data-run="${run.id}"]`)) {
    for (const state of place.querySelectorAll("[data-state]")) {
      state.textContent = run.state;
      state.className = `state ${run.state}`;
    }
    for (const text of place.querySelectorAll("[data-stage]")) text.textContent = run.text;
    const bar = place.querySelector("progress");
    if (bar) {
      bar.hidden = run.state !== "running";
      if (run.total) {
        bar.max = run.total;
        bar.value = run.done;
      } else {
        bar.removeAttribute("value");
      }
    }
  }
}

// Says which run ended: for everybody to see, to screen readers, and in the title of a tab that is in the background.
function announce(ended) {
  const notice = document.getElementById("notice");
  const run = ended[ended.length - 1];
  const link = document.createElement("a");
  link.href = `/runs/${run.id}`;
  link.textContent = run.name;
  const left = [...known.values()].filter((isOver) => !isOver).length;
  const more = left ? `; ${left} ${left === 1 ? "run is" : "runs are"} not over yet` : "";
  notice.replaceChildren(link, ` is over: ${run.state}${more}.`);
  clearTimeout(announce.timer);
  announce.timer = setTimeout(() => notice.replaceChildren(), NOTICE_TIME);
  if (document.hidden) document.title = `(${run.state}) ${title}`;
}

// Replaces the live parts of the page by their current content on the server; forms stay as they are.
function refresh() {
  if (!document.querySelector("[data-live]")) return;
  if (refreshing) {
    refreshAgain = true;
    return;
  }
  refreshing = load().finally(() => {
    refreshing = null;
    if (refreshAgain) {
      refreshAgain = false;
      refresh();
    }
  });
}

async function load() {
  let answer;
  try {
    answer = await fetch(location.href, { headers: { accept: "text/html" } });
  } catch {
    return; // the server is gone, which the event stream says
  }
  if (!answer.ok || answer.redirected) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const old of document.querySelectorAll("[data-live]")) {
    const fresh = page.getElementById(old.id);
    if (!fresh || hasInput(old)) continue;
    const opened = [...old.querySelectorAll("details[open] > summary")].map((summary) => summary.textContent);
    for (const summary of fresh.querySelectorAll("details > summary")) {
      if (opened.includes(summary.textContent)) summary.parentElement.open = true;
    }
    const hadFocus = old.contains(document.activeElement);
    old.replaceWith(document.adoptNode(fresh));
    if (hadFocus) fresh.focus({ preventScroll: true });
  }
}

// Whether somebody has ticked or typed something in a part, which must not be lost.
function hasInput(part) {
  const isChanged = (field) =>
    field.type === "checkbox" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
  return [...part.querySelectorAll("input:not([type=hidden]), textarea")].some(isChanged);
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) document.title = title;
});
window.addEventListener("pagehide", () => leave());
window.addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  refresh(); // Back shows a page as it was when it was left
  join();
});
join();
