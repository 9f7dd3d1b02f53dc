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

// A page with fewer sections shows its own contents.
const FEWEST = 5;

/** The table of contents of a page's sections, which stays at the top while the page is scrolled. */
export class Contents {
  constructor(root) {
    this.root = root;
    this.element = h("nav.contents", { "aria-label": "On this page" });
    this.titles = "";
    addEventListener("scroll", () => this.mark(), { passive: true });
  }

  /** List the sections that are there now, below what every reader sees first. */
  list() {
    const sections = [...this.root.children].filter((own) => own.matches("section[id]:not([hidden])"));
    const titled = sections.filter((own) => own.querySelector("h2"));
    const titles = JSON.stringify(titled.map((own) => [own.id, own.querySelector("h2").textContent]));
    if (titles === this.titles) return;
    this.titles = titles;
    const listed = titled.filter((own) => own.id !== "pictures");
    const first = sections.filter((own) => own.id === "headline" || own.id === "pictures").at(-1);
    if (listed.length < FEWEST) return this.element.remove();
    this.element.replaceChildren(
      ...listed.map((own) => h("a", { href: `#${own.id}` }, own.dataset.short ?? own.querySelector("h2").textContent)),
    );
    if (first) first.after(this.element);
    else this.root.prepend(this.element);
    this.mark();
  }

  /** Mark the section that is being read. */
  mark() {
    const line = this.element.getBoundingClientRect().bottom + 40;
    const links = [...this.element.children];
    const above = links.filter(({ hash }) => document.getElementById(hash.slice(1))?.getBoundingClientRect().top < line);
    links.forEach((link) => link.toggleAttribute("aria-current", link === above.at(-1)));
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
