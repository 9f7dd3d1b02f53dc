// What the list of runs and the page of a training share.

import { count, h } from "yardarm/dom";

/** A training's progress bar. */
export function progress({ step, steps }) {
  const label = `${count(step)} of ${count(steps)} steps`;
  return h("progress", { max: Math.max(1, steps), value: step, "aria-label": label, title: label });
}
