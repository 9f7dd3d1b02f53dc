// The reader's choices, kept in the page's address: a view can be shared, and the back button undoes a choice.

const KEPT = "yardarm-runs";

/** Choices with their defaults, which the address omits. A default that is a list may have several values. */
export class Choices {
  constructor(defaults, changed) {
    this.defaults = defaults;
    this.changed = changed;
    // Whoever comes back from another page without an address of their own finds what they left.
    if (!location.search) history.replaceState(null, "", sessionStorage.getItem(KEPT) || location.pathname);
    this.read();
    addEventListener("popstate", () => {
      this.read();
      this.changed();
    });
    addEventListener("pagehide", () => sessionStorage.setItem(KEPT, location.pathname + location.search));
  }

  read() {
    const words = new URLSearchParams(location.search);
    this.values = Object.fromEntries(
      Object.entries(this.defaults).map(([name, usual]) => [
        name,
        Array.isArray(usual) ? words.getAll(name) : (words.get(name) ?? usual),
      ]),
    );
  }

  /** Change some; while somebody types, the address changes without a new step of the back button. */
  set(values, { typing = false } = {}) {
    Object.assign(this.values, values);
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries(this.values)) {
      if (Array.isArray(value)) value.forEach((own) => words.append(name, own));
      else if (value !== this.defaults[name]) words.set(name, value);
    }
    const place = words.size ? `${location.pathname}?${words}` : location.pathname;
    if (typing) history.replaceState(null, "", place);
    else history.pushState(null, "", place);
    this.changed();
  }

  toggle(name, value) {
    const own = this.values[name];
    this.set({ [name]: own.includes(value) ? own.filter((other) => other !== value) : [...own, value] });
  }
}
