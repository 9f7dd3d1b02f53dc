// A table that can be sorted by its columns, and shows its rows in pages.

import { count, h } from "yardarm/dom";
import { keepFocus } from "yardarm/page";

const PAGE = 100;
// Shared by all comparisons: making a collator takes longer than comparing.
const WORDS = new Intl.Collator(undefined, { numeric: true });

/**
 * Columns: {title, value(row), cell(row), numeric, heading, narrow, medium, tight}. A column with a `value` can be sorted
 * by it; `cell` returns the content; `narrow: false` hides a column on a phone, `medium: false` on a tablet, too; a `tight`
 * one is as narrow as can be. `sorted` is the initial order; `state` keeps the reader's order for a table that replaces
 * this one.
 */
export class Table {
  constructor(columns, { caption, sorted = null, page = PAGE, rowClass = () => "", state = {} } = {}) {
    this.columns = columns;
    this.state = state;
    this.state.sorted ??= sorted;
    this.state.shown ??= page;
    this.page = page;
    this.rowClass = rowClass;
    this.rows = [];
    this.body = h("tbody");
    this.more = h("button.more", { type: "button", onclick: () => this.showMore() });
    this.heads = columns.map((column, place) => this.head(column, place));
    const table = h("table", {}, h("caption.hidden", {}, caption), h("thead", {}, h("tr", {}, this.heads)), this.body);
    this.element = h(
      "div.table",
      {},
      h("div.scroll", { tabindex: "0", role: "region", "aria-label": caption }, table),
      this.more,
    );
  }

  head(column, place) {
    const kind = classes(column);
    if (!column.value) return h(`th${kind}`, { scope: "col" }, column.title);
    const button = h("button", { type: "button", onclick: () => this.sortBy(place) }, column.title);
    return h(`th${kind}`, { scope: "col" }, button);
  }

  setRows(rows) {
    this.rows = rows;
    this.draw();
  }

  sortBy(place) {
    const { sorted } = this.state;
    const same = sorted?.place === place;
    this.state.sorted = { place, down: same ? !sorted.down : Boolean(this.columns[place].numeric) };
    this.state.shown = this.page;
    this.draw();
  }

  showMore() {
    this.state.shown += 10 * this.page;
    this.draw();
  }

  draw() {
    const rows = this.inOrder();
    const { sorted, shown } = this.state;
    this.heads.forEach((head, place) => {
      const own = sorted?.place === place;
      if (own) head.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const nothing = h("tr", {}, h("td.note", { colspan: this.columns.length }, "No matching rows."));
    const drawn = rows.slice(0, shown).map((row) => this.row(row));
    keepFocus(this.body, () => this.body.replaceChildren(...(drawn.length ? drawn : [nothing])));
    this.more.hidden = rows.length <= shown;
    this.more.textContent = `Show more (${count(Math.min(shown, rows.length))} of ${count(rows.length)})`;
  }

  inOrder() {
    if (!this.state.sorted) return this.rows;
    const { place, down } = this.state.sorted;
    return inOrder(this.rows, this.columns[place].value, down);
  }

  row(row) {
    const cells = this.columns.map((column) => {
      const content = column.cell ? column.cell(row) : column.value(row);
      const kind = classes(column);
      return column.heading ? h(`th${kind}`, { scope: "row" }, content) : h(`td${kind}`, {}, content);
    });
    return h(`tr${this.rowClass(row)}`, {}, cells);
  }
}

/** Rows ordered by a value; equal ones stay as they are. */
export function inOrder(rows, value, down) {
  const keyed = rows.map((row, order) => ({ row, order, key: value(row) }));
  const sign = down ? -1 : 1;
  keyed.sort((a, b) => sign * compare(a.key, b.key) || a.order - b.order);
  return keyed.map(({ row }) => row);
}

const classes = ({ numeric, narrow, medium, tight }) =>
  (numeric ? ".numeric" : "") +
  (medium === false ? ".wider-only" : narrow === false ? ".wide-only" : "") +
  (tight ? ".tight" : "");

function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  if (typeof a === "string") return WORDS.compare(a, b);
  return a < b ? -1 : 1;
}
