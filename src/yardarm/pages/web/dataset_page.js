// A dataset: its contents, its episodes, and the distribution of its numbers.

import { rangeBar } from "yardarm/charts";
import { Episodes } from "yardarm/dataset_episodes";
import { breakable, bytes, count, duration, factList, h, measured, number, section } from "yardarm/dom";
import { Findings, followChecks } from "yardarm/findings";
import { address, load, parameters, problem } from "yardarm/live";
import { header } from "yardarm/page";
import { PlannedEdits } from "yardarm/planned_edits";
import { Review } from "yardarm/review";
import { Table } from "yardarm/tables";

const name = parameters().get("dataset") ?? "";
const main = document.getElementById("main");

function headline(data) {
  const { bytes: size } = data;
  const parts = ["videos", "data", "meta"].filter((part) => size[part]).map((part) => `${bytes(size[part])} ${part}`);
  const facts = [
    ["episodes", count(data.episodes)],
    ["frames", count(data.frames)],
    ["time", duration(data.seconds)],
    ["frames per second", number(data.fps)],
    ["robot", data.robot ?? "unknown"],
    ["tasks", count(data.tasks.length)],
    ["cameras", data.pictures.map((camera) => camera.name).join(", ") || "none"],
    ["on disk", [bytes(size.all), h("div.small", {}, parts.join(", "))]],
    ["format", `LeRobot ${data.version}`],
  ];
  return h(
    "section.headline",
    { id: "headline", "aria-label": "Facts" },
    factList(facts),
    data.damage.map((text) => h("p.warning", {}, h("strong", {}, "Damaged: "), text)),
  );
}

function tasks(data) {
  const rows = data.tasks.map((text) => ({ text, episodes: 0, frames: 0, solved: 0 }));
  data.lists.tasks.forEach((own, episode) => {
    for (const place of own) {
      rows[place].episodes++;
      rows[place].frames += data.lists.length[episode];
      rows[place].solved += data.lists.outcome?.[episode] === "s";
    }
  });
  const columns = [
    { title: "Task", heading: true, value: (row) => row.text },
    { title: "Episodes", numeric: true, value: (row) => row.episodes, cell: (row) => count(row.episodes) },
    {
      title: "Frames",
      numeric: true,
      narrow: false,
      value: (row) => row.frames,
      cell: (row) => count(row.frames),
    },
    ...(data.lists.outcome
      ? [{ title: "Successful", numeric: true, value: (row) => row.solved, cell: (row) => count(row.solved) }]
      : []),
  ];
  const table = new Table(columns, { caption: "Tasks", page: 10 });
  table.setRows(rows);
  return section("tasks", "Tasks", null, table.element);
}

function features(data) {
  const columns = [
    {
      title: "Feature",
      heading: true,
      value: (row) => row.name,
      cell: (row) => breakable(row.name.replaceAll(".", ".\u200b")),
    },
    { title: "Type", value: (row) => row.dtype },
    {
      title: "Shape",
      value: (row) => row.shape.join(" × "),
      cell: (row) => h("span.nowrap", {}, row.shape.join(" × ")),
    },
    {
      title: "Names",
      narrow: false,
      value: (row) => row.names?.join(", ") ?? (row.filled_in ? "added by the writer" : ""),
      cell: (row) => (row.filled_in ? h("span.note", {}, "added by the writer") : (row.names?.join(", ") ?? "")),
    },
  ];
  const table = new Table(columns, { caption: "Features" });
  table.setRows(data.features);
  return section("features", "Features", "The contents of each frame.", table.element);
}

function cameras(data) {
  const stored = (row) => (row.kind === "video" ? "in video files" : "as images in the table");
  const columns = [
    { title: "Camera", heading: true, value: (row) => row.name, cell: (row) => breakable(row.name) },
    { title: "Size", cell: (row) => (row.width ? h("span.nowrap", {}, `${row.width} × ${row.height}`) : "–") },
    { title: "Codec", value: (row) => row.codec ?? "–" },
    { title: "Pixels", narrow: false, cell: (row) => [row.pix_fmt ?? "–", row.depth ? ", depth" : ""] },
    { title: "Stored", narrow: false, cell: stored },
  ];
  const table = new Table(columns, { caption: "Cameras" });
  table.setRows(data.pictures);
  return section("cameras", "Cameras", null, table.element);
}

const KINDS = [
  ["min", "Min", true],
  ["q01", "1%", false],
  ["q10", "10%", false],
  ["q50", "Median", true],
  ["q90", "90%", false],
  ["q99", "99%", false],
  ["max", "Max", true],
  ["mean", "Mean", false],
  ["std", "Std", false],
];

function statistics(data) {
  const note =
    "The distribution of each number over all frames. The line spans minimum to maximum, the light bar the 1% to 99% " +
    "quantiles, the dark bar the 10% to 90% quantiles, and the mark is the median. A short bar on a long line means " +
    "outliers.";
  if (!data.statistics.length) return section("statistics", "Statistics", "This dataset has no statistics.");
  return section("statistics", "Statistics", note, data.statistics.map(featureStatistics));
}

function featureStatistics(own) {
  const rows = own.names.map((text, place) => {
    const values = KINDS.map(([kind]) => [kind, own[kind]?.[place]]);
    const known = Object.fromEntries(values);
    const scale = Math.max(...values.map(([, value]) => Math.abs(value ?? 0)));
    return { name: text || "value", scale, ...known };
  });
  const shown = KINDS.filter(([kind]) => own[kind]);
  const columns = [
    { title: "Name", heading: true, cell: (row) => breakable(row.name) },
    { title: "Min to max", cell: range },
    ...shown.map(([kind, title, narrow]) => ({
      title,
      numeric: true,
      narrow,
      cell: (row) => h("span.nowrap", {}, short(row[kind], row.scale)),
    })),
  ];
  const table = new Table(columns, { caption: `Statistics of ${own.feature}`, page: 32 });
  table.setRows(rows);
  const left = own.dimensions - own.names.length;
  return h(
    own.q01 ? "div.statistics.quantiles" : "div.statistics",
    {},
    h("h3", {}, breakable(own.feature.replaceAll(".", ".\u200b"))),
    table.element,
    left ? h("p.small", {}, `${count(left)} more dimensions are not shown.`) : null,
  );
}

/** A number that fits into a narrow column. */
const short = (value, scale) => (value && scale >= 1e5 ? value.toExponential(1) : measured(value, scale));

function range(row) {
  if (row.min === null || row.max === null || row.min === undefined) return "–";
  if (row.min === row.max) return h("span.small", {}, "constant");
  const label = KINDS.map(([kind, title]) => `${title} ${measured(row[kind], row.scale)}`).join(", ");
  return rangeBar(row, `${row.name}: ${label}`);
}

async function start() {
  const top = header(h("a.brand", { href: "/" }, "Yardarm"), h("a", { href: "/" }, "All datasets"));
  const title = h("h1", {}, breakable(name));
  document.title = `${name} · Yardarm`;
  main.replaceChildren(top, title, h("p.note", { role: "status" }, "Loading the dataset …"));
  try {
    const data = await load("/api/dataset", { dataset: name });
    const review = new Review(name, data);
    const parts = [headline(data), review.state];
    const findings = new Findings(review);
    const episodes = new Episodes(name, data, review);
    if (data.episodes) {
      const edits = new PlannedEdits(review, data.lists.length);
      parts.push(findings.element, edits.element, episodes.element, tasks(data));
    } else parts.push(h("p", {}, "This dataset has no episodes yet."));
    if (data.pictures.length) parts.push(cameras(data));
    parts.push(features(data), statistics(data));
    main.replaceChildren(top, title, h("p.note.under-title", {}, breakable(data.path)), ...parts);
    if (location.hash) document.querySelector(location.hash)?.scrollIntoView();
    if (!data.episodes) return;
    await followChecks(name, (checks) => {
      findings.show(checks);
      episodes.found(checks.findings);
    });
  } catch (error) {
    main.replaceChildren(top, title, problem(error));
  }
}

start();
