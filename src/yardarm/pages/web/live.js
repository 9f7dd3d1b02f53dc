// What the viewer's pages fetch, and how they hear of changes.

import { h } from "yardarm/dom";

/** The address of something of the viewer's: address("/run", {run: "a/b"}). Lists are repeated. */
export function address(path, values) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) [value].flat().forEach((own) => words.append(name, own));
  return `${path}?${words}`;
}

/** Fetch data; what went wrong is an Error with a message for people. */
export async function load(path, values = {}) {
  let response;
  try {
    response = await fetch(address(path, values));
  } catch {
    throw new Error("The viewer does not answer any more. Start it again.");
  }
  const data = await response.json().catch(() => ({ problem: `The viewer answered with ${response.status}.` }));
  if (!response.ok) throw new Error(data.problem ?? `The viewer answered with ${response.status}.`);
  return data;
}

/**
 * Hear of changes while the page can be seen: a browser has six connections for all of its pages. `heard` may take its
 * time; what comes meanwhile is dealt with afterwards. Returns a function that ends it.
 */
export function listen(path, values, heard) {
  let source = null;
  let waiting = [];
  let busy = false;

  const work = async () => {
    if (busy) return;
    busy = true;
    while (waiting.length) {
      const [event] = waiting.splice(0, 1);
      try {
        await heard(event);
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
    source.onerror = () => say("The viewer does not answer. What you see may be old; this page goes on when it does.");
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
  const followSight = () => {
    if (document.hidden) close();
    else if (!source) open();
  };
  const end = () => {
    document.removeEventListener("visibilitychange", followSight);
    removeEventListener("pagehide", close);
    removeEventListener("pageshow", followSight);
    close();
    lost.remove();
  };
  document.addEventListener("visibilitychange", followSight);
  addEventListener("pagehide", close);
  addEventListener("pageshow", followSight);
  followSight();
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
