// The curves of a training: success, loss, learning rate, gradients and speed.

import { isWide, legend, plot, RATES, valueAxis } from "yardarm/axes";
import { count, h, measured, number, percent, percents, section } from "yardarm/dom";
import { address } from "yardarm/live";
import { keepFocus } from "yardarm/page";
import { fraction } from "yardarm/run";

// More tasks than this do not fit in a tooltip.
const MOST_WORDS = 8;

/** A group of buttons, one of which is pressed. */
function choice(label, options, chosen, choose) {
  const button = ([value, text]) => {
    const words = { type: "button", "aria-label": `${label}: ${text}`, "aria-pressed": String(value === chosen) };
    return h("button", { ...words, onclick: () => choose(value) }, text);
  };
  return h("span.choice", { role: "group", "aria-label": label }, `${label} `, options.map(button));
}

/** Success rates over steps, for all tasks and for each task. */
export function success(data, state) {
  const finished = data.evaluations.filter((own) => own.status === "finished" && own.rate !== null);
  const tasks = data.tasks.drawn;
  const steps = finished.map((own) => own.step);
  const lines = tasks.map((task, place) => ({
    kind: `d${place % 8}${place >= 8 ? ".dashed" : ""}`,
    title: task,
    steps,
    values: finished.map((own) => own.tasks[task]?.rate ?? null),
  }));
  // The last line is drawn on top.
  lines.push({ kind: "all-tasks", title: "all tasks", steps, values: finished.map((own) => own.rate) });
  const marks = finished.map((own) => ({ ...own, href: address("/run", { run: own.run }), words: words(own, tasks) }));
  const guides = data.evaluations.filter((own) => own.status === "running").map((own) => own.step);
  const label = `Success rates over ${count(data.step)} steps, latest ${percent(finished.at(-1)?.rate)}`;
  const drawn = plot({ lines, marks, guides, steps: data.step, axis: RATES, label, read: null, state });
  const others =
    data.tasks.count > 1 && !tasks.length ? ` The page of each evaluation shows its ${count(data.tasks.count)} tasks.` : "";
  const interval = data.confidence ? ` with ${number(100 * data.confidence)}% intervals` : "";
  const going = guides.length ? " The dashed line marks an evaluation in progress." : "";
  const note = `Success rates${interval}; click a point to open its evaluation.${others}${going}`;
  const keys = tasks.length ? legend(lines, drawn, state) : null;
  return section("success", "Success", note, h("figure", {}, drawn, keys));
}

function words(own, tasks) {
  const known = tasks.length <= MOST_WORDS ? tasks : [];
  const rates = known.filter((task) => own.tasks[task]).map((task) => `${task} ${percent(own.tasks[task].rate)}`);
  const solved = `${percent(own.rate)}, ${fraction(own)}`;
  return [`step ${count(own.step)}`, solved, `interval ${percents(own.low, own.high)}`, ...rates];
}

const LOSSES = { train: { kind: "d0", title: "training" }, validation: { kind: "d1", title: "validation" } };

/** The loss, or a part of it, on training data and on held-out data. */
export function loss(data, state) {
  const figure = h("figure");
  const draw = () => {
    const chosen = data.losses.includes(state.chosen) ? state.chosen : "loss";
    const lines = Object.entries(LOSSES)
      .map(([kind, look]) => ({ ...look, steps: data[kind].steps, ...data[kind].columns[chosen] }))
      .filter((line) => line.values.some((value) => value !== null));
    const values = lines.flatMap((line) => [...line.values, ...(line.low ?? []), ...(line.high ?? [])]);
    const log = state.log ?? isWide(values);
    const axis = valueAxis(values, { log });
    const label = `Loss over ${count(data.step)} steps, now ${measured(data.now.loss)}`;
    const drawn = plot({ lines, steps: data.step, axis, label, read: measured, state });
    const choose = (name) => (value) => {
      state[name] = value;
      draw();
    };
    const scales = [
      [false, "linear"],
      [true, "logarithmic"],
    ];
    const names = data.losses.map((own) => [own, own.replace(/^parts\./, "")]);
    const choices = h(
      "p.choices",
      {},
      names.length > 1 ? choice("Show", names, chosen, choose("chosen")) : null,
      choice("Scale", scales, log, choose("log")),
    );
    keepFocus(figure, () => figure.replaceChildren(choices, drawn, legend(lines, drawn, state)));
  };
  draw();
  const { every } = data.train;
  const note =
    every > 1 ? `Each point is the mean of ${every} values; the band spans their minimum and maximum.` : null;
  return section("loss", "Loss", note, figure);
}

const COURSE = {
  lr: "learning rate",
  grad_norm: "gradient norm",
  samples_per_s: "samples per second",
};

/** Learning rate, gradient norm and speed, in small plots. */
export function course(data, state) {
  const cards = Object.entries(COURSE).map(([own, text]) => {
    const column = data.train.columns[own];
    if (!column.values.some((value) => value !== null)) return null;
    const values = [...column.values, ...(column.low ?? []), ...(column.high ?? [])];
    const axis = valueAxis(values, { log: own === "grad_norm" && isWide(values), low: true });
    const line = { kind: "d0", title: text, steps: data.train.steps, dots: false, ...column };
    const label = `${text} over ${count(data.step)} steps`;
    const drawn = plot({ lines: [line], steps: data.step, axis, label, read: measured, state: (state[own] ??= {}) });
    const newest = measured(column.values.at(-1));
    return h("figure.card", {}, h("figcaption", {}, h("strong", {}, text), ` ${newest}`), drawn);
  });
  return section("course", "Learning rate, gradients and speed", null, h("div.cards", {}, cards));
}
