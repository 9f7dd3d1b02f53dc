// What can be done with selected runs: compare, label, hide, delete.

import { count, h } from "yardarm/dom";
import { ask, deletionForm, labelForm, tagForm } from "yardarm/labels";
import { address, problem, send } from "yardarm/live";

/** A bar of buttons. `page` has {selected, all, editable, select, applied(lines), deleted(trash)}. */
export class SelectionBar {
  constructor(page) {
    this.page = page;
    this.element = h("div.selected", { role: "group", "aria-label": "Selected runs" });
    this.said = h("div", { role: "status" });
  }

  show() {
    const { selected, all, editable } = this.page;
    const lines = [...selected].map((name) => all.get(name)).filter(Boolean);
    const runs = this.comparable(lines);
    const enough = runs.length >= 2;
    const compare = h(
      "button.main",
      { type: "button", disabled: !enough, onclick: () => (location.href = address("/compare", { run: runs })) },
      enough ? `Compare ${count(runs.length)} runs` : "Compare (select two or more)",
    );
    this.element.replaceChildren(
      lines.length ? h("strong", {}, `${count(lines.length)} selected`) : "",
      compare,
      ...(editable && lines.length ? this.changes(lines) : []),
      lines.length ? button("Clear", () => this.page.select(lines, false)) : "",
    );
  }

  /** The runs among the lines, and those of evaluations of several policies. */
  comparable(lines) {
    const several = new Set(lines.filter((line) => line.kind === "several").map((line) => line.name));
    const members = [...this.page.all.values()].filter((line) => several.has(line.within));
    const runs = [...lines, ...members].filter((line) => line.kind === "run" && line.status !== "damaged");
    return [...new Set(runs.map((line) => line.name))];
  }

  changes(lines) {
    const names = lines.map((line) => line.name);
    const applied = ({ lines: changed }) => this.page.applied(changed);
    const anyShown = lines.some((line) => !line.labels.hidden);
    const hide = () =>
      this.attempt(async () => applied(await send("/api/label", { names, change: { hidden: anyShown } })));
    const edit =
      lines.length === 1
        ? button("Edit …", () => ask("Name, tags, note", (done) => labelForm(lines[0], done), applied))
        : button("Tags …", () => ask(`Tags of ${count(lines.length)}`, (done) => tagForm(lines, done), applied));
    const remove = () =>
      ask(
        "Delete",
        (done) => deletionForm(names, done),
        ({ trash }) => this.deleted(trash),
      );
    return [edit, button(anyShown ? "Hide" : "Unhide", hide), button("Delete …", remove)];
  }

  /** Say what was deleted, with a button that puts it back. */
  deleted(trash) {
    const ids = trash.map((own) => own.id);
    const undo = () =>
      this.attempt(async () => {
        await send("/api/restore", { ids });
        await this.page.reload();
        this.said.replaceChildren(h("p.note", {}, "Put back."));
      });
    this.said.replaceChildren(
      h(
        "p.notice",
        {},
        `${count(trash.length)} in the trash. `,
        button("Undo", undo),
        " ",
        h("a", { href: "/trash" }, "Show the trash"),
      ),
    );
    this.page.deleted(trash.map((own) => own.name));
  }

  async attempt(work) {
    try {
      await work();
    } catch (error) {
      this.said.replaceChildren(problem(error));
    }
  }
}

const button = (text, onclick) => h("button", { type: "button", onclick }, text);
