// Shared by all pages: the header, and sections that are redrawn when their data changes.

import { h, themeButton } from "yardarm/dom";

/** The header, with links back. */
export function header(...content) {
  return h("header.top", {}, h("div", {}, content), themeButton());
}

/**
 * Draws named sections in order, and on later calls only those that changed. `draw` gets an object that stays the same
 * from one drawing to the next, for the reader's choices.
 */
export class Sections {
  constructor(root) {
    this.root = root;
    this.drawn = new Map();
  }

  draw(sections) {
    for (const [name, { element }] of this.drawn) {
      if (sections[name]) continue;
      element.remove();
      this.drawn.delete(name);
    }
    let last = null;
    for (const [name, { shows, draw }] of Object.entries(sections)) {
      const key = JSON.stringify(shows);
      const own = this.drawn.get(name) ?? { state: {} };
      if (own.key !== key) {
        const before = own.element;
        Object.assign(own, { key, element: draw(own.state) });
        if (before) replace(before, own.element);
        else if (last) last.after(own.element);
        else this.root.prepend(own.element);
        this.drawn.set(name, own);
      }
      last = own.element;
    }
  }
}

/** Replace a section: open details stay open, and the focus stays where it was. */
function replace(before, after) {
  const open = [...before.querySelectorAll("details")].map((details) => details.open);
  after.querySelectorAll("details").forEach((details, place) => (details.open = open[place] ?? false));
  keepFocus(before, () => {
    before.replaceWith(after);
    return after;
  });
}

/** Change an element's content, and restore the focus by label or address. */
export function keepFocus(root, change) {
  const active = root.contains(document.activeElement) ? document.activeElement : null;
  const label = active?.getAttribute("aria-label");
  const href = active?.getAttribute("href");
  const inside = change() ?? root;
  if (!active || active.isConnected) return;
  const same = [...inside.querySelectorAll("a, button, input, select")].find(
    (own) => (href && own.getAttribute("href") === href) || (label && own.getAttribute("aria-label") === label),
  );
  same?.focus({ preventScroll: true });
}
