// A shared worker: keeps one event stream of the server for all tabs, and tells each tab what changes and whether
// the server answers. Its names are its own, since a page without shared workers loads it beside live.js.
"use strict";

(() => {
  const QUIET = 10000; // milliseconds without a message after which the stream is opened again; the server sends every 3 s
  const AGAIN = 1000; // milliseconds after which a stream that the server refused is opened again
  const tabs = new Set();
  const runs = new Map();
  let source = null;
  let isConnected = null; // unknown until the stream opens or fails
  let lastMessage = 0;

  function tell(message) {
    for (const tab of tabs) tab.postMessage(message);
  }

  function setConnected(value) {
    if (value !== isConnected) tell({ connected: value });
    isConnected = value;
  }

  function receive(message) {
    lastMessage = Date.now();
    setConnected(true);
    if (message.all) runs.clear();
    for (const run of message.runs || []) runs.set(run.id, run);
    for (const id of message.deleted || []) runs.delete(id);
    if (message.runs || message.deleted) tell(message);
  }

  function open() {
    source?.close();
    lastMessage = Date.now();
    source = new EventSource("/api/v1/events");
    source.onmessage = (event) => receive(JSON.parse(event.data));
    source.onerror = () => {
      setConnected(false);
      if (source.readyState === EventSource.CLOSED) setTimeout(open, AGAIN);
    };
  }

  function join(tab) {
    tabs.add(tab);
    tab.onmessage = () => tabs.delete(tab); // a tab that is left says so
    if (isConnected !== null) tab.postMessage({ connected: isConnected });
    if (isConnected) tab.postMessage({ all: true, runs: [...runs.values()] });
    if (source === null) open();
  }

  setInterval(() => {
    if (source !== null && Date.now() - lastMessage > QUIET) {
      setConnected(false);
      open();
    }
  }, QUIET / 4);

  if (typeof SharedWorkerGlobalScope !== "undefined") {
    self.onconnect = (event) => join(event.ports[0]);
  } else {
    window.followRuns = join; // a browser without shared workers loads this file into the page
  }
})();
