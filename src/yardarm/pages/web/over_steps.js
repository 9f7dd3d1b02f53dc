// The success rates of a training's checkpoints, where these are compared.

import { legend, plot, RATES } from "yardarm/axes";
import { count, h, number, percent, percents, section } from "yardarm/dom";
import { fraction } from "yardarm/run";

/** A line for each training; `href(place)` is the address of a run, or null. */
export function overSteps(data, href, state) {
  const lines = data.over_steps.map(({ name, points }, place) => ({
    kind: `d${place % 8}`,
    title: name,
    steps: points.map((own) => own.step),
    values: points.map((own) => own.rate),
    low: points.map((own) => own.low),
    high: points.map((own) => own.high),
  }));
  const points = data.over_steps.flatMap((own) => own.points);
  const steps = Math.max(...points.map((own) => own.step));
  const marks = points.map((own) => ({ ...own, href: href(own.run), words: words(data, own) }));
  const best = points.reduce((most, own) => (own.rate > most.rate ? own : most));
  const label = `Success rates over ${count(steps)} steps, best ${percent(best.rate)} at step ${count(best.step)}`;
  const drawn = plot({ lines, marks, steps, axis: RATES, label, read: null, state });
  const note =
    `The success rate of each checkpoint, with its ${number(100 * data.confidence)}% interval. ` +
    "The best of many looks better than it is: evaluate it again with another seed before you rely on its rate.";
  return section("over-steps", "Success over training steps", note, h("figure", {}, drawn, legend(lines, drawn, state)));
}

const words = (data, own) => [
  `${data.names[own.run]}, step ${count(own.step)}`,
  `${percent(own.rate)}, ${fraction(own)}`,
  `interval ${percents(own.low, own.high)}`,
];
