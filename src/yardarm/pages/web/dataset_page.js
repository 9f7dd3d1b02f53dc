// A dataset: its contents, its episodes, and the distribution of its numbers.

import { histogram, rangeBar } from "yardarm/charts";
import { breakable, bytes, count, duration, factList, h, measured, number, outcome, section } from "yardarm/dom";
import { address, load, parameters, problem } from "yardarm/live";
import { header } from "yardarm/page";
import { Table } from "yardarm/tables";

const MOST_CHOICES = 100;
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

/** A histogram of the lengths of episodes. */
function lengths(data) {
  const { length, outcome: outcomes } = data.lists;
  const sorted = [...length].sort((a, b) => a - b);
  const [shortest, longest, middle] = [sorted[0], sorted.at(-1), sorted[Math.floor(sorted.length / 2)]];
  const all = length.map((frames, episode) => ({ frames, outcome: outcomes?.[episode] ?? "" }));
  const of = (letter) => all.filter((own) => own.outcome === letter).map((own) => own.frames);
  const series = outcomes
    ? [
        { kind: "failure", values: of("f") },
        { kind: "success", values: of("s") },
      ]
    : [{ kind: "plain", values: length }];
  const first = shortest > longest / 2 ? shortest : 1;
  const label = `Lengths of episodes: from ${shortest} to ${longest} frames, median ${middle}`;
  const lengthText = (frames) => `${count(frames)} frames, ${duration(frames / data.fps)}`;
  const legend = outcomes
    ? [
        ["success", "success"],
        ["failure", "failure"],
      ].map(([kind, text]) => h("span", {}, h(`span.swatch.bar-${kind}`, { "aria-hidden": "true" }), ` ${text}`))
    : [];
  return h(
    "figure.card.lengths",
    {},
    h("figcaption", {}, h("strong", {}, "Episode lengths"), h("span.note", {}, `median ${lengthText(middle)}`)),
    legend.length ? h("p.legend", {}, legend) : null,
    histogram(series, { steps: longest, first, label, width: 640, height: 90, bins: 48 }),
    h(
      "div.scale",
      { "aria-hidden": "true" },
      h("span", {}, first > 1 ? lengthText(first) : "0"),
      h("span", {}, lengthText(longest)),
    ),
  );
}

function episodes(data) {
  const { lists } = data;
  const texts = lists.tasks.map((own) => own.map((place) => data.tasks[place]).join(" → "));
  const link = (episode) => {
    const href = address("/dataset/episode", { dataset: name, index: episode });
    return h("a", { href, "aria-label": `Episode ${episode}: ${texts[episode]}` }, String(episode));
  };
  const columns = [
    { title: "Episode", value: (episode) => episode, cell: link },
    { title: "Task", value: (episode) => texts[episode] },
    ...(lists.outcome
      ? [{ title: "Outcome", value: (episode) => lists.outcome[episode], cell: (row) => outcome(lists.outcome[row]) }]
      : []),
    {
      title: "Frames",
      numeric: true,
      value: (episode) => lists.length[episode],
      cell: (episode) => count(lists.length[episode]),
    },
    {
      title: "Time",
      numeric: true,
      narrow: false,
      value: (episode) => lists.length[episode],
      cell: (episode) => h("span.nowrap", {}, duration(lists.length[episode] / data.fps)),
    },
    ...(lists.reward
      ? [
          {
            title: "Return",
            numeric: true,
            narrow: false,
            value: (episode) => lists.reward[episode],
            cell: (episode) => number(lists.reward[episode]),
          },
        ]
      : []),
  ];
  const table = new Table(columns, { caption: "Episodes", sorted: { place: 0, down: false }, page: 50 });
  const filters = { task: "", outcome: "", words: "" };
  const tally = h("span.note", { role: "status" });
  const all = lists.length.map((_, episode) => episode);
  const lower = texts.map((text) => text.toLowerCase());
  const show = () => {
    const words = filters.words.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = all.filter(
      (episode) =>
        (filters.task === "" || lists.tasks[episode].includes(Number(filters.task))) &&
        (filters.outcome === "" || lists.outcome[episode] === filters.outcome) &&
        words.every((word) => lower[episode].includes(word) || String(episode) === word),
    );
    tally.textContent = rows.length === all.length ? "" : `${count(rows.length)} of ${count(all.length)} episodes`;
    table.setRows(rows);
  };
  const choice = (key, label, options) => {
    const change = (event) => ((filters[key] = event.target.value), show());
    const listed = options.map(([value, text]) => h("option", { value }, text));
    return h("label", {}, `${label} `, h("select", { onchange: change }, listed));
  };
  const search = h("input", {
    type: "search",
    placeholder: "words of the task, or an episode number",
    "aria-label": "Filter episodes",
    oninput: () => ((filters.words = search.value), show()),
  });
  const known = [["", "all"], ...data.tasks.map((text, place) => [place, text])];
  const outcomes = [
    ["", "all"],
    ["s", "successes"],
    ["f", "failures"],
  ];
  show();
  return section(
    "episodes",
    "Episodes",
    null,
    lengths(data),
    h(
      "div.bar.choices",
      {},
      search,
      data.tasks.length > 1 && data.tasks.length <= MOST_CHOICES ? choice("task", "Task", known) : null,
      lists.outcome ? choice("outcome", "Outcome", outcomes) : null,
      tally,
    ),
    table.element,
  );
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
    const scale = Math.max(Math.abs(known.min ?? 0), Math.abs(known.max ?? 0));
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
      cell: (row) => h("span.nowrap", {}, measured(row[kind], row.scale)),
    })),
  ];
  const table = new Table(columns, { caption: `Statistics of ${own.feature}`, page: 32 });
  table.setRows(rows);
  const left = own.dimensions - own.names.length;
  return h(
    "div.statistics",
    {},
    h("h3", {}, breakable(own.feature.replaceAll(".", ".\u200b"))),
    table.element,
    left ? h("p.small", {}, `${count(left)} more dimensions are not shown.`) : null,
  );
}

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
    const parts = [headline(data)];
    if (data.episodes) parts.push(tasks(data), episodes(data));
    else parts.push(h("p", {}, "This dataset has no episodes yet."));
    if (data.pictures.length) parts.push(cameras(data));
    parts.push(features(data), statistics(data));
    main.replaceChildren(top, title, h("p.note.under-title", {}, breakable(data.path)), ...parts);
  } catch (error) {
    main.replaceChildren(top, title, problem(error));
  }
}

start();
