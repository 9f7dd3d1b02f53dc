// The list of trainings, on the page of runs.

import { rateWhisker } from "yardarm/charts";
import { breakable, count, date, h, measured, percent, percents } from "yardarm/dom";
import { address } from "yardarm/live";
import { statusBadge } from "yardarm/run";
import { Table } from "yardarm/tables";

/** A training's progress bar. */
export function progress({ step, steps }) {
  const label = `${count(step)} of ${count(steps)} steps`;
  return h("progress", { max: Math.max(1, steps), value: step, "aria-label": label, title: label });
}

const columns = [
  { title: "Training", heading: true, value: (own) => own.name, cell: name },
  {
    title: "Status",
    value: (own) => own.status,
    cell: (own) => [statusBadge(own.status), own.evaluating?.length ? h("div.small", {}, "evaluating") : null],
  },
  { title: "Policy", narrow: false, value: (own) => own.policy ?? "" },
  {
    title: "Dataset",
    narrow: false,
    value: (own) => own.dataset ?? "",
    cell: (own) => h("span.clip", { title: own.dataset }, own.dataset ?? ""),
  },
  { title: "Steps", numeric: true, value: (own) => own.step, cell: steps },
  { title: "Loss", numeric: true, narrow: false, value: (own) => own.loss, cell: loss },
  { title: "Success", numeric: true, value: (own) => own.evaluation?.rate, cell: (own) => success(own.evaluation) },
  { title: "0% – 100%", narrow: false, value: (own) => own.evaluation?.low, cell: (own) => interval(own.evaluation) },
  {
    title: "Started",
    narrow: false,
    value: (own) => own.started ?? "",
    cell: (own) => (own.problem ? "" : h("span.nowrap", {}, date(own.started))),
  },
];

function name(own) {
  const text = own.name === "." ? "(this folder)" : breakable(own.name);
  if (own.problem) return [text, h("div.small", {}, own.problem)];
  return h("a", { href: address("/training", { training: own.name }) }, text);
}

function steps(own) {
  if (own.problem) return "";
  return h("div.so-far", {}, progress(own), h("span.small", {}, breakable(`${count(own.step)}/${count(own.steps)}`)));
}

function loss(own) {
  return own.problem ? "" : measured(own.loss);
}

function success(score) {
  if (!score) return "";
  const title = `${score.successes} of ${score.episodes} episodes solved, with the weights of step ${count(score.step)}`;
  return h("span", { title }, percent(score.rate));
}

function interval(score) {
  return score ? h("div", { title: percents(score.low, score.high) }, rateWhisker(score)) : "";
}

/** A table that appears once there is a training. */
export class TrainingList {
  constructor(state = {}) {
    this.state = state;
    this.known = new Map();
    this.table = new Table(columns, {
      caption: "Trainings",
      sorted: { place: columns.length - 1, down: true },
      page: 25,
      state,
    });
    this.element = h("div");
  }

  /** Apply changes; with `all`, these are all trainings. */
  update({ changed, gone }, all) {
    if (all) this.known.clear();
    for (const own of changed) this.known.set(own.name, own);
    for (const own of gone) this.known.delete(own);
    if (!this.known.size) this.element.replaceChildren();
    else if (!this.element.hasChildNodes()) {
      this.element.append(h("h2", {}, "Trainings"), this.table.element, h("h2", {}, "Evaluations"));
    }
  }

  /** Show the trainings that match all words. */
  show(words) {
    const fits = (own) => {
      const text = [own.name, own.status, own.policy, own.dataset].join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    };
    this.table.setRows([...this.known.values()].filter(fits));
  }
}
