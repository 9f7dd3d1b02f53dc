// Charts as plain SVG, coloured by the style sheet's variables.

import { breakable, h, number, OUTCOMES, percent, percents, points, s } from "yardarm/dom";

/** An interval with its estimate, on an axis from `from` to `to`. */
export function whisker(estimate, low, high, { from = 0, to = 1, zero = null, label = "", strong = false } = {}) {
  const width = 240;
  const x = (value) => 6 + ((width - 12) * (Math.min(to, Math.max(from, value)) - from)) / (to - from);
  const grid = zero === null ? [0, 0.25, 0.5, 0.75, 1].map((part) => from + part * (to - from)) : [zero];
  return s(
    `svg.whisker${strong ? ".strong" : ""}`,
    { viewBox: `0 0 ${width} 20`, role: "img", "aria-label": label, preserveAspectRatio: "none" },
    grid.map((value) => s("line.grid", { x1: x(value), x2: x(value), y1: 0, y2: 20 })),
    estimate === null
      ? null
      : [
          s("line.interval", { x1: x(low), x2: x(high), y1: 10, y2: 10 }),
          s("line.interval", { x1: x(low), x2: x(low), y1: 6, y2: 14 }),
          s("line.interval", { x1: x(high), x2: x(high), y1: 6, y2: 14 }),
          s("rect.estimate", { x: x(estimate) - 4, y: 6, width: 8, height: 8 }),
        ],
  );
}

export function rateWhisker(score, strong = false) {
  const label = `${percent(score.rate)}, interval ${percents(score.low, score.high)}`;
  return whisker(score.rate, score.low, score.high, { label, strong });
}

export function differenceWhisker(row, range, strong = false) {
  const label = `${points(row.difference)} points, interval ${points(row.interval.low)} to ${points(row.interval.high)}`;
  const options = { from: -range, to: range, zero: 0, label, strong };
  return whisker(row.difference, row.interval.low, row.interval.high, options);
}

/** One cell per episode. Arrow keys move between cells; only one of them is in the tab order. */
export function heatMap(rows, title) {
  const tip = h("div.tip", { hidden: true, "aria-hidden": "true" });
  const map = h("div.heat", { role: "group", "aria-label": title }, rows.map(heatRow), tip);
  map.querySelector("a")?.setAttribute("tabindex", "0");
  const show = (cell) => {
    tip.hidden = !cell;
    if (!cell) return;
    tip.textContent = cell.getAttribute("aria-label");
    const box = map.getBoundingClientRect();
    const own = cell.getBoundingClientRect();
    tip.style.top = `${own.bottom - box.top + 6}px`;
    tip.style.left = `${Math.max(0, Math.min(own.left - box.left, box.width - tip.offsetWidth))}px`;
  };
  const cellOf = (event) => event.target.closest?.("a.cell");
  map.addEventListener("mouseover", (event) => show(cellOf(event)));
  map.addEventListener("mouseleave", () => show(null));
  map.addEventListener("focusin", (event) => show(cellOf(event)));
  map.addEventListener("focusout", () => show(null));
  map.addEventListener("keydown", (event) => moveFocus(event, map));
  return map;
}

/** A task's cells, ordered by index, so that a column is the same seed in all rows. */
function heatRow({ name, cells, planned }) {
  const places = new Array(planned).fill(null);
  for (const own of cells) places[own.index] = own;
  const strip = h("div.cells");
  for (const own of places) strip.append(own ? heatCell(own) : h("span.cell.missing"));
  return h("div.heat-row", {}, h("div.heat-name", { title: name }, breakable(name)), strip);
}

function heatCell({ outcome, label, href }) {
  const cell = document.createElement("a");
  cell.className = `cell ${OUTCOMES[outcome].kind}`;
  cell.href = href;
  cell.tabIndex = -1;
  cell.setAttribute("aria-label", label);
  return cell;
}

/** The first of these cells that is an episode. */
const played = (cells) => cells.find((cell) => cell?.tagName === "A");

function moveFocus(event, map) {
  const cell = event.target.closest("a.cell");
  if (!cell) return;
  const strip = cell.parentElement;
  const place = [...strip.children].indexOf(cell);
  const rows = [...map.querySelectorAll(".cells")];
  const row = rows.indexOf(strip);
  const goals = {
    ArrowRight: () => played([...strip.children].slice(place + 1)),
    ArrowLeft: () => played([...strip.children].slice(0, place).reverse()),
    ArrowDown: () => played(rows.slice(row + 1).map((own) => own.children[place])),
    ArrowUp: () =>
      played(
        rows
          .slice(0, row)
          .reverse()
          .map((own) => own.children[place]),
      ),
    Home: () => played([...strip.children]),
    End: () => played([...strip.children].reverse()),
  };
  const goal = goals[event.key]?.();
  if (!goal) return;
  event.preventDefault();
  cell.tabIndex = -1;
  goal.tabIndex = 0;
  goal.focus();
}

/** The ends of an axis, which includes zero unless it is `free`. */
function reach(values, free) {
  const known = values.filter((value) => value !== null);
  const start = free && known.length ? known[0] : 0;
  const low = known.reduce((least, value) => Math.min(least, value), start);
  const high = known.reduce((most, value) => Math.max(most, value), start);
  return high > low ? [low, high] : [low, low + 1];
}

/**
 * Lines over steps: `lines` have a class, and values that are `every` steps apart; the first is at step `first`, or in the
 * middle of the steps that it averages. `also` are more values that the axis must include; a `free` axis may exclude zero.
 * A missing value leaves a gap.
 */
export function curves(lines, { steps, label, width = 320, height = 90, cursor = false, also = [], free = false }) {
  const [low, high] = reach([...lines.flatMap((line) => line.values), ...also], free);
  const x = (step) => (width * step) / Math.max(1, steps);
  const y = (value) => height - 3 - ((height - 6) * (value - low)) / (high - low);
  const point = (line) => (value, place) => {
    const step = place * line.every + (line.first ?? line.every / 2);
    const before = place ? line.values[place - 1] : null;
    return value === null ? "" : `${before === null ? "M" : "L"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`;
  };
  // A single value is drawn as a short dash.
  const path = (line) => `${line.values.map(point(line)).join("")}${line.values.length === 1 ? "h2" : ""}`;
  const picture = s(
    "svg.curves",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, preserveAspectRatio: "none" },
    low <= 0 && high >= 0 ? s("line.grid", { x1: 0, x2: width, y1: y(0), y2: y(0) }) : null,
    lines.map((line) => s(`path.line.${line.kind}`, { d: path(line) }, line.title ? s("title", {}, line.title) : null)),
    cursor ? s("line.cursor", { x1: 0, x2: 0, y1: 0, y2: height }) : null,
  );
  const ends = h("div.ends", { "aria-hidden": "true" }, h("span", {}, number(high)), h("span", {}, number(low)));
  return h("div.plot", {}, ends, picture);
}

/** How many episodes ended at each number of steps, from `first`; `series` are lists of steps with a class, stacked. */
export function histogram(series, { steps, label, first = 1, width = 320, height = 46, bins = 32 }) {
  const place = (value) => Math.floor((bins * Math.max(0, value - first)) / Math.max(1, steps - first + 1));
  const counts = series.map(({ values }) => {
    const own = new Array(bins).fill(0);
    for (const value of values) own[Math.min(bins - 1, place(value))]++;
    return own;
  });
  const totals = counts[0].map((_, bin) => counts.reduce((sum, own) => sum + own[bin], 0));
  const scale = (height - 2) / Math.max(1, ...totals);
  const bars = [];
  for (let bin = 0; bin < bins; bin++) {
    let top = height;
    series.forEach(({ kind }, which) => {
      const tall = counts[which][bin] * scale;
      top -= tall;
      const box = { x: (bin * width) / bins + 0.5, y: top, width: width / bins - 1, height: tall };
      if (tall) bars.push(s(`rect.bar.${kind}`, box));
    });
  }
  const box = { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, preserveAspectRatio: "none" };
  const ends = h("div.ends", { "aria-hidden": "true" }, h("span", {}, String(Math.max(...totals))), h("span", {}, "0"));
  return h("div.plot", {}, ends, s("svg.histogram", box, bars));
}

/**
 * The distribution of a number: a thin line from minimum to maximum, a bar from the 1% to the 99% quantile, a thicker one
 * from 10% to 90%, and a mark at the median.
 */
export function rangeBar({ min, q01, q10, q50, q90, q99, max, mean }, label) {
  const width = 200;
  const x = (value) => 2 + (max > min ? ((width - 4) * (value - min)) / (max - min) : (width - 4) / 2);
  const box = (from, to, half, kind) =>
    s(`rect.${kind}`, { x: x(from), y: 10 - half, width: Math.max(1, x(to) - x(from)), height: 2 * half });
  const known = [q01, q10, q50, q90, q99].every((value) => value !== null && value !== undefined);
  return s(
    "svg.range",
    { viewBox: `0 0 ${width} 20`, role: "img", "aria-label": label, preserveAspectRatio: "none" },
    s("line.interval", { x1: x(min), x2: x(max), y1: 10, y2: 10 }),
    [min, max].map((value) => s("line.interval", { x1: x(value), x2: x(value), y1: 5, y2: 15 })),
    known ? [box(q01, q99, 3, "most"), box(q10, q90, 6, "middle")] : null,
    s("line.median", { x1: x(known ? q50 : mean), x2: x(known ? q50 : mean), y1: 2, y2: 18 }),
  );
}

/** A bar divided into parts. */
export function parts(shares, label) {
  const total = shares.reduce((sum, share) => sum + share.value, 0);
  return h(
    "div.parts",
    { role: "img", "aria-label": label },
    shares
      .filter((share) => share.value > 0)
      .map((share) =>
        h(`div.part.${share.kind}`, { style: `width:${(100 * share.value) / total}%`, title: share.title }),
      ),
  );
}
