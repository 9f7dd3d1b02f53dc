// The list of datasets.

import { breakable, count, duration, h } from "yardarm/dom";
import { address, load, problem } from "yardarm/live";
import { header } from "yardarm/page";
import { Table } from "yardarm/tables";

const main = document.getElementById("main");

const wide = (title, key, more) => ({ title, narrow: false, value: (data) => data[key], ...more });
const number = (key) => ({ numeric: true, cell: (data) => (data.problem ? "" : count(data[key])) });

const columns = [
  { title: "Dataset", heading: true, value: (data) => data.name, cell: name },
  wide("Robot", "robot", { cell: (data) => data.robot ?? "" }),
  { title: "Episodes", value: (data) => data.episodes, ...number("episodes") },
  wide("Frames", "frames", number("frames")),
  {
    title: "Time",
    numeric: true,
    value: (data) => data.seconds,
    cell: (data) => h("span.nowrap", {}, data.problem ? "" : duration(data.seconds)),
  },
  wide("Frames per second", "fps", { numeric: true }),
  wide("Tasks", "tasks", number("tasks")),
  wide("Cameras", "cameras", {
    value: (data) => data.cameras?.length,
    cell: (data) => h("span.clip", { title: data.cameras?.join(", ") }, data.cameras?.join(", ") ?? ""),
  }),
];

function name(data) {
  const text = breakable(data.name);
  if (data.problem) return [text, h("div.small", {}, data.problem)];
  return h("a", { href: address("/dataset", { dataset: data.name }) }, text);
}

async function start() {
  main.replaceChildren(h("p.note", { role: "status" }, "Looking for datasets …"));
  try {
    const { folders, datasets } = await load("/api/datasets");
    document.title = "Datasets · Yardarm";
    main.classList.add("long"); // many columns
    const table = new Table(columns, { caption: "Datasets", sorted: { place: 0, down: false } });
    const tally = h("span.note", { role: "status" });
    const show = () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      const fits = (data) => {
        const text = [data.name, data.robot, ...(data.cameras ?? [])].join(" ").toLowerCase();
        return words.every((word) => text.includes(word));
      };
      const rows = datasets.filter(fits);
      tally.textContent =
        rows.length === datasets.length
          ? `${count(rows.length)} ${rows.length === 1 ? "dataset" : "datasets"}`
          : `${count(rows.length)} of ${count(datasets.length)} datasets`;
      table.setRows(rows);
    };
    const about = { type: "search", placeholder: "name, robot, camera …", "aria-label": "Filter datasets" };
    const filter = h("input", { ...about, oninput: show });
    main.replaceChildren(
      header(h("span.brand", {}, "Yardarm")),
      h("h1", {}, "Datasets"),
      ...folders.map((folder) => h("p.note", {}, breakable(folder))),
      h("div.bar", {}, filter, tally),
      table.element,
    );
    show();
  } catch (error) {
    main.replaceChildren(problem(error));
  }
}

start();
