// The list of runs, with the list of trainings above it.

import { rateWhisker } from "yardarm/charts";
import { breakable, count, date, duration, h, percent, percents } from "yardarm/dom";
import { address, listen, load, problem } from "yardarm/live";
import { header } from "yardarm/page";
import { statusBadge } from "yardarm/run";
import { Table } from "yardarm/tables";
import { TrainingList } from "yardarm/trainings";

const main = document.getElementById("main");
const known = new Map();
// The reader's choices survive a visit to another page.
const remembered = JSON.parse(sessionStorage.getItem("yardarm-runs") ?? "{}");
const chosen = new Set(remembered.chosen);
const filter = h("input", {
  type: "search",
  placeholder: "policy, task, folder, status …",
  "aria-label": "Filter runs",
  oninput: () => show(),
});
filter.value = remembered.filter ?? "";
const compare = h("button", {
  type: "button",
  onclick: () => (location.href = address("/compare", { run: [...chosen] })),
});
const tally = h("span.note", { role: "status" });

const columns = [
  { title: "", cell: box },
  { title: "Run", heading: true, value: (run) => run.name, cell: name },
  { title: "Status", value: (run) => run.status, cell: status },
  {
    title: "Policy",
    narrow: false,
    value: (run) => run.policy ?? "",
    cell: (run) => h("span.clip", { title: run.policy }, run.policy ?? ""),
  },
  { title: "Tasks", narrow: false, value: (run) => run.tasks?.length ?? 0, cell: tasks },
  {
    title: "Success",
    numeric: true,
    value: (run) => run.rate,
    cell: (run) => (run.episodes === undefined ? "" : percent(run.rate)),
  },
  {
    title: "k/n",
    numeric: true,
    narrow: false,
    value: (run) => run.episodes,
    cell: (run) => (run.episodes === undefined ? "" : `${count(run.successes)}/${count(run.episodes)}`),
  },
  { title: "0% – 100%", narrow: false, value: (run) => run.low, cell: interval },
  {
    title: "Started",
    narrow: false,
    value: (run) => run.started ?? "",
    cell: (run) => h("span.nowrap", {}, date(run.started)),
  },
  {
    title: "Duration",
    numeric: true,
    narrow: false,
    value: (run) => run.wall_s,
    cell: (run) => h("span.nowrap", {}, run.wall_s === undefined ? "" : duration(run.wall_s)),
  },
];
const table = new Table(columns, {
  caption: "Runs",
  sorted: { place: 8, down: true },
  page: 100,
  state: remembered.table,
});

const trainings = new TrainingList(remembered.trainings);

function box(run) {
  if (run.status === "damaged") return "";
  const change = (event) => {
    if (event.target.checked) chosen.add(run.name);
    else chosen.delete(run.name);
    showChoice();
  };
  return h("input", {
    type: "checkbox",
    checked: chosen.has(run.name),
    "aria-label": `Compare ${run.name}`,
    onchange: change,
  });
}

function name(run) {
  const text = run.name === "." ? "(this folder)" : breakable(run.name);
  if (run.problem) return [text, h("div.small", {}, run.problem)];
  return run.status === "LeRobot" ? text : h("a", { href: address("/run", { run: run.name }) }, text);
}

function status(run) {
  if (run.problem) return statusBadge(run.status);
  const done = run.episodes + run.errors;
  const part =
    run.status === "finished" || run.status === "LeRobot"
      ? null
      : h("span.small", {}, ` ${count(done)}/${count(run.planned)}`);
  const more = [run.errors ? ` ${run.errors} errors` : null, run.mixed ? " mixed versions" : null];
  return [statusBadge(run.status), part, more.filter(Boolean).map((text) => h("span.small", {}, text))];
}

function tasks(run) {
  if (!run.tasks) return "";
  const shown =
    run.tasks.length > 2 ? `${run.tasks.length} tasks of ${run.benchmarks.join(", ")}` : run.tasks.join(", ");
  return h("span.clip", { title: run.tasks.join(", ") }, shown);
}

function interval(run) {
  if (run.episodes === undefined) return "";
  return h("div", { title: percents(run.low, run.high) }, rateWhisker(run));
}

function showChoice() {
  compare.disabled = chosen.size < 2;
  compare.textContent = chosen.size < 2 ? "Compare (select two or more)" : `Compare ${chosen.size} runs`;
}

function show() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (run) => {
    const text = [run.name, run.status, run.policy, ...(run.tasks ?? []), ...(run.benchmarks ?? [])]
      .join(" ")
      .toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const runs = [...known.values()].filter(fits);
  tally.textContent =
    runs.length === known.size ? `${count(known.size)} runs` : `${count(runs.length)} of ${count(known.size)} runs`;
  table.setRows(runs);
  trainings.show(words);
}

addEventListener("pagehide", () => {
  const choices = { chosen: [...chosen], filter: filter.value, table: table.state, trainings: trainings.state };
  sessionStorage.setItem("yardarm-runs", JSON.stringify(choices));
});

async function start() {
  main.replaceChildren(h("p.note", { role: "status" }, "Loading runs …"));
  try {
    const { folder, ...first } = await load("/api/runs");
    document.title = "Runs · Yardarm";
    main.classList.add("long"); // many columns
    const nothing = h("p", {}, "No runs here yet. Start one with yardarm eval …, and it will appear on this page.");
    const list = h("div");
    const update = ({ runs, trainings: others, all }) => {
      if (all) known.clear();
      for (const run of runs.changed) known.set(run.name, run);
      for (const own of runs.gone) {
        known.delete(own);
        chosen.delete(own);
      }
      trainings.update(others, all);
      const shown = known.size ? table.element : nothing;
      if (!shown.isConnected) list.replaceChildren(shown);
      showChoice();
      show();
    };
    main.replaceChildren(
      header(h("span.brand", {}, "Yardarm")),
      h("h1", {}, "Runs"),
      h("p.note", {}, folder),
      h("div.bar", {}, filter, compare, tally),
      trainings.element,
      list,
    );
    const added = (changed) => ({ changed, gone: [] });
    update({ runs: added(first.runs), trainings: added(first.trainings), all: true });
    listen("/api/events", {}, update);
  } catch (error) {
    main.replaceChildren(problem(error));
  }
}

start();
