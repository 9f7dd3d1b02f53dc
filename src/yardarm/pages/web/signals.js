// The signals of an episode by name: each can be shown or hidden, and the choice is kept in the address.

import { h } from "yardarm/dom";
import { button } from "yardarm/review";
import { linesOf, Timelines } from "yardarm/timelines";

const HIDDEN = "hidden";
const OVER = "over";

/** Plots of all numeric features, with toggles. */
export class Signals {
  constructor(numbers, reach, clock) {
    this.numbers = numbers;
    this.reach = reach;
    this.timelines = new Timelines(clock);
    this.timelines.element.classList.add("timelines");
    this.marks = [];
    const words = new URLSearchParams(location.search);
    this.hidden = new Set(words.getAll(HIDDEN).flatMap((own) => this.keysOf(own)));
    this.over = words.get(OVER) === "1" && this.shared.size > 0;
    this.bar = h("div.choices.signals", { role: "group", "aria-label": "Signals" });
    this.element = h("div", {}, this.bar, this.timelines.element);
  }

  /** The keys of a feature's lines, or of one line. */
  keysOf(word) {
    const feature = this.numbers.find((own) => own.name === word);
    return feature ? feature.names.map((name) => `${word}/${name}`) : [word];
  }

  /** The names that several features have, like a joint's state and its action. */
  get shared() {
    const counts = new Map();
    for (const { names, dimensions } of this.numbers) {
      if (dimensions > 1) names.forEach((name) => counts.set(name, (counts.get(name) ?? 0) + 1));
    }
    return new Set([...counts].filter(([, times]) => times > 1).map(([name]) => name));
  }

  draw() {
    const { numbers, shared } = this;
    const all = numbers.flatMap((feature) => this.linesOf(feature));
    const over = all.filter((line) => this.over && shared.has(line.title) && line.several);
    const plots = [...(this.over ? this.overPlots(over) : []), ...numbers.map((feature) => this.plot(feature, over))];
    this.timelines.draw(plots, this.reach);
    this.timelines.mark(this.marks);
    const toggle = button("State and action over each other", () => this.set(() => (this.over = !this.over)), {
      "aria-pressed": String(this.over),
    });
    const show = button("Show all signals", () => this.set(() => this.hidden.clear()));
    const hide = button("Hide all", () => this.set(() => all.forEach((line) => this.hidden.add(line.key))));
    this.bar.replaceChildren(show, hide, ...(shared.size ? [toggle] : []));
  }

  linesOf(feature) {
    const several = feature.dimensions > 1;
    const titles = several ? feature.names : [""];
    return linesOf(feature.values, titles, { every: feature.every, first: 0 }).map((line, place) => ({
      ...line,
      key: `${feature.name}/${feature.names[place]}`,
      feature: feature.name,
      several,
    }));
  }

  /** A plot of a feature, without the lines that are drawn over each other elsewhere. */
  plot(feature, elsewhere) {
    const taken = new Set(elsewhere.map((line) => line.key));
    const left = feature.dimensions - feature.values.length;
    return {
      name: feature.name,
      lines: this.linesOf(feature).filter((line) => !taken.has(line.key)),
      note: left ? `the first ${feature.values.length} of ${feature.dimensions}` : null,
      free: feature.dimensions > 1,
      toggles: this.toggles,
    };
  }

  /** A plot for each shared name, with a line for each feature. */
  overPlots(lines) {
    const names = [...new Set(lines.map((line) => line.title))];
    const features = [...new Set(lines.map((line) => line.feature))];
    const own = (name) => lines.filter((line) => line.title === name);
    const drawn = (line) => ({ ...line, title: line.feature, kind: `d${features.indexOf(line.feature) % 8}` });
    return names.map((name) => ({ name, lines: own(name).map(drawn), free: true, toggles: this.toggles }));
  }

  get toggles() {
    return {
      shows: (line) => !this.hidden.has(line.key),
      toggle: (line) =>
        this.set(() => (this.hidden.has(line.key) ? this.hidden.delete(line.key) : this.hidden.add(line.key))),
      all: (lines, shown) =>
        this.set(() => lines.forEach((line) => (shown ? this.hidden.delete(line.key) : this.hidden.add(line.key)))),
    };
  }

  set(change) {
    change();
    const focused = document.activeElement?.getAttribute("data-focus");
    const words = new URLSearchParams(location.search);
    this.write(words);
    history.replaceState(null, "", `${location.pathname}?${words}`);
    this.draw();
    this.timelines.move(this.timelines.clock.step);
    if (focused) this.element.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
    this.onChange?.();
  }

  /** Write the choice into the parameters of an address; a feature without any line is written as one word. */
  write(words) {
    words.delete(HIDDEN);
    words.delete(OVER);
    for (const { name } of this.numbers) {
      const keys = this.keysOf(name);
      const gone = keys.filter((key) => this.hidden.has(key));
      (gone.length === keys.length ? [name] : gone).forEach((word) => words.append(HIDDEN, word));
    }
    if (this.over) words.set(OVER, "1");
  }

  mark(marks) {
    this.marks = marks;
    this.timelines.mark(marks);
  }
}
