// What all pages have in common: a header, and sections that are drawn again when what they show has changed.

import { h, themeButton } from "yardarm/dom";

/** The header, with a link to the list of runs where there is one. */
export function header(...content) {
  return h("header.top", {}, h("div", {}, content), themeButton());
}

/** Draws named sections in order, and on the next call only those that changed, so that nothing jumps. */
export class Sections {
  constructor(root) {
    this.root = root;
    this.drawn = new Map();
  }

  draw(sections) {
    let last = null;
    for (const [name, { shows, draw }] of Object.entries(sections)) {
      const key = JSON.stringify(shows);
      const before = this.drawn.get(name);
      let element = before?.element;
      if (before?.key !== key) {
        element = draw();
        if (before) keepOpen(before.element, element);
        if (before) before.element.replaceWith(element);
        else if (last) last.after(element);
        else this.root.append(element);
        this.drawn.set(name, { key, element });
      }
      last = element;
    }
  }
}

/** Details that were open stay open. */
function keepOpen(before, after) {
  const open = [...before.querySelectorAll("details")].map((details) => details.open);
  after.querySelectorAll("details").forEach((details, place) => (details.open = open[place] ?? false));
}
