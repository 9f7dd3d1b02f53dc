// A table that can be sorted by its columns, and that shows its rows a page at a time.

import { count, h } from "yardarm/dom";

const PAGE = 100;

/**
 * Columns: {title, value(row), cell(row, value), numeric, hidden: "narrow"}. Sorting is by value; `sorted` names the
 * first column and direction. `rowId(row)` names a row for links.
 */
export class Table {
  constructor(columns, { caption, sorted = null, page = PAGE, rowClass = () => "" } = {}) {
    this.columns = columns;
    this.sorted = sorted;
    this.page = page;
    this.rowClass = rowClass;
    this.rows = [];
    this.shown = page;
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
    const same = this.sorted?.place === place;
    this.sorted = { place, down: same ? !this.sorted.down : Boolean(this.columns[place].numeric) };
    this.shown = this.page;
    this.draw();
  }

  showMore() {
    this.shown += 10 * this.page;
    this.draw();
  }

  draw() {
    const rows = this.inOrder();
    this.heads.forEach((head, place) => {
      const own = this.sorted?.place === place;
      if (own) head.setAttribute("aria-sort", this.sorted.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    this.body.replaceChildren(...rows.slice(0, this.shown).map((row) => this.row(row)));
    this.more.hidden = rows.length <= this.shown;
    this.more.textContent = `Show more (${count(Math.min(this.shown, rows.length))} of ${count(rows.length)})`;
  }

  inOrder() {
    if (!this.sorted) return this.rows;
    const { place, down } = this.sorted;
    const value = this.columns[place].value;
    const keyed = this.rows.map((row, order) => ({ row, order, key: value(row) }));
    const sign = down ? -1 : 1;
    keyed.sort((a, b) => sign * compare(a.key, b.key) || a.order - b.order);
    return keyed.map(({ row }) => row);
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

const classes = (column) => (column.numeric ? ".numeric" : "") + (column.narrow === false ? ".wide-only" : "");

function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  if (typeof a === "string") return a.localeCompare(b, undefined, { numeric: true });
  return a < b ? -1 : 1;
}
