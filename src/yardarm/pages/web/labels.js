// Names, tags and notes of runs and trainings: shown, and changed if the viewer may.

import { bytes, count, h } from "yardarm/dom";
import { address, load, problem, send } from "yardarm/live";

/** Tags as small words; with `chosen`, each is a button. */
export function tagList(tags, chosen = null) {
  if (!tags.length) return null;
  const one = (tag) =>
    chosen
      ? h("button.tag", { type: "button", onclick: () => chosen(tag), "aria-label": `Only tag ${tag}` }, tag)
      : h("span.tag", {}, tag);
  return h("div.tags", {}, tags.map(one));
}

const split = (text) => [...new Set(text.split(",").map((tag) => tag.trim()))].filter(Boolean);

/** A form for the labels of one run; `done` is called with the new line, or without one if nothing was changed. */
export function labelForm(line, done) {
  const { name, tags, note } = line.labels;
  const fields = {
    name: h("input", { maxlength: 100, value: name, placeholder: line.name }),
    tags: h("input", { value: tags.join(", "), placeholder: "baseline, camera 2" }),
    note: h("textarea", { rows: 4, maxlength: 10000 }, note),
  };
  const save = () => {
    const wanted = split(fields.tags.value);
    const change = { name: fields.name.value, note: fields.note.value, add: wanted };
    change.remove = tags.filter((tag) => !wanted.includes(tag));
    return send("/api/label", { names: [line.name], change });
  };
  return form("Save", save, done, [
    labelled("Name", fields.name),
    labelled("Tags, separated by commas", fields.tags),
    labelled("Note", fields.note),
  ]);
}

/** A form that adds and removes tags of several runs. */
export function tagForm(lines, done) {
  const known = [...new Set(lines.flatMap((line) => line.labels.tags))].sort();
  const add = h("input", { placeholder: "baseline, camera 2" });
  const boxes = known.map((tag) => h("input", { type: "checkbox", value: tag }));
  const save = () => {
    const remove = boxes.filter((box) => box.checked).map((box) => box.value);
    return send("/api/label", { names: lines.map((line) => line.name), change: { add: split(add.value), remove } });
  };
  const removing = h(
    "fieldset",
    {},
    h("legend", {}, "Remove"),
    boxes.map((box, place) => h("label.choice", {}, box, known[place])),
  );
  return form("Save", save, done, [labelled("Add, separated by commas", add), known.length ? removing : null]);
}

/** A question before folders are moved to the trash; says how much it is, and who would miss it. */
export function deletionForm(names, done) {
  const about = h("div", { role: "status" }, h("p.note", {}, "Measuring …"));
  const made = form("Move to the trash", () => send("/api/delete", { names }), done, [about]);
  made.querySelector("button").disabled = true;
  load("/api/deletion", { name: names })
    .then(({ size, runs, checkpoints, warnings }) => {
      const inside = [
        runs ? `${count(runs)} ${runs === 1 ? "run" : "runs"}` : null,
        checkpoints ? `${count(checkpoints)} ${checkpoints === 1 ? "checkpoint" : "checkpoints"}` : null,
        bytes(size),
      ];
      about.replaceChildren(
        h(
          "ul.plain-list",
          {},
          names.map((name) => h("li", {}, name)),
        ),
        h("p", {}, `${inside.filter(Boolean).join(", ")}. You can put it back until you empty the trash.`),
        ...warnings.map((text) => h("p.warning", {}, text)),
      );
      made.querySelector("button").disabled = false;
      made.querySelector("button").focus();
    })
    .catch((error) => about.replaceChildren(problem(error)));
  return made;
}

/** Show a form in a dialog, which closes when it is done. */
export function ask(title, make, done) {
  const dialog = h("dialog", { "aria-label": title });
  const finish = (result) => {
    dialog.close();
    if (result) done(result);
  };
  dialog.append(h("h2", {}, title), make(finish));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

const labelled = (text, field) => h("label.field", {}, h("span", {}, text), field);

function form(action, save, done, content) {
  const trouble = h("div");
  const submit = async (event) => {
    event.preventDefault();
    try {
      done(await save());
    } catch (error) {
      trouble.replaceChildren(problem(error));
    }
  };
  return h(
    "form.labels",
    { onsubmit: submit },
    content,
    trouble,
    h(
      "div.bar",
      {},
      h("button.main", { type: "submit" }, action),
      h("button", { type: "button", onclick: () => done() }, "Cancel"),
    ),
  );
}

/** The labels on the page of a run or a training: `show` draws them, again and again while the page is open. */
export class LabelBlock {
  /** `changed` is called after a change, to draw what else shows it. */
  constructor(changed) {
    this.element = h("div.label-block");
    this.changed = changed;
    this.editing = false;
  }

  show(line, editable) {
    if (this.editing) return;
    const { labels } = line;
    const trouble = h("div");
    const redraw = (answer) => {
      this.editing = false;
      this.show(answer?.lines[0] ?? line, editable);
      if (answer) this.changed();
    };
    const edit = () => {
      this.editing = true;
      this.element.replaceChildren(labelForm(line, redraw));
      this.element.querySelector("input").focus();
    };
    const hide = async () => {
      try {
        redraw(await send("/api/label", { names: [line.name], change: { hidden: !labels.hidden } }));
      } catch (error) {
        trouble.replaceChildren(problem(error));
      }
    };
    const leave = () => (location.href = address("/trash", {}));
    const remove = () => ask("Delete", (done) => deletionForm([line.name], done), leave);
    const button = (text, onclick) => h("button.small-button", { type: "button", onclick }, text);
    this.element.replaceChildren(
      ...[
        labels.name ? h("p.note", {}, line.name) : null,
        tagList(labels.tags),
        labels.note ? h("p.run-note", {}, labels.note) : null,
        line.labels_problem ? h("p.warning", {}, line.labels_problem) : null,
        trouble,
        editable
          ? h(
              "div.bar",
              {},
              button(labels.name || labels.tags.length || labels.note ? "Edit" : "Add name, tags, note", edit),
              button(labels.hidden ? "Unhide" : "Hide", hide),
              line.part || line.name === "." ? null : button("Delete …", remove),
            )
          : null,
      ].filter(Boolean),
    );
  }
}
