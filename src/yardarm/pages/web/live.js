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
    throw new Error("The viewer does not answer any more. Start it again: yardarm view");
  }
  const data = await response.json().catch(() => ({ problem: `The viewer answered with ${response.status}.` }));
  if (!response.ok) throw new Error(data.problem ?? `The viewer answered with ${response.status}.`);
  return data;
}

/** Hear of changes until the page is left; the browser connects again by itself. `heard` may take its time. */
export function listen(path, values, heard) {
  const source = new EventSource(address(path, values));
  let waiting = null;
  let busy = false;
  source.onmessage = async (message) => {
    waiting = message.data;
    if (busy) return; // one at a time; what came meanwhile is dealt with afterwards, at once
    busy = true;
    while (waiting !== null) {
      const own = waiting;
      waiting = null;
      await heard(JSON.parse(own));
    }
    busy = false;
  };
  addEventListener("pagehide", () => source.close());
  return source;
}

export function problem(error) {
  return h("p.warning", { role: "alert" }, error.message);
}

export const parameters = () => new URLSearchParams(location.search);
