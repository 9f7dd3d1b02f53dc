// What was deleted: put it back, or delete it for good.

import { breakable, bytes, count, date, h } from "yardarm/dom";
import { load, problem, send } from "yardarm/live";
import { header } from "yardarm/page";
import { Table } from "yardarm/tables";

const main = document.getElementById("main");
const said = h("div", { role: "status" });
const list = h("div");

async function attempt(work) {
  try {
    said.replaceChildren(await work());
    await draw();
  } catch (error) {
    said.replaceChildren(problem(error));
  }
}

const restore = (own) =>
  attempt(async () => {
    const { restored } = await send("/api/restore", { ids: [own.id] });
    return h("p.notice", {}, `Put back: ${restored.join(", ")}`);
  });

const empty = () =>
  attempt(async () => h("p.notice", {}, `Freed ${bytes((await send("/api/empty_trash", {})).freed)}.`));

function columns(editable) {
  const put = (own) =>
    h("button", { type: "button", "aria-label": `Put back ${own.name}`, onclick: () => restore(own) }, "Put back");
  return [
    { title: "Was", heading: true, value: (own) => own.name, cell: (own) => breakable(own.name) },
    { title: "Deleted", value: (own) => own.deleted, cell: (own) => date(own.deleted) },
    { title: "Size", numeric: true, value: (own) => own.size, cell: (own) => h("span.nowrap", {}, bytes(own.size)) },
    ...(editable ? [{ title: "", cell: put }] : []),
  ];
}

/** Two steps: the first says what would be lost. */
function emptying(trash) {
  const size = bytes(trash.reduce((sum, own) => sum + own.size, 0));
  const bar = h("div.bar");
  const first = () =>
    bar.replaceChildren(h("button", { type: "button", onclick: second }, `Empty the trash (${size}) …`));
  const second = () => {
    const many = trash.length === 1 ? "1 folder" : `${count(trash.length)} folders`;
    const sure = h("button.main", { type: "button", onclick: empty }, "Delete for good");
    const not = h("button", { type: "button", onclick: first }, "Cancel");
    bar.replaceChildren(
      h("strong", {}, `Delete ${many} for good? This frees ${size} and cannot be undone.`),
      sure,
      not,
    );
    not.focus();
  };
  first();
  return bar;
}

async function draw() {
  const { folder, editable, trash } = await load("/api/trash");
  const table = new Table(columns(editable), { caption: "Deleted runs" });
  table.setRows(trash);
  list.replaceChildren(
    h("p.note.path", {}, `${folder}/.trash`),
    ...(trash.length ? [table.element, editable ? emptying(trash) : ""] : [h("p", {}, "The trash is empty.")]),
  );
}

document.title = "Trash · Yardarm";
main.replaceChildren(
  header(h("a.brand", { href: "/" }, "Yardarm"), h("a", { href: "/" }, "All runs")),
  h("h1", {}, "Trash"),
  said,
  list,
);
draw().catch((error) => list.replaceChildren(problem(error)));
