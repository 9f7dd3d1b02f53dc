// A report that stands alone: a run, a comparison, or both. Its data is in the page.

import { comparisonSections } from "yardarm/comparison";
import { curves } from "yardarm/charts";
import { command, h, number, outcome, OUTCOMES, section } from "yardarm/dom";
import { header, Sections } from "yardarm/page";
import { runSections, statusBadge } from "yardarm/run";

const { run, comparison } = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");

const shell = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);
const address = (task, index) => `#episode=${encodeURIComponent(task)}/${index}`;
const links = {
  episode: (own, row) => address(own.tasks[own.episodes.task[row]].id, own.episodes.index[row]),
  pair: () => null,
};

function title() {
  if (!run) return h("h1", {}, "Comparison");
  return h("h1", {}, run.name, " ", statusBadge(run.status));
}

/** The episode that the address names, as far as the report knows it. */
function episode() {
  const named = location.hash.match(/^#episode=(.*)\/(\d+)$/);
  if (!run || !named) return h("section", { id: "episode", hidden: true });
  const [id, index] = [decodeURIComponent(named[1]), Number(named[2])];
  const place = run.tasks.findIndex((task) => task.id === id);
  const { episodes } = run;
  const row = episodes.task.findIndex((task, own) => task === place && episodes.index[own] === index);
  if (row < 0) return section("episode", "There is no such episode", null);
  const task = run.tasks[place];
  const several = new Set(run.tasks.map((own) => own.benchmark)).size > 1;
  const words = ["yardarm", "replay", run.path, `--task=${several ? task.id : task.name}`, `--episode=${index}`];
  const curve = run.curves.find((own) => own.task === place && own.index === index);
  const facts = [
    ["outcome", outcome(episodes.outcome[row])],
    ["seed", episodes.seed[row]],
    ["steps", `${episodes.steps[row]} of at most ${task.max_steps}`],
    ["return", number(episodes.reward[row])],
    ["seconds", episodes.seconds[row].toFixed(1)],
  ];
  return section(
    "episode",
    `${task.name}, episode ${index}`,
    task.instruction,
    h(
      "dl.facts",
      {},
      facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
    ),
    (episodes.videos[row] ?? []).map((path) =>
      h("video", { src: path.split("/").map(encodeURIComponent).join("/"), controls: true, preload: "metadata" }),
    ),
    curve
      ? [
          h("div.small", {}, "reward"),
          curves([{ ...curve, kind: OUTCOMES[curve.outcome].kind }], {
            steps: episodes.steps[row],
            label: "Reward over steps",
          }),
        ]
      : null,
    episodes.errors[row]
      ? h("pre", { tabindex: "0" }, episodes.errors[row])
      : [h("p", {}, "To watch it:"), command(words.map(shell).join(" "))],
  );
}

function draw() {
  const sections = run ? runSections(run, links) : {};
  const { headline, forest, heat, ...rest } = sections;
  const compared = comparison ? comparisonSections(comparison, links) : {};
  page.draw({
    ...(run ? { headline } : {}),
    ...(run ? {} : compared),
    ...(run ? { forest, heat } : {}),
    episode: { shows: [run ? location.hash : ""], draw: episode },
    ...(run ? compared : {}),
    ...rest,
  });
}

function showEpisode() {
  if (location.hash.startsWith("#episode=")) document.getElementById("episode").scrollIntoView({ block: "center" });
}

main.replaceChildren(header(h("span.brand", {}, "Yardarm")), title());
const page = new Sections(main);
draw();
addEventListener("hashchange", () => {
  draw();
  showEpisode();
});
showEpisode();
