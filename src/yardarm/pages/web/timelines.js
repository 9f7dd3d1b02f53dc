// Plots over the steps of an episode, with a cursor that follows its clock.

import { curves } from "yardarm/charts";
import { h, number } from "yardarm/dom";

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

  figure({ name, lines, note, ...options }) {
    const { reach, clock } = this;
    const plot = curves(lines, {
      steps: reach,
      label: `${name} over ${reach} steps`,
      cursor: true,
      ...SIZE,
      ...options,
    });
    const picture = plot.querySelector("svg");
    picture.addEventListener("pointerdown", (event) => clock.drag(event, picture, reach));
    const paths = [...picture.querySelectorAll(".line")];
    const legend = lines.map((line, place) => {
      const value = h("span.reading");
      this.readings.push({ line, value });
      const words = [line.title ?? "", " ", value];
      if (lines.length === 1) return h(`span.key.${line.kind}`, {}, words);
      return h(`button.key.${line.kind}`, { type: "button", "aria-pressed": "false", ...picking(paths, place) }, words);
    });
    const title = h("span", {}, name, note ? ` (${note})` : null);
    return h("figure.timeline", {}, h("figcaption", {}, title, legend), plot);
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
