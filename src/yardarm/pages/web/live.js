// Fetches data for the viewer's pages, and listens for changes.

import { h } from "yardarm/dom";

/** An address of the viewer: address("/run", {run: "a/b"}). Lists become repeated parameters. */
export function address(path, values) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) [value].flat().forEach((own) => words.append(name, own));
  return `${path}?${words}`;
}

/** Fetch data; throws an Error with a readable message. */
export const load = (path, values = {}) => answer(address(path, values));

/** Send a change, and return the viewer's answer; throws an Error with a readable message. */
export function send(path, content) {
  const headers = { "Content-Type": "application/json" };
  return answer(path, { method: "POST", headers, body: JSON.stringify(content) });
}

async function answer(where, options = {}) {
  let response;
  try {
    response = await fetch(where, options);
  } catch {
    throw new Error("The viewer is not responding. Start it again.");
  }
  const data = await response.json().catch(() => ({ problem: `The viewer returned status ${response.status}.` }));
  if (!response.ok) throw new Error(data.problem ?? `The viewer returned status ${response.status}.`);
  return data;
}

/**
 * Listen for events while the page is visible: a browser has only six connections for all of its pages. `handle` may be
 * slow; events that arrive meanwhile are queued. Returns a function that stops listening.
 */
export function listen(path, values, handle) {
  let source = null;
  let waiting = [];
  let busy = false;

  const work = async () => {
    if (busy) return;
    busy = true;
    while (waiting.length) {
      const [event] = waiting.splice(0, 1);
      try {
        await handle(event);
        lost.remove();
      } catch (error) {
        say(error.message);
      }
    }
    busy = false;
  };
  const open = () => {
    source = new EventSource(address(path, values));
    source.onopen = () => lost.remove();
    source.onerror = () =>
      say("The viewer is not responding. This page may be out of date; it updates when the viewer is back.");
    source.onmessage = (message) => {
      waiting.push(JSON.parse(message.data));
      work();
    };
  };
  const close = () => {
    source?.close();
    source = null;
    waiting = [];
  };
  const followVisibility = () => {
    if (document.hidden) close();
    else if (!source) open();
  };
  const end = () => {
    document.removeEventListener("visibilitychange", followVisibility);
    removeEventListener("pagehide", close);
    removeEventListener("pageshow", followVisibility);
    close();
    lost.remove();
  };
  document.addEventListener("visibilitychange", followVisibility);
  addEventListener("pagehide", close);
  addEventListener("pageshow", followVisibility);
  followVisibility();
  return end;
}

const lost = h("p.lost", { role: "alert" });

function say(text) {
  lost.textContent = text;
  document.body.append(lost);
}

export function problem(error) {
  return h("p.warning", { role: "alert" }, error.message);
}

export const parameters = () => new URLSearchParams(location.search);
