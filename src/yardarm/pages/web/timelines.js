// Plots over the steps of an episode, with a cursor that follows its clock.

import { curves } from "yardarm/charts";
import { h, number, s } from "yardarm/dom";

const SIZE = { width: 600, height: 110 };

/** Eight colours, then the same ones dashed. */
const kindOf = (place) => `d${place % 8}${place >= 8 ? ".dashed" : ""}`;

/** A line per dimension: `columns` are the values over time, `names` the names of the dimensions. */
export const linesOf = (columns, names, more) =>
  columns.map((values, place) => ({ values, kind: kindOf(place), title: names?.[place] ?? `[${place}]`, ...more }));

/** Pointing at a line's name highlights it; pressing it keeps the highlight, for any number of lines. */
function picking(paths, place) {
  const picture = () => paths[place].ownerSVGElement;
  const set = (name, on) => {
    paths[place].classList.toggle(name, on);
    picture().classList.toggle(
      "picked",
      paths.some((path) => path.matches(".pointed, .pressed")),
    );
  };
  return {
    onpointerenter: () => set("pointed", true),
    onpointerleave: () => set("pointed", false),
    onclick: ({ currentTarget: key }) => {
      const pressed = key.getAttribute("aria-pressed") !== "true";
      key.setAttribute("aria-pressed", String(pressed));
      set("pressed", pressed);
    },
  };
}

/** The name of a line that can be hidden; pointing at it highlights the line. */
function toggleKey({ name, line, value, path }, { shows, toggle }) {
  const on = shows(line);
  const point = (pointed) => {
    path?.classList.toggle("pointed", pointed);
    path?.ownerSVGElement.classList.toggle("picked", pointed);
  };
  // A feature with one number has no name but the plot's.
  const title = line.title || (on ? "" : "hidden");
  return h(
    `button.key.toggle.${line.kind}`,
    {
      type: "button",
      "aria-pressed": String(on),
      "data-focus": line.key,
      "aria-label": line.title ? null : name,
      title: on ? "Hide this signal" : "Show this signal",
      onpointerenter: () => point(true),
      onpointerleave: () => point(false),
      onclick: () => toggle(line),
    },
    [title, " ", value],
  );
}

/** Buttons that show or hide all lines of a plot. */
function groupKeys(name, lines, { all }) {
  const key = (text, shown) =>
    h(
      "button.all",
      {
        type: "button",
        "data-focus": `${name} ${text}`,
        "aria-label": `${name}: ${text}`,
        onclick: () => all(lines, shown),
      },
      text,
    );
  return h("span.group", {}, key("all", true), key("none", false));
}

/** Plots below each other, with a common axis of `reach` steps. */
export class Timelines {
  constructor(clock) {
    this.clock = clock;
    this.element = h("div");
    this.cursors = [];
    this.readings = [];
  }

  /** `plots` have a name, lines, a note, and options for `curves`. */
  draw(plots, reach, ...below) {
    this.reach = reach;
    this.readings = [];
    const drawn = plots.filter(({ lines }) => lines.length).map((plot) => this.figure(plot));
    this.cursors = drawn.map((figure) => figure.querySelector(".cursor"));
    this.element.replaceChildren(...drawn, ...below);
  }

  figure({ name, lines, note, toggles = null, ...options }) {
    const { reach, clock } = this;
    const shown = toggles ? lines.filter(toggles.shows) : lines;
    const plot = curves(shown, {
      steps: reach,
      label: `${name} over ${reach} steps`,
      cursor: true,
      ...SIZE,
      ...options,
    });
    const picture = plot.querySelector("svg");
    picture.addEventListener("pointerdown", (event) => clock.drag(event, picture, reach));
    const paths = [...picture.querySelectorAll(".line")];
    const legend = lines.map((line) => {
      const value = h("span.reading");
      const place = shown.indexOf(line);
      if (place >= 0) this.readings.push({ line, value });
      const words = [line.title ?? "", " ", value];
      if (toggles) return toggleKey({ name, line, value, path: paths[place] }, toggles);
      if (lines.length === 1) return h(`span.key.${line.kind}`, {}, words);
      return h(`button.key.${line.kind}`, { type: "button", "aria-pressed": "false", ...picking(paths, place) }, words);
    });
    plot.hidden = !shown.length;
    const title = h("span", {}, name, note ? ` (${note})` : null);
    const group = toggles && lines.length > 1 ? groupKeys(name, lines, toggles) : null;
    return h("figure.timeline", {}, h("figcaption", {}, title, group, legend), plot);
  }

  /** Mark parts of all plots: {from, to, kind}, in steps. */
  mark(marks) {
    const x = (step) => (SIZE.width * Math.max(0, Math.min(step, this.reach))) / this.reach;
    for (const picture of this.element.querySelectorAll("svg.curves")) {
      picture.querySelectorAll(".stretch").forEach((old) => old.remove());
      const boxes = marks.map(({ from, to, kind }) =>
        s(`rect.stretch.${kind}`, { x: x(from), y: 0, width: Math.max(3, x(to) - x(from)), height: SIZE.height }),
      );
      picture.prepend(...boxes);
    }
  }

  /** Move the cursor to a step, at most `last`, and show the values there. */
  move(step, last = Infinity) {
    const x = (SIZE.width * Math.min(step, last)) / this.reach;
    for (const cursor of this.cursors) {
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
    }
    for (const { line, value } of this.readings) {
      const place = Math.min(line.values.length - 1, Math.floor((step + 0.001) / line.every));
      value.textContent = number(line.values[place]);
    }
  }
}
