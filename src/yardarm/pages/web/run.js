// The page of a run, in reports and in the viewer; only the links of episodes differ.

import { curves, heatMap, histogram, parts, rateWhisker } from "yardarm/charts";
import {
  breakable,
  command,
  count,
  date,
  duration,
  factList,
  folded,
  h,
  knownFacts,
  number,
  outcome,
  OUTCOMES,
  percent,
  percents,
  policy,
  prose,
  section,
} from "yardarm/dom";
import { strip } from "yardarm/pictures";
import { Table } from "yardarm/tables";

const FAILURES_FIRST = "efs";

/**
 * The sections of a run, in order, by name: each is redrawn only when its data changes. `verdict` is the result of a
 * comparison with another run.
 */
export function runSections(run, links, verdict = null) {
  return {
    headline: {
      shows: [run.overall, run.caution, run.mixed, run.sentences, run.warnings, verdict],
      draw: () => headline(run, verdict),
    },
    ...(run.pictures.length
      ? { pictures: { shows: [run.pictures, run.overall.errors, run.episodes.videos], draw: () => strip(run, links) } }
      : {}),
    forest: { shows: [run.tasks, run.groups], draw: (state) => forest(run, state) },
    heat: { shows: [run.episodes, run.episodes_per_task], draw: () => heat(run, links) },
    episodes: { shows: [run.episodes], draw: (state) => episodes(run, links, state) },
    course: { shows: [run.curves, run.episodes.steps], draw: () => course(run) },
    timing: { shows: [run.timing], draw: () => timing(run) },
    made: { shows: [run.made_with], draw: () => madeWith(run) },
  };
}

export function statusBadge(status) {
  return h(`span.status.${status}`, {}, status);
}

/** The title of a run's page: what the user called the run, or the policy as the user named it; and below it the run. */
export function runTitle(run, label = "") {
  const name = run.name === "." ? run.path.split("/").pop() : run.name;
  const benchmarks = [...new Set(run.tasks.map((task) => task.id.split("/")[0]))].join(", ");
  const tasks = run.tasks.length === 1 ? run.tasks[0].name : `${count(run.tasks.length)} tasks`;
  return [
    h("h1", {}, label ? breakable(label) : policy(run.policy_label), " ", statusBadge(run.status)),
    h(
      "p.under-title.note",
      {},
      label ? [policy(run.policy_label), " · "] : null,
      breakable(name),
      ` · ${benchmarks}, ${tasks}`,
    ),
  ];
}

function headline(run, verdict) {
  const { overall } = run;
  const done = overall.episodes + overall.errors;
  const facts = [
    ["episodes", done === run.planned ? count(done) : `${count(done)} of ${count(run.planned)} planned`],
    ["tasks", count(run.tasks.length)],
    ["seeds", seeds(run)],
    ["started", date(run.started, true)],
    ["duration", duration(run.wall_s) + (run.workers ? `, ${run.workers} episodes at once` : "")],
  ];
  return h(
    `section.headline${run.caution ? ".unfinished" : ""}`,
    { id: "headline", "aria-label": "Result" },
    h(
      "div.score",
      {},
      h("div.rate", {}, percent(overall.rate)),
      h(
        "div",
        {},
        h("p", {}, h("strong", {}, `${count(overall.successes)} of ${count(overall.episodes)}`), " episodes solved"),
        h("p", {}, `${number(100 * run.confidence)}% interval `, h("strong", {}, percents(overall.low, overall.high))),
        rateWhisker(overall, true),
        h(
          "div.scale",
          { "aria-hidden": "true" },
          ["0%", "50%", "100%"].map((text) => h("span", {}, text)),
        ),
      ),
    ),
    factList(facts),
    [run.caution, run.mixed].filter(Boolean).map((text) => h("p.warning", {}, h("strong", {}, text))),
    errorsNote(overall),
    verdict
      ? h("p", {}, h("strong", {}, "Compared: "), verdict, " ", h("a", { href: "#comparison" }, "More below."))
      : null,
    run.sentences.map((text) => h("p.note", {}, prose(text))),
    run.warnings.map((text) => h("p.warning", {}, h("strong", {}, "Warning: "), text)),
  );
}

const seeds = (run) => (run.seed === null ? "unknown" : `${run.seed} – ${run.seed + run.episodes_per_task - 1}`);

function errorsNote(score) {
  if (!score.errors) return null;
  return h(
    "p.warning",
    {},
    h("strong", {}, `${count(score.errors)} ${score.errors === 1 ? "episode" : "episodes"} ended in errors`),
    ", which count as neither success nor failure. If they had failed, the rate would be ",
    `${percent(score.if_errors_failed)}; if they had succeeded, ${percent(score.if_errors_succeeded)}.`,
  );
}

function forest(run, state) {
  const confidence = `${number(100 * run.confidence)}% interval`;
  const several = run.groups.length > 1;
  const columns = [
    { title: "Task", heading: true, value: (row) => row.name, cell: taskName },
    ...(several ? [{ title: "Group", value: (row) => row.group, narrow: false }] : []),
    { title: "Success", numeric: true, value: (row) => row.score.rate, cell: (row) => percent(row.score.rate) },
    { title: "k/n", numeric: true, value: (row) => row.score.episodes, cell: (row) => fraction(row.score) },
    { title: "0% – 100%", cell: (row) => rateWhisker(row.score, row.summary) },
    {
      title: confidence,
      narrow: false,
      value: (row) => row.score.low,
      cell: (row) => h("span.nowrap", {}, percents(row.score.low, row.score.high)),
    },
    {
      title: "Mean steps",
      numeric: true,
      narrow: false,
      value: (row) => row.score.mean_steps,
      cell: (row) => number(row.score.mean_steps),
    },
    {
      title: "Mean return",
      numeric: true,
      narrow: false,
      value: (row) => row.score.mean_return,
      cell: (row) => number(row.score.mean_return),
    },
  ];
  const options = {
    caption: "Success rates of tasks",
    rowClass: (row) => (row.summary ? ".summary" : ""),
    page: 200,
    state,
  };
  const table = new Table(columns, options);
  const groups = run.groups.filter((group) => run.groups.length > 1 || group.tasks.length < run.tasks.length);
  table.setRows([
    ...run.tasks,
    ...groups.map((group) => ({
      name: `${group.name} (${group.tasks.length} tasks)`,
      score: group.score,
      summary: true,
    })),
    { name: "All tasks", score: run.overall, summary: true },
  ]);
  return section("forest", "Tasks", null, table.element);
}

const taskName = (row) => h("span", { title: row.instruction }, breakable(row.name));
/** Successes/episodes, and the number of errors. */
export const fraction = (score) =>
  `${score.successes}/${score.episodes}` + (score.errors ? ` + ${score.errors} err.` : "");

/** A one-line description of an episode. */
export function episodeLabel(run, row) {
  const { index, seed, steps, task } = run.episodes;
  const kind = OUTCOMES[run.episodes.outcome[row]].name;
  return `${run.tasks[task[row]].name}, episode ${index[row]}, seed ${seed[row]}: ${kind} after ${steps[row]} steps`;
}

/** The row numbers of each task's episodes. */
function rowsByTask(run) {
  const rows = run.tasks.map(() => []);
  run.episodes.task.forEach((task, row) => rows[task].push(row));
  return rows;
}

function heat(run, links) {
  const rows = rowsByTask(run).map((own, task) => ({
    name: run.tasks[task].name,
    planned: run.episodes_per_task,
    cells: own.map((row) => ({
      index: run.episodes.index[row],
      outcome: run.episodes.outcome[row],
      label: episodeLabel(run, row),
      href: links.episode(run, row),
    })),
  }));
  const missing = rows.some(({ cells }) => cells.length < run.episodes_per_task);
  const letters = ["s", "f", ...(run.overall.errors ? ["e"] : []), ...(missing ? ["-"] : [])];
  const legend = letters.map((letter) => {
    const { kind, name } = OUTCOMES[letter];
    return h("span", {}, h(`span.cell.${kind}`, { "aria-hidden": "true" }), ` ${name}`);
  });
  const columns = run.seed === null ? "" : ` Columns are the seeds ${seeds(run)}.`;
  const note = `Each cell is an episode; click it for details.${columns}`;
  return section("heat", "Episode map", note, h("p.legend", {}, legend), heatMap(rows, "Outcome of each episode"));
}

function episodes(run, links, state) {
  const data = run.episodes;
  const columns = [
    {
      title: "Outcome",
      value: (row) => FAILURES_FIRST.indexOf(data.outcome[row]),
      cell: (row) => outcome(data.outcome[row]),
    },
    {
      title: "Task",
      value: (row) => run.tasks[data.task[row]].name,
      cell: (row) => breakable(run.tasks[data.task[row]].name),
    },
    { title: "Episode", numeric: true, value: (row) => data.index[row], cell: (row) => link(run, row, links) },
    { title: "Seed", numeric: true, narrow: false, value: (row) => data.seed[row] },
    { title: "Steps", numeric: true, value: (row) => data.steps[row] },
    { title: "Return", numeric: true, value: (row) => data.reward[row], cell: (row) => number(data.reward[row]) },
    {
      title: "Seconds",
      numeric: true,
      narrow: false,
      value: (row) => data.seconds[row],
      cell: (row) => data.seconds[row].toFixed(1),
    },
    ...(Object.keys(data.videos).length
      ? [{ title: "Video", narrow: false, cell: (row) => (data.videos[row] ? "▶" : "") }]
      : []),
  ];
  const table = new Table(columns, {
    caption: "Episodes, failures first",
    sorted: { place: 0, down: false },
    page: 25,
    state: (state.table ??= {}),
  });
  const all = data.task.map((_, row) => row);
  const filters = (state.filters ??= { outcome: "", task: "" });
  const show = () =>
    table.setRows(
      all.filter(
        (row) =>
          (!filters.outcome || data.outcome[row] === filters.outcome) &&
          (filters.task === "" || data.task[row] === Number(filters.task)),
      ),
    );
  const choice = (name, label, options) =>
    h(
      "label",
      {},
      `${label} `,
      h(
        "select",
        { onchange: (event) => ((filters[name] = event.target.value), show()) },
        options.map(([value, text]) => h("option", { value, selected: String(value) === filters[name] }, text)),
      ),
    );
  const tally = (letter) => count([...data.outcome].filter((own) => own === letter).length);
  const outcomes = [
    ["", "all"],
    ["f", `failures (${tally("f")})`],
    ["s", `successes (${tally("s")})`],
    ["e", `errors (${tally("e")})`],
  ];
  const tasks = [["", "all"], ...run.tasks.map((task, place) => [place, task.name])];
  show();
  const choices = h("p.choices", {}, choice("outcome", "Outcome", outcomes), choice("task", "Task", tasks));
  return section("episodes", "Episodes, failures first", null, choices, table.element);
}

const link = (run, row, links) =>
  h("a", { href: links.episode(run, row), "aria-label": episodeLabel(run, row) }, String(run.episodes.index[row]));

function course(run) {
  const rows = rowsByTask(run);
  const cards = run.tasks.map((task, place) => {
    const steps = task.max_steps;
    const own = run.curves.filter((curve) => curve.task === place);
    // Failures first, so that successes are drawn on top.
    const lines = own.map((curve) => ({
      ...curve,
      kind: OUTCOMES[curve.outcome].kind,
      title: `episode ${curve.index}: ${OUTCOMES[curve.outcome].name}`,
    }));
    const lengths = ["f", "s"].map((letter) => ({
      kind: OUTCOMES[letter].kind,
      values: rows[place].filter((row) => run.episodes.outcome[row] === letter).map((row) => run.episodes.steps[row]),
    }));
    const label = `Rewards of ${own.length} episodes of ${task.name} over ${steps} steps`;
    return h(
      "figure.card",
      {},
      h("figcaption", {}, h("strong", {}, breakable(task.name)), ` ${percent(task.score.rate)}`),
      h("div.small", {}, "reward"),
      curves(lines, { steps, label }),
      h("div.small", {}, "episodes ending at each step"),
      histogram(lengths, { steps, label: `${task.name}: ${number(task.score.mean_steps)} steps on average` }),
      h("div.scale", { "aria-hidden": "true" }, h("span", {}, "0"), h("span", {}, `${steps} steps`)),
    );
  });
  const all = run.curves.length === run.episodes.task.length;
  const shown = all
    ? ""
    : ` Shown are the first failures and successes of each task, ${run.curves.length} episodes in total.`;
  const note = `Rewards over time (averaged over a few steps), and after how many steps episodes end.${shown}`;
  const legend = ["s", "f"].map((letter) =>
    h("span", {}, h(`span.cell.${OUTCOMES[letter].kind}`, { "aria-hidden": "true" }), ` ${OUTCOMES[letter].name}`),
  );
  return section("course", "Rewards and lengths", note, h("p.legend", {}, legend), h("div.cards", {}, cards));
}

const TIMES = {
  build: "building simulators",
  reset: "resetting simulators",
  step: "stepping physics",
  look: "observing (rendering)",
  infer: "policy inference",
  idle: "waiting",
};

function timing(run) {
  const total = Object.values(run.timing).reduce((sum, seconds) => sum + seconds, 0);
  const shares = Object.entries(TIMES).map(([name, text]) => ({
    kind: `time-${name}`,
    value: run.timing[name],
    text,
    share: total ? run.timing[name] / total : 0,
    title: `${text}: ${duration(run.timing[name])}`,
  }));
  const label = shares.map((share) => `${share.text} ${percent(share.share)}`).join(", ");
  const rows = shares.map((share) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, h(`span.swatch.${share.kind}`, { "aria-hidden": "true" }), ` ${share.text}`),
      h("td.numeric", {}, duration(share.value)),
      h("td.numeric", {}, percent(share.share)),
    ),
  );
  const note = `How the ${duration(total)} of all episodes were spent. With ${run.workers ?? 1} at once, the run took ${duration(run.wall_s)}.`;
  return section("timing", "Time", note, parts(shares, label), h("table.plain", {}, h("tbody", {}, rows)));
}

function madeWith(run) {
  const made = run.made_with;
  const about = { "git commit": made.git_commit, sessions: made.sessions, folder: run.path };
  return section(
    "made",
    "How it was made",
    null,
    h("p", {}, "Command:"),
    command(made.command),
    h("p", {}, "To repeat the same episodes:"),
    command(made.repeat),
    folded("Configuration", h("pre", { tabindex: "0" }, made.config)),
    folded("Versions", softwareTable(made.software, "versions")),
    folded("Environment variables that may affect results", softwareTable(made.software, "variables")),
    folded("Machine, policy and code", knownFacts({ ...made.machine, ...made.policy, ...about })),
  );
}

/** Names and values of the sessions: one column per distinct set, if there are several. */
function softwareTable(software, part) {
  if (software.length === 1) return knownFacts(software[0][part]);
  const names = [...new Set(software.flatMap((own) => Object.keys(own[part])))];
  const known = names.filter((name) => software.some((own) => own[part][name] != null));
  const rows = known.map((name) => {
    const values = software.map((own) => own[part][name] ?? "–");
    const kind = new Set(values).size > 1 ? "strong" : "span";
    return h("tr", {}, h("th", { scope: "row" }, name), values.map((value) => h("td", {}, h(kind, {}, value))));
  });
  const heads = software.map(({ started }) =>
    h("th", { scope: "col" }, date(started[0], true), started.length > 1 ? ` and ${started.length - 1} more` : ""),
  );
  return h(
    "div.scroll",
    {},
    h(
      "table.plain",
      {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "session"), heads)),
      h("tbody", {}, rows),
    ),
  );
}
