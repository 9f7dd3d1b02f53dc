// Plots over the steps of a training: axes, bands, marks that are links, and a cursor that shows values.

import { count, h, s } from "yardarm/dom";

// Drawings stretch to the available space; strokes and dots do not.
const SIZE = 1000;
const FEW = 5;
const SEVERAL = 8;
// Up to this many points also get dots.
const MOST_DOTS = 60;
// Above this ratio of maximum to minimum, small values cannot be seen on a linear axis.
const WIDE = 20;

const range = (count) => Array.from({ length: count }, (_, place) => place);

/** Round numbers from low to high. */
function roundNumbers(low, high) {
  const rough = (high - low) / FEW;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((own) => own * power >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  return range(Math.floor(high / step + 1e-9) - first + 1).map((place) => (first + place) * step);
}

/** Powers of ten, with 2 and 5 times these if they fit; round numbers if the values are of similar size. */
function roundFactors(low, high, most) {
  const powers = range(Math.ceil(Math.log10(high)) - Math.floor(Math.log10(low)) + 1);
  const every = Math.ceil(powers.length / most);
  const decades = powers.map((place) => 10 ** (Math.floor(Math.log10(low)) + place));
  const inside = (value) => value >= low && value <= high;
  const fine = decades.flatMap((power) => [power, 2 * power, 5 * power]).filter(inside);
  if (fine.length < 3) return roundNumbers(low, high);
  return fine.length <= most ? fine : decades.filter((_, place) => place % every === 0).filter(inside);
}

function short(value) {
  const own = Number(value.toPrecision(4));
  const size = Math.abs(own);
  return own !== 0 && (size < 1e-3 || size >= 1e6) ? own.toExponential() : own.toLocaleString("en");
}

/** A round number of steps. */
function thousands(step) {
  if (step >= 1e6) return `${count(step / 1e6)}M`;
  return step >= 1000 ? `${count(step / 1000)}k` : count(step);
}

/** Whether values are best shown on a logarithmic axis. */
export function isWide(values) {
  const known = values.filter((value) => value !== null);
  const least = known.reduce((low, value) => Math.min(low, value), Infinity);
  return least > 0 && known.reduce((high, value) => Math.max(high, value), 0) > WIDE * least;
}

/** An axis for values: the position of each from 0 to 1, and the ticks; a `low` plot has room for only a few. */
export function valueAxis(values, { log = false, low: flat = false } = {}) {
  const known = values.filter((value) => value !== null && (!log || value > 0));
  if (!known.length) return { place: () => null, ticks: [], text: short };
  const put = log ? Math.log10 : (value) => value;
  const back = log ? (value) => 10 ** value : (value) => value;
  const least = put(known.reduce((low, value) => Math.min(low, value)));
  const most = put(known.reduce((high, value) => Math.max(high, value)));
  // A constant line gets some space around it; one that is always zero is at the bottom.
  const room = most > least ? 0.05 * (most - least) : Math.abs(log ? 1 : 0.1 * most) || 1;
  const low = !log && least >= 0 ? Math.max(0, least - room) : least - room;
  const high = most + room;
  const place = (value) => (value === null || (log && value <= 0) ? null : (put(value) - low) / (high - low));
  return {
    place,
    ticks: (log ? roundFactors : roundNumbers)(back(low), back(high), flat ? FEW : SEVERAL),
    text: short,
  };
}

/** The axis of success rates, which is always the same. */
export const RATES = {
  place: (rate) => (rate === null ? null : 0.03 + 0.94 * rate),
  ticks: [0, 0.25, 0.5, 0.75, 1],
  text: (rate) => `${100 * rate}%`,
};

const put = (part) => (SIZE * part).toFixed(1);

/** Points joined by lines; a missing value leaves a gap. */
function path(steps, values, x, y) {
  let apart = true;
  return steps
    .map((step, place) => {
      const at = y(values[place] ?? null);
      const drawn = at === null ? "" : `${apart ? "M" : "L"}${put(x(step))} ${put(1 - at)}`;
      apart = at === null;
      return drawn;
    })
    .join("");
}

/** The area between two lines, where both have values. */
function area(steps, low, high, x, y) {
  const there = range(steps.length).filter((place) => y(low[place]) !== null && y(high[place]) !== null);
  const corner = (values) => (place) => `${put(x(steps[place]))} ${put(1 - y(values[place]))}`;
  return there.length ? `M${[...there.map(corner(high)), ...there.reverse().map(corner(low))].join("L")}Z` : "";
}

function drawnLine({ kind, steps, values, low, high, dots = values.length <= MOST_DOTS }, x, y) {
  const each = (step, place) => {
    const at = y(values[place] ?? null);
    return at === null ? "" : `M${put(x(step))} ${put(1 - at)}h0`;
  };
  return s(
    "g.series",
    {},
    low ? s(`path.band.${kind}`, { d: area(steps, low, high, x, y) }) : null,
    s(`path.line.${kind}`, { d: path(steps, values, x, y) }),
    dots ? s(`path.line.dots.${kind}`, { d: steps.map(each).join("") }) : null,
  );
}

/**
 * A plot from step 0 to `steps`. `lines` have a class, a title, steps and values, and optionally the low and high ends of
 * a band. `marks` are links with a rate and its interval; `guides` mark steps where something is in progress. `read` formats
 * a line's value. `state` keeps the position of the pointer from one drawing to the next.
 */
export function plot({ lines, marks = [], guides = [], steps, axis, label, read = short, state = {} }) {
  const x = (step) => step / Math.max(1, steps);
  const upright = (step, from, to) => ({ x1: put(x(step)), x2: put(x(step)), y1: put(1 - from), y2: put(1 - to) });
  const picture = s(
    "svg",
    { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img", "aria-label": label, preserveAspectRatio: "none" },
    axis.ticks.map((value) => {
      const y = put(1 - axis.place(value));
      return s("line.grid", { x1: 0, x2: SIZE, y1: y, y2: y });
    }),
    guides.map((step) => s("line.guide", upright(step, 0, 1))),
    lines.map((line) => drawnLine(line, x, axis.place)),
    marks.map((mark) => s("line.whole", upright(mark.step, axis.place(mark.low), axis.place(mark.high)))),
  );
  const cursor = h("div.upright", { hidden: true });
  const tip = h("div.tip", { hidden: true, "aria-hidden": "true" });
  const ground = h("div.ground", {}, picture, cursor);
  const pointing = new Pointing({ ground, cursor, tip, x, lines, read, steps, state });
  ground.append(...marks.map((mark) => pointing.link(mark, axis)), tip);
  pointing.follow();
  return h("div.axes", {}, valueLabels(axis), ground, h("div"), stepLabels(steps));
}

const valueLabels = (axis) =>
  h(
    "div.beside",
    { "aria-hidden": "true" },
    axis.ticks.map((value) => h("span", { style: `bottom:${100 * axis.place(value)}%` }, axis.text(value))),
  );

const stepLabels = (steps) =>
  h(
    "div.below",
    { "aria-hidden": "true" },
    roundNumbers(0, Math.max(1, steps))
      .filter(Number.isInteger)
      .map((step) => {
        const part = step / Math.max(1, steps);
        // The first and the last label stay inside the plot.
        const shift = part < 0.02 ? 0 : part > 0.98 ? 100 : 50;
        return h("span", { style: `left:${100 * part}%;transform:translateX(-${shift}%)` }, thousands(step));
      }),
  );

/**
 * The legend of a plot. Pointing at a name highlights its line; pressing it keeps the highlight, also when the plot is drawn
 * again with the same `state`.
 */
export function legend(lines, drawn, state = {}) {
  const series = [...drawn.querySelectorAll(".series")];
  const pressed = (state.pressed ??= new Set());
  const show = () => {
    const picked = (place) => pressed.has(lines[place].title) || series[place].matches(".pointed");
    series.forEach((own, place) => own.classList.toggle("set-off", picked(place)));
    drawn.querySelector("svg").classList.toggle(
      "picking",
      series.some((_, place) => picked(place)),
    );
  };
  const keys = lines.map(({ kind, title }, place) => {
    if (lines.length === 1) return h(`span.key.${kind}`, {}, title);
    const point = (on) => () => (series[place].classList.toggle("pointed", on), show());
    const press = ({ currentTarget: key }) => {
      if (!pressed.delete(title)) pressed.add(title);
      key.setAttribute("aria-pressed", String(pressed.has(title)));
      show();
    };
    const words = { type: "button", "aria-label": title, "aria-pressed": String(pressed.has(title)) };
    const handlers = { onpointerenter: point(true), onpointerleave: point(false), onclick: press };
    return h(`button.key.${kind}`, { ...words, ...handlers }, title);
  });
  show();
  return h("div.keys", {}, keys);
}

/** The index of the last of `steps` that is not after `step`, or -1. */
function lastUntil(steps, step) {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] <= step) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The tooltip of a plot: values at the pointer, or the mark that has the focus. */
class Pointing {
  constructor(parts) {
    Object.assign(this, parts);
  }

  follow() {
    const { ground, state } = this;
    if (this.lines.length && this.read) {
      ground.addEventListener("pointermove", (event) => {
        const box = ground.getBoundingClientRect();
        this.at((this.steps * (event.clientX - box.left)) / box.width);
      });
    }
    ground.addEventListener("pointerleave", () => {
      delete state.step;
      this.cursor.hidden = this.tip.hidden = true;
    });
    // The plot may be redrawn under the pointer; positions are known only once it is on the page.
    if (state.step !== undefined) requestAnimationFrame(() => ground.isConnected && this.at(state.step));
  }

  /** Show the values of all lines at a step. */
  at(step) {
    const { steps } = this.lines[0];
    const before = lastUntil(steps, step);
    const near = [steps[before], steps[before + 1]].filter((own) => own !== undefined);
    if (!near.length) return;
    const own = near.reduce((best, next) => (Math.abs(next - step) < Math.abs(best - step) ? next : best));
    this.state.step = own;
    const readings = this.lines.map((line) => [line, line.values[lastUntil(line.steps, own)]]);
    const words = readings
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([line, value]) => `${line.title} ${this.read(value)}`);
    this.cursor.hidden = false;
    this.cursor.style.left = `${100 * this.x(own)}%`;
    this.say([`step ${count(own)}`, ...words], this.x(own));
  }

  say(words, part) {
    const { tip, ground } = this;
    tip.hidden = false;
    tip.replaceChildren(...words.map((text) => h("div", {}, text)));
    const free = ground.clientWidth - tip.offsetWidth;
    const right = part * ground.clientWidth + 12;
    tip.style.left = `${Math.max(0, right <= free ? right : right - tip.offsetWidth - 24)}px`;
  }

  link(mark, axis) {
    const show = () => this.say(mark.words, this.x(mark.step));
    const hide = () => (this.tip.hidden = true);
    const style = `left:${100 * this.x(mark.step)}%;bottom:${100 * axis.place(mark.rate)}%`;
    return h("a.mark", {
      href: mark.href,
      style,
      "aria-label": mark.words.join(", "),
      onpointerenter: show,
      onpointerleave: hide,
      onfocus: show,
      onblur: hide,
    });
  }
}
