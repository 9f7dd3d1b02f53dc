// Makes elements, and formats numbers.

const SVG = "http://www.w3.org/2000/svg";

/** Make an HTML element: h("p.note", {id: "x"}, "text", child). Text is never parsed as HTML. */
export function h(kind, attributes = {}, ...children) {
  return fill(document.createElement(tag(kind)), kind, attributes, children);
}

/** Make an SVG element. */
export function s(kind, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag(kind)), kind, attributes, children);
}

const tag = (kind) => kind.split(".")[0];

function fill(element, kind, attributes, children) {
  const classes = kind.split(".").slice(1).join(" ");
  if (classes) element.setAttribute("class", classes);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

export const OUTCOMES = {
  s: { name: "success", kind: "success", mark: "✓" },
  f: { name: "failure", kind: "failure", mark: "✗" },
  e: { name: "error", kind: "error", mark: "!" },
  "-": { name: "not played", kind: "missing", mark: "–" },
};

export const percent = (rate) => (rate === null || rate === undefined ? "–" : `${(100 * rate).toFixed(1)}%`);
export const percents = (low, high) => `${percent(low)} – ${percent(high)}`;
// Made once: making a format takes much longer than using it.
const WHOLE = new Intl.NumberFormat("en");
const MOMENT = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" };
const THIS_YEAR = new Intl.DateTimeFormat("en-GB", MOMENT);
const ANY_YEAR = new Intl.DateTimeFormat("en-GB", { ...MOMENT, year: "numeric" });
export const count = (whole) => WHOLE.format(whole);

export function points(difference) {
  if (difference === null || difference === undefined) return "–";
  return `${difference < 0 ? "−" : "+"}${Math.abs(100 * difference).toFixed(1)}`;
}

export function number(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  const text = value.toLocaleString("en", { maximumFractionDigits: size >= 100 ? 0 : size >= 1 ? 1 : 3 });
  return text === "-0" ? "0" : text;
}

/** A measured value, with the digits that matter next to values of this scale. */
export function measured(value, scale = value) {
  if (value === null || value === undefined) return "–";
  const size = Math.floor(Math.log10(Math.abs(scale) || 1) + 0.001); // treat 0.9999 as 1
  if (value !== 0 && (size < -4 || size > 6)) return value.toExponential(2);
  return value.toLocaleString("en", { maximumFractionDigits: Math.max(0, 3 - size) });
}

export function bytes(amount) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const place = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, amount)) / 3));
  return `${number(amount / 1000 ** place)} ${units[place]}`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A date and time; `whole` always includes the year. */
export function date(text, whole = false) {
  if (!text) return "–";
  const moment = new Date(text);
  if (Number.isNaN(moment.valueOf())) return text;
  const isThisYear = moment.getFullYear() === new Date().getFullYear();
  return (isThisYear && !whole ? THIS_YEAR : ANY_YEAR).format(moment);
}

/** A long name that may break after a slash or an underscore, and elsewhere only if necessary. */
export const breakable = (name) =>
  name.split(/(?<=[/_])/).flatMap((part, place) => (place ? [h("wbr"), part] : [part]));

/** A policy as the user named it, with its id beside it; `full` is all that was given. */
export function policy({ name, id, full }) {
  const beside = id && id !== name ? [" ", h("span.hash", {}, breakable(id))] : null;
  return h("span", { title: full === name ? null : full }, breakable(name), beside);
}

/** A sentence with `commands` in backquotes shown as code. */
export const prose = (text) => text.split("`").map((part, place) => (place % 2 ? h("code", {}, part) : part));

export function section(id, title, note, ...content) {
  return h(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    h("h2", { id: `${id}-title` }, title),
    note ? h("p.note", {}, note) : null,
    content,
  );
}

/** A list of names and values. */
export const factList = (pairs) =>
  h(
    "dl.facts",
    {},
    pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );

/** A list of names and values, without the empty ones. */
export function knownFacts(content) {
  const known = Object.entries(content).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return factList(
    known.map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : String(value)]),
  );
}

/** Content that is shown when its title is clicked. */
export const folded = (title, content) => h("details", {}, h("summary", {}, title), content);

/** A badge with a mark, so that outcomes differ by more than their colour. */
export function outcome(letter) {
  const { name, kind, mark } = OUTCOMES[letter];
  return h(`span.outcome.${kind}`, {}, h("span", { "aria-hidden": "true" }, mark), " ", h("span.word", {}, name));
}

/** A command that can be copied. */
export function command(text) {
  const status = h("span", { role: "status" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      status.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(code); // a page opened from disk may not have access to the clipboard
      status.textContent = "selected";
    }
    setTimeout(() => (status.textContent = ""), 2000);
  };
  const code = h("code", {}, text);
  return h("div.command", {}, code, h("button", { type: "button", onclick: copy }, "Copy"), status);
}

/** A button that switches between the system's colours, light and dark. */
export function themeButton() {
  const themes = ["auto", "light", "dark"];
  const read = () => {
    try {
      return localStorage.getItem("yardarm-theme") ?? "auto";
    } catch {
      return "auto"; // some browsers have no storage for pages from disk
    }
  };
  const apply = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.textContent = { auto: "◐ System", light: "☀ Light", dark: "☾ Dark" }[theme];
    button.setAttribute("aria-label", `Colours: ${theme}. Switch.`);
  };
  const button = h("button.theme", {
    type: "button",
    onclick: () => {
      const next = themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length];
      try {
        localStorage.setItem("yardarm-theme", next);
      } catch {
        // the choice lasts as long as the page
      }
      apply(next);
    },
  });
  apply(read());
  return button;
}
