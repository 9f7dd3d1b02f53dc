// The comparison of runs, in reports and in the viewer.

import { byTask } from "yardarm/by_task";
import { curves, differenceWhisker, rateWhisker } from "yardarm/charts";
import { breakable, count, h, number, outcome, percent, percents, points, policy, prose, section } from "yardarm/dom";
import { overSteps } from "yardarm/over_steps";
import { Table } from "yardarm/tables";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const letter = (place) => LETTERS[place] ?? `#${place + 1}`;
// With more runs than this, one column per run would be too wide.
const MOST_SIDES = 8;

/**
 * The sections of a comparison; `links.pair(data, row)` is the address of an episode's videos side by side, or null, and
 * `links.run(data, place)` that of a run's own page, where it is not a report beside this page. A run
 * that may stop early (`sequential`) has its own test; intervals and tests for a fixed number of episodes are not valid.
 */
export function comparisonSections(data, links) {
  if (data.problem) return { verdict: { shows: data, draw: () => section("comparison", "Comparison", data.problem) } };
  const several = data.runs.length > 2;
  const href = (place) => links.run?.(data, place) ?? data.reports?.[place] ?? null;
  return {
    verdict: { shows: [data.runs, data.verdicts, data.notes], draw: () => verdict(data, href) },
    ...(data.over_steps.length && !data.sequential
      ? { over_steps: { shows: data.over_steps, draw: (state) => overSteps(data, href, state) } }
      : {}),
    ...(data.comparisons.length === 1
      ? { differences: { shows: data.comparisons, draw: () => differences(data) } }
      : {}),
    ...(several && data.by_task.tasks.length > 1
      ? { tasks: { shows: data.by_task, draw: () => byTask(data, labels(data)) } }
      : {}),
    ...(several ? { pairs: { shows: data.comparisons, draw: () => pairs(data) } } : {}),
    disagreements: { shows: [data.episodes, data.curves], draw: () => disagreements(data, links) },
  };
}

function verdict(data, href) {
  const several = data.runs.length > 2;
  const intervals = [
    { title: "0% – 100%", cell: (row) => rateWhisker(row.score) },
    {
      title: `${number(100 * data.confidence)}% interval`,
      narrow: false,
      value: (row) => row.interval.low,
      cell: (row) => percents(row.interval.low, row.interval.high),
    },
  ];
  const rows = data.runs.map((run, place) => ({
    ...run,
    label: letter(place),
    score: { rate: run.rate, ...run.interval },
  }));
  const columns = [
    { title: "", heading: true, tight: true, cell: (row) => row.label },
    {
      title: "Run",
      value: (row) => row.name,
      cell: (row) => [reported(data, row, href), h("div.small", {}, policyOf(data, row))],
    },
    { title: "Success", numeric: true, value: (row) => row.rate, cell: (row) => percent(row.rate) },
    {
      title: "k/n",
      numeric: true,
      narrow: false,
      value: (row) => row.episodes,
      cell: (row) => `${row.successes}/${row.episodes}`,
    },
    ...(data.sequential ? [] : intervals),
    ...(several ? [{ title: "Letters", value: (row) => row.letters }] : []),
  ];
  const table = new Table(columns, { caption: "Compared runs" });
  table.setRows(rows);
  return section(
    "comparison",
    "Comparison of success rates",
    null,
    table.element,
    data.verdicts.map((text, place) => h(place ? "p.note" : "p", {}, prose(text))),
    data.notes.map((text) => h("p.warning", {}, prose(text))),
  );
}

/** A run's name, linked to its own page if there is one. */
function reported(data, { name, runs }, href) {
  const address = runs.length === 1 ? href(data.names.indexOf(runs[0])) : null;
  return address ? h("a", { href: address }, breakable(name)) : breakable(name);
}

/** Runs have letters only if they are compared themselves, not as training seeds of methods. */
function labels(data) {
  const lettered = data.runs.every((run, place) => run.name === data.names[place]);
  return (place) => (lettered ? letter(place) : data.names[place]);
}

/** The policy's name, or the number of training seeds of a method. */
function policyOf(data, { runs }) {
  return runs.length > 1 ? `${runs.length} training seeds` : policy(data.policy_labels[data.names.indexOf(runs[0])]);
}

const reach = (rows) =>
  Math.min(1, Math.max(0.1, ...rows.flatMap((row) => [Math.abs(row.interval.low), Math.abs(row.interval.high)])));

function differences(data) {
  const [pair] = data.comparisons;
  const all = { ...pair.overall, task: "All tasks", summary: true };
  const rows = pair.per_task.length > 1 ? [...pair.per_task, all] : pair.per_task;
  const range = reach(rows);
  const short = shortener(pair.per_task.map((row) => row.task));
  const counted = Boolean(pair.overall.pairs);
  const p = (row) => (rows.length > 1 && !row.summary && row.p_adjusted !== null ? "p_adjusted" : "p_value");
  const tests = [
    {
      title: `B better ← 0 → A better (±${number(100 * range)})`,
      cell: (row) => differenceWhisker(row, range, row.summary),
    },
    {
      title: `${number(100 * data.confidence)}% interval`,
      narrow: false,
      value: (row) => row.interval.low,
      cell: (row) => h("span.nowrap", {}, `${points(row.interval.low)} … ${points(row.interval.high)}`),
    },
    // P-values of single tasks are corrected for the number of tasks; that of all tasks together is not.
    {
      title: rows.length > 1 ? "p (Holm)" : "p",
      numeric: true,
      narrow: false,
      value: (row) => row[p(row)],
      cell: (row) => row.p_text[p(row)],
    },
  ];
  const rate = ({ successes, episodes }) => (episodes ? percent(successes / episodes) : "–");
  const columns = [
    { title: "Task", heading: true, value: (row) => row.task, cell: (row) => breakable(short(row.task)) },
    {
      title: "A",
      numeric: true,
      narrow: false,
      value: (row) => row.a.successes / row.a.episodes,
      cell: (row) => rate(row.a),
    },
    {
      title: "B",
      numeric: true,
      narrow: false,
      value: (row) => row.b.successes / row.b.episodes,
      cell: (row) => rate(row.b),
    },
    { title: "A − B", numeric: true, value: (row) => row.difference, cell: (row) => points(row.difference) },
    ...(data.sequential ? [] : tests),
    ...(counted
      ? [
          { title: "Only A", numeric: true, narrow: false, value: (row) => row.pairs.only_a },
          { title: "Only B", numeric: true, narrow: false, value: (row) => row.pairs.only_b },
        ]
      : []),
  ];
  const table = new Table(columns, {
    caption: "Differences by task",
    rowClass: (row) => (row.summary ? ".summary" : ""),
    page: 200,
  });
  table.setRows(rows);
  const note = pair.paired
    ? "Paired: the same task, index and seed in both runs, and the same initial state where both recorded it."
    : "Not paired: the rates of different episodes are compared.";
  return section("differences", "Differences by task, in percentage points", note, table.element);
}

/** Names for tasks, without their benchmark if it is the same for all. */
function shortener(tasks) {
  const benchmarks = new Set(tasks.map((task) => task.split("/")[0]));
  return (task) => (benchmarks.size > 1 || !task.includes("/") ? task : task.slice(task.indexOf("/") + 1));
}

function pairs(data) {
  const labels = Object.fromEntries(data.runs.map((run, place) => [run.name, letter(place)]));
  const range = reach(data.comparisons.map((pair) => pair.overall));
  const p = ({ overall }) => (overall.p_adjusted === null ? "p_value" : "p_adjusted");
  const columns = [
    { title: "Pair", heading: true, value: (pair) => `${labels[pair.a]} − ${labels[pair.b]}` },
    {
      title: "Difference",
      numeric: true,
      value: (pair) => pair.overall.difference,
      cell: (pair) => points(pair.overall.difference),
    },
    {
      title: `± ${number(100 * range)} points`,
      narrow: false,
      cell: (pair) => differenceWhisker(pair.overall, range, Boolean(pair.better)),
    },
    {
      title: `${number(100 * data.confidence)}% interval`,
      narrow: false,
      value: (pair) => pair.overall.interval.low,
      cell: (pair) => `${points(pair.overall.interval.low)} … ${points(pair.overall.interval.high)}`,
    },
    {
      title: "p (Holm)",
      numeric: true,
      value: (pair) => pair.overall[p(pair)],
      cell: (pair) => pair.overall.p_text[p(pair)],
    },
    {
      title: "Better",
      value: (pair) => labels[pair.better] ?? "",
      cell: (pair) => (pair.better ? labels[pair.better] : "not significant"),
    },
  ];
  const table = new Table(columns, { caption: "Differences between pairs" });
  table.setRows(data.comparisons);
  return section("pairs", "All pairs", null, table.element);
}

function disagreements(data, links) {
  const { episodes } = data;
  const rows = episodes.outcomes
    .map((_, row) => row)
    .filter((row) => episodes.outcomes[row].includes("s") && episodes.outcomes[row].includes("f"));
  const note = rows.length
    ? `In ${count(rows.length)} of ${count(episodes.outcomes.length)} shared episodes, one run succeeded where another failed.`
    : `In none of the ${count(episodes.outcomes.length)} shared episodes did one run succeed where another failed.`;
  if (!rows.length) return section("disagreements", "Episodes with different outcomes", note);
  const short = shortener(episodes.task);
  const label = labels(data);
  const brief = data.names.length > 2;
  const titled = (name, place) =>
    brief || label(place) === name
      ? h("span", { title: name }, label(place))
      : [label(place), h("span.wide-only", {}, `: ${name}`)];
  const solved = (row) => [...episodes.outcomes[row]].filter((own) => own === "s").length;
  const played = (row) => [...episodes.outcomes[row]].filter((own) => own === "s" || own === "f").length;
  const columns = [
    {
      title: "Task",
      heading: true,
      value: (row) => short(episodes.task[row]),
      cell: (row) => breakable(short(episodes.task[row])),
    },
    {
      title: "Episode",
      numeric: true,
      value: (row) => episodes.index[row],
      cell: (row) => episodeLink(data, row, links),
    },
    ...(data.names.length > MOST_SIDES
      ? [{ title: "Solved by", numeric: true, value: solved, cell: (row) => `${solved(row)} of ${played(row)}` }]
      : data.names.map((name, place) => ({
          title: titled(name, place),
          value: (row) => episodes.outcomes[row][place],
          cell: (row) => h(brief ? "div.brief" : "div", {}, side(data, row, place)),
        }))),
  ];
  const table = new Table(columns, { caption: "Episodes where one run succeeds and another fails", page: 30 });
  table.setRows(rows);
  return section("disagreements", "Episodes with different outcomes", note, table.element);
}

function episodeLink(data, row, links) {
  const index = String(data.episodes.index[row]);
  const seed = `seed ${data.episodes.seed[row]}`;
  const href = links.pair(data, row);
  const label = `${data.episodes.task[row]}, episode ${index} (${seed}): side by side`;
  return h("span.nowrap", {}, href ? h("a", { href, "aria-label": label }, index) : index, h("span.small.wide-only", {}, ` ${seed}`));
}

function side(data, row, place) {
  const own = data.episodes.outcomes[row][place];
  const steps = data.episodes.steps[row][place];
  const curve = data.curves[row]?.[place];
  const longest = Math.max(1, ...data.episodes.steps[row].map((value) => value ?? 0));
  const kind = own === "s" ? "success" : "failure";
  const also = (data.curves[row] ?? []).flatMap((other) => other?.values ?? []); // the same axis for all sides
  const size = { width: 220, height: 40 };
  const drawn = curve && data.names.length <= 3;
  return [
    outcome(own),
    steps === null ? null : [" ", h("span.nowrap", {}, String(steps), h("span.word", {}, " steps"))],
    drawn
      ? curves([{ ...curve, kind }], { steps: longest, label: `Rewards over ${steps} steps`, also, ...size })
      : null,
  ];
}
