// A run in the viewer, updated while it runs.

import { comparisonSections } from "yardarm/comparison";
import { h } from "yardarm/dom";
import { LabelBlock } from "yardarm/labels";
import { address, listen, load, parameters, problem } from "yardarm/live";
import { Contents, header, Sections } from "yardarm/page";
import { runSections, runTitle } from "yardarm/run";

const REST = 5;
const name = parameters().get("run") ?? "";
const main = document.getElementById("main");
const top = header(h("a.brand", { href: "/" }, "Yardarm"), h("a", { href: "/" }, "All runs"));
const title = h("div");
const labels = new LabelBlock(() => draw());
const body = h("div");
const page = new Sections(body);
const contents = new Contents(body);

const links = {
  episode: (run, row) =>
    address("/episode", { run: name, task: run.tasks[run.episodes.task[row]].id, index: run.episodes.index[row] }),
  picture: (run, row) =>
    address("/api/picture", { run: name, task: run.tasks[run.episodes.task[row]].id, index: run.episodes.index[row] }),
  pair: (data, row) => {
    const inside = `${name === "." ? "" : `${name}/`}against`;
    return address("/episode", { run: [name, inside], task: data.episodes.task[row], index: data.episodes.index[row] });
  },
};

async function draw() {
  const { run, comparison, training, line, editable } = await load("/api/run", { run: name });
  document.title = `${line.labels.name || (run.name === "." ? line.title : run.name)} · Yardarm`;
  labels.show(line, editable);
  title.replaceChildren(...runTitle(run, line.labels.name));
  const { headline, pictures, forest, heat, ...rest } = runSections(run, links, comparison?.verdicts?.[0]);
  const own = comparison?.paths?.[1] === `${run.path}/against` ? links : { ...links, pair: () => null };
  page.draw({
    headline,
    ...(pictures ? { pictures } : {}),
    forest,
    heat,
    ...(comparison ? comparisonSections(comparison, own) : {}),
    ...rest,
  });
  contents.list();
  return { training };
}

/** Redraw, then pause: drawing a large run must not take the cores that it runs on. */
async function follow({ runs, all }) {
  if (!runs.changed.length && !all) return;
  const started = performance.now();
  await draw();
  await new Promise((rested) => setTimeout(rested, REST * (performance.now() - started)));
}

/** Draw the page, with a link to the training if the run evaluates one. */
async function start() {
  const { training } = await draw();
  if (training === null) return;
  top.firstElementChild.append(h("a", { href: address("/training", { training }) }, "Training"));
}

main.replaceChildren(top, title, labels.element, body);
start()
  .then(() => listen("/api/events", { run: name }, follow))
  .catch((error) => body.replaceChildren(problem(error)));
