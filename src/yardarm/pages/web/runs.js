// The list of runs, trainings and evaluations of several policies.

import { Choices } from "yardarm/choices";
import { count, h } from "yardarm/dom";
import { chosenLines, isHidden, narrows } from "yardarm/filters";
import { listen, load, problem } from "yardarm/live";
import { header } from "yardarm/page";
import { order, RunTable, SORTS } from "yardarm/run_table";
import { GROUPS, treeRows } from "yardarm/run_tree";
import { SelectionBar } from "yardarm/selection";

const DEFAULTS = {
  search: "",
  status: "",
  benchmark: "",
  policy: "",
  tag: "",
  hidden: "",
  group: "folder",
  sort: "-started",
  folded: [], // what is folded or unfolded unlike at first
};
const KINDS = ["runs", "trainings", "evaluations"];
const main = document.getElementById("main");
const SELECTED = "yardarm-selected";

class RunsPage {
  constructor({ folder, editable, ...lines }) {
    this.editable = editable;
    this.all = new Map();
    this.kinds = Object.fromEntries(KINDS.map((kind) => [kind, new Map()]));
    this.selected = new Set(JSON.parse(sessionStorage.getItem(SELECTED) ?? "[]"));
    this.choices = new Choices(DEFAULTS, () => this.draw());
    this.table = new RunTable(this);
    this.bar = new SelectionBar(this);
    this.tally = h("span.note", { role: "status" });
    this.nothing = h("p", {}, "No runs here yet. Start one with yardarm eval …, and it will appear on this page.");
    this.list = h("div");
    this.controls = this.makeControls();
    const links = h("nav", {}, h("a", { href: "/trash" }, "Trash"));
    main.replaceChildren(
      header(h("span.brand", {}, "Yardarm"), links),
      h("h1", {}, "Runs"),
      h("p.note.path", {}, folder),
      h(
        "div.filters",
        {},
        Object.values(this.controls).map(({ element }) => element),
      ),
      h("div.selection", {}, this.tally, this.clear, this.bar.element),
      this.bar.said,
      this.list,
    );
    this.show(lines);
    addEventListener("pagehide", () => sessionStorage.setItem(SELECTED, JSON.stringify([...this.selected])));
  }

  makeControls() {
    const search = h("input", {
      type: "search",
      placeholder: "name, tag, policy, task, status …",
      "aria-label": "Search runs",
      oninput: () => this.choices.set({ search: search.value }, { typing: true }),
    });
    const hidden = h("input", {
      type: "checkbox",
      onchange: () => this.choices.set({ hidden: hidden.checked ? "true" : "" }),
    });
    const everything = { ...DEFAULTS, folded: [] };
    this.clear = h(
      "button.small-button",
      { type: "button", onclick: () => this.choices.set(everything) },
      "Clear filters",
    );
    const hiddenText = h("span");
    const sort = this.makeSelect("Sort by", "sort");
    sort.element.classList.add("narrow-only");
    return {
      search: { element: search, show: (value) => search.value === value || (search.value = value) },
      status: this.makeSelect("Status", "status"),
      benchmark: this.makeSelect("Benchmark", "benchmark"),
      policy: this.makeSelect("Policy", "policy"),
      tag: this.makeSelect("Tag", "tag"),
      group: this.makeSelect("Group by", "group"),
      sort,
      hidden: {
        element: h("label.choice", {}, hidden, hiddenText),
        show: (value, amount) => {
          hidden.checked = value === "true";
          hiddenText.textContent = `Hidden (${count(amount)})`;
          hidden.closest("label").hidden = !amount && !hidden.checked;
        },
      },
    };
  }

  makeSelect(title, name) {
    const field = h("select", { onchange: () => this.choices.set({ [name]: field.value }) });
    const element = h("label.choice", {}, title, field);
    let known = "";
    const show = (value, options) => {
      const own = options.some(([key]) => key === value) ? options : [...options, [value, value]];
      const key = JSON.stringify(own);
      if (key !== known) field.replaceChildren(...own.map(([word, text]) => h("option", { value: word }, text)));
      known = key;
      field.value = value;
      element.hidden = own.length < 3 && !value;
    };
    return { element, show };
  }

  /** Show these lines and no others. */
  show(lines) {
    const added = (changed) => ({ changed, gone: [] });
    this.update({ ...Object.fromEntries(KINDS.map((kind) => [kind, added(lines[kind])])), all: true });
  }

  /** Show what is there now: what was deleted and put back within a moment is no change for the viewer. */
  async reload() {
    this.show(await load("/api/runs"));
  }

  /** Apply changes; with `all`, these are all lines. */
  update(changes) {
    for (const kind of KINDS) {
      const known = this.kinds[kind];
      if (changes.all) known.clear();
      for (const line of changes[kind].changed) known.set(line.name, line);
      for (const name of changes[kind].gone) known.delete(name);
    }
    this.all = new Map(KINDS.flatMap((kind) => [...this.kinds[kind]]));
    for (const name of [...this.selected]) if (!this.all.has(name)) this.selected.delete(name);
    this.draw();
  }

  draw() {
    const { values } = this.choices;
    const lines = chosenLines(this.all, values);
    const { place, value, down } = order(values.sort);
    const isOpen = (key, usual) => values.folded.includes(key) !== usual;
    const allOpen = narrows(values); // what was searched for is not folded away
    this.shown = lines;
    this.table.state.sorted = { place, down };
    this.table.setRows(treeRows(this.all, lines, { group: this.group(), value, down, isOpen, allOpen }));
    const whole = this.all.size;
    const [some, all] = [count(lines.length), count(whole)];
    const noun = whole === 1 ? "run" : "runs";
    this.tally.textContent = lines.length === whole ? `${all} ${noun}` : `${some} of ${all} ${noun}`;
    this.clear.hidden = !narrows(values) && !values.hidden;
    const content = whole ? this.table.element : this.nothing;
    if (!content.isConnected) this.list.replaceChildren(content);
    this.showControls(values);
    this.showSelection();
  }

  showControls(values) {
    const lines = [...this.all.values()];
    const any = (found) => [["", "any"], ...[...new Set(found.filter(Boolean))].sort().map((word) => [word, word])];
    this.controls.search.show(values.search);
    this.controls.status.show(values.status, any(lines.map((line) => line.status)));
    this.controls.benchmark.show(values.benchmark, any(lines.flatMap((line) => line.benchmarks ?? [])));
    this.controls.policy.show(values.policy, any(lines.map((line) => line.policy)));
    this.controls.tag.show(values.tag, any(lines.flatMap((line) => line.labels.tags)));
    this.controls.group.show(this.group(), Object.entries(GROUPS));
    const sorts = Object.entries(SORTS).flatMap(([word, title]) => [
      [word, `${title} ↑`],
      [`-${word}`, `${title} ↓`],
    ]);
    this.controls.sort.show(values.sort, sorts);
    this.controls.hidden.show(values.hidden, lines.filter((line) => isHidden(line, this.all)).length);
  }

  showSelection() {
    const on = this.shown.filter((line) => this.selected.has(line.name)).length;
    this.table.all.checked = on > 0 && on === this.shown.length;
    this.table.all.indeterminate = on > 0 && on < this.shown.length;
    this.bar.show();
  }

  group() {
    return this.choices.values.group in GROUPS ? this.choices.values.group : "folder";
  }

  sort(word) {
    this.choices.set({ sort: word });
  }

  fold(key) {
    this.choices.toggle("folded", key);
  }

  filterTag = (tag) => this.choices.set({ tag });

  selectAll(on) {
    this.select(this.shown, on);
  }

  select(lines, on) {
    for (const { name } of lines) {
      if (on) this.selected.add(name);
      else this.selected.delete(name);
    }
    this.draw();
  }

  applied(lines) {
    for (const line of lines) {
      for (const known of Object.values(this.kinds)) if (known.has(line.name)) known.set(line.name, line);
      this.all.set(line.name, line);
    }
    this.draw();
  }

  deleted(names) {
    const isGone = (name) => names.some((own) => name === own || name.startsWith(`${own}/`));
    const gone = [...this.all.keys()].filter(isGone);
    this.update(Object.fromEntries(KINDS.map((kind) => [kind, { changed: [], gone }])));
  }
}

async function start() {
  main.replaceChildren(h("p.note", { role: "status" }, "Loading runs …"));
  try {
    const first = await load("/api/runs");
    document.title = "Runs · Yardarm";
    main.classList.add("long"); // many columns
    const page = new RunsPage(first);
    listen("/api/events", {}, (changes) => page.update(changes));
  } catch (error) {
    main.replaceChildren(problem(error));
  }
}

start();
