// A training in the viewer: its learning curve, updated as it grows.

import { parts, rateWhisker } from "yardarm/charts";
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
  measured,
  number,
  percent,
  percents,
  section,
} from "yardarm/dom";
import { LabelBlock } from "yardarm/labels";
import { address, listen, load, parameters, problem } from "yardarm/live";
import { header, Sections } from "yardarm/page";
import { fraction, statusBadge } from "yardarm/run";
import { Table } from "yardarm/tables";
import { course, loss, success } from "yardarm/training_curves";
import { progress } from "yardarm/trainings";

const REST = 5;
const name = parameters().get("training") ?? "";
const main = document.getElementById("main");
const title = h("h1");
const labels = new LabelBlock(() => draw());
const body = h("div");
const page = new Sections(body);

const runPage = (run) => address("/run", { run });

function sections(data) {
  const { evaluations, step } = data;
  const evaluated = evaluations.some((own) => own.status === "finished");
  const shown = data.train.steps.length > 0;
  return {
    headline: {
      shows: [data.evaluating, data.underway, data.evaluation, step, data.steps, data.now, data.warnings, data.wall_s],
      draw: () => headline(data),
    },
    ...(evaluated && {
      success: { shows: [evaluations, data.tasks, step], draw: (state) => success(data, state) },
    }),
    ...(shown && {
      loss: { shows: [data.train, data.validation, step], draw: (state) => loss(data, state) },
      course: { shows: [data.train, step], draw: (state) => course(data, state) },
    }),
    ...(data.saved.length && {
      saved: { shows: [data.saved, evaluations, data.underway], draw: (state) => saved(data, state) },
    }),
    made: { shows: [data.commands, data.made_with, data.status], draw: () => made(data) },
  };
}

function headline(data) {
  const { now, policy, dataset, evaluation } = data;
  const size = policy.parameters ? ` · ${count(policy.parameters)} parameters` : "";
  const frames = dataset.frames ? ` · ${count(dataset.episodes)} episodes, ${count(dataset.frames)} frames` : "";
  const left = now.seconds_left ? `, about ${duration(now.seconds_left)} left` : null;
  const facts = [
    ["policy", `${policy.type}${size}`],
    ["dataset", `${dataset.name}${frames}`],
    ["loss", measured(now.loss)],
    ["epochs", number(now.epoch)],
    ["samples per second", number(now.samples_per_s)],
    ["started", date(data.started, true)],
    ["duration", duration(data.wall_s)],
  ];
  return h(
    "section.headline",
    { id: "headline", "aria-label": "State" },
    evaluation ? newest(evaluation, data.confidence) : null,
    h(
      "div.steps",
      {},
      h("p", {}, h("strong", {}, count(data.step)), ` of ${count(data.steps)} steps`, left),
      progress(data),
    ),
    data.evaluating.map((run) => underway(run, data)),
    factList(facts),
    times(now),
    data.train.steps.length ? null : h("p.note", {}, "No measurements yet; this page updates automatically."),
    data.warnings.map((text) => h("p.warning", {}, h("strong", {}, "Warning: "), text)),
  );
}

function newest(score, confidence) {
  const solved = `${count(score.successes)} of ${count(score.episodes)}`;
  return h(
    "div.score",
    {},
    h("div.rate", {}, percent(score.rate)),
    h(
      "div",
      {},
      h("p", {}, h("strong", {}, solved), ` episodes solved at step ${count(score.step)}`),
      h("p", {}, `${number(100 * confidence)}% interval `, h("strong", {}, percents(score.low, score.high))),
      rateWhisker(score, true),
      h(
        "div.scale",
        { "aria-hidden": "true" },
        ["0%", "50%", "100%"].map((text) => h("span", {}, text)),
      ),
    ),
  );
}

/** An evaluation in progress, with its number of finished episodes; a rate would be biased at this point. */
function underway(run, { evaluations, underway: lines }) {
  const { step } = evaluations.find((own) => own.run === run);
  const line = lines.find((own) => own.name === run);
  const known = line && line.planned;
  const done = known ? `, ${count(line.episodes + line.errors)} of ${count(line.planned)} episodes done` : "";
  const words = `the weights of step ${count(step)}`;
  return h("p.underway", {}, "Evaluating now: ", known ? h("a", { href: runPage(run) }, words) : words, done);
}

function times({ data_s: waited, update_s: computed }) {
  if (!(waited + computed > 0)) return null;
  const share = (own) => percent(own / (waited + computed));
  const both = [
    { kind: "time-idle", value: waited, text: "waiting for data" },
    { kind: "time-step", value: computed, text: "computing" },
  ];
  const words = both.map((own) => `${own.text} ${share(own.value)}, ${measured(1000 * own.value)} ms per step`);
  return h(
    "div.times",
    {},
    parts(
      both.map((own, place) => ({ ...own, title: words[place] })),
      words.join("; "),
    ),
    h(
      "p.legend",
      {},
      both.map((own, place) =>
        h("span", {}, h(`span.swatch.${own.kind}`, { "aria-hidden": "true" }), ` ${words[place]}`),
      ),
    ),
  );
}

function saved(data, state) {
  const confidence = data.confidence ? `${number(100 * data.confidence)}% interval` : "Interval";
  const of = (row) => (row.evaluation === null ? null : data.evaluations[row.evaluation]);
  const score = (row) => (of(row)?.status === "finished" ? of(row) : null);
  const columns = [
    { title: "Step", heading: true, value: (row) => row.step, cell: (row) => count(row.step) },
    {
      title: "Success",
      numeric: true,
      value: (row) => score(row)?.rate,
      cell: (row) => (score(row) ? percent(score(row).rate) : ""),
    },
    {
      title: "k/n",
      numeric: true,
      value: (row) => score(row)?.episodes,
      cell: (row) => (score(row) ? fraction(score(row)) : ""),
    },
    { title: "0% – 100%", narrow: false, cell: (row) => (score(row) ? rateWhisker(score(row)) : "") },
    {
      title: confidence,
      narrow: false,
      value: (row) => score(row)?.low,
      cell: (row) => (score(row) ? h("span.nowrap", {}, percents(score(row).low, score(row).high)) : ""),
    },
    { title: "Evaluation", cell: (row) => evaluation(of(row)) },
    { title: "Checkpoint", narrow: false, value: (row) => row.checkpoint ?? "", cell: (row) => row.checkpoint ?? "–" },
  ];
  const options = { caption: "Checkpoints and evaluations", sorted: { place: 0, down: true }, page: 25, state };
  const table = new Table(columns, options);
  table.setRows(data.saved);
  const finished = data.evaluations.filter((own) => own.status === "finished");
  const note =
    finished.length > 1
      ? "The best of several checkpoints looks better than it is, because luck helped to choose it. Evaluate it again with another --seed."
      : null;
  const pair = finished.slice(-2).map((own) => own.run);
  const both = h("p", {}, h("a", { href: address("/compare", { run: pair }) }, "Compare the last two evaluations"));
  return section("saved", "Checkpoints and evaluations", note, table.element, pair.length > 1 ? both : null);
}

function evaluation(own) {
  if (!own) return "–";
  const linked = h("a", { href: runPage(own.run), "aria-label": `Evaluation of step ${count(own.step)}` }, "open");
  if (own.status === "finished") return linked;
  const badge = statusBadge(own.status);
  return own.problem
    ? [badge, h("div.small", {}, own.problem)]
    : own.status === "failed"
      ? badge
      : [badge, " ", linked];
}

function made({ commands, made_with: own, path, status }) {
  const shown = (text, words) => (words ? [h("p", {}, text), command(words)] : null);
  return section(
    "made",
    "How it was made",
    null,
    shown(status === "running" ? "To resume it, if it is interrupted:" : "To resume it:", commands.resume),
    shown("To evaluate the newest checkpoint:", commands.evaluate),
    shown("Command:", own.command),
    folded("Configuration", h("pre", { tabindex: "0" }, own.config)),
    folded("Versions", knownFacts(own.versions)),
    folded("Machine and code", knownFacts({ ...own.machine, "git commit": own.git_commit, folder: path })),
  );
}

async function draw() {
  const data = await load("/api/training", { training: name });
  const shown = data.line.labels.name || (data.name === "." ? data.line.title : data.name);
  document.title = `${shown} · Yardarm`;
  labels.show(data.line, data.editable);
  title.replaceChildren(...breakable(shown), " ", statusBadge(data.status));
  page.draw(sections(data));
}

/** Redraw, then pause: drawing must not slow down the training. */
async function follow({ runs, trainings, all }) {
  if (!all && ![runs, trainings].some(({ changed, gone }) => changed.length || gone.length)) return;
  const started = performance.now();
  await draw();
  await new Promise((rested) => setTimeout(rested, REST * (performance.now() - started)));
}

main.replaceChildren(
  header(h("a.brand", { href: "/" }, "Yardarm"), h("a", { href: "/" }, "All runs")),
  title,
  labels.element,
  body,
);
draw()
  .then(() => listen("/api/events", { training: name }, follow))
  .catch((error) => body.replaceChildren(problem(error)));
