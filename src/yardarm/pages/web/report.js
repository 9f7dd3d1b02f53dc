// A self-contained report: a run, a comparison, or both. Its data is in the page.

import { comparisonSections } from "yardarm/comparison";
import { curves } from "yardarm/charts";
import { breakable, command, factList, h, number, outcome, OUTCOMES, section } from "yardarm/dom";
import { Contents, header, Sections } from "yardarm/page";
import { runSections, runTitle } from "yardarm/run";

const { run, comparison, title: given } = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");

const shell = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);
const address = (task, index) => `#episode=${encodeURIComponent(task)}/${index}`;
const links = {
  episode: (own, row) => address(own.tasks[own.episodes.task[row]].id, own.episodes.index[row]),
  picture: (own, row) => own.drawn[row],
  pair: () => null,
};

const title = () => (run ? runTitle(run) : [h("h1", {}, breakable(given))]);

/** The task and index of the episode in the address, or null. */
function named() {
  const [, id, index] = location.hash.match(/^#episode=(.*)\/(\d+)$/) ?? [];
  try {
    return id === undefined ? null : { id: decodeURIComponent(id), index: Number(index) };
  } catch {
    return { id: "", index: -1 }; // not a valid address
  }
}

/** The section about the episode in the address. */
function episode() {
  const wanted = run && named();
  if (!wanted) return h("section", { id: "episode", hidden: true });
  const { episodes } = run;
  const place = run.tasks.findIndex((task) => task.id === wanted.id);
  const row = episodes.task.findIndex((task, own) => task === place && episodes.index[own] === wanted.index);
  if (row < 0) return section("episode", "Episode not found", null);
  const task = run.tasks[place];
  const facts = [
    ["outcome", outcome(episodes.outcome[row])],
    ["seed", episodes.seed[row]],
    ["steps", `${episodes.steps[row]} of at most ${task.max_steps}`],
    ["return", number(episodes.reward[row])],
    ["seconds", episodes.seconds[row].toFixed(1)],
  ];
  return section(
    "episode",
    `${task.name}, episode ${wanted.index}`,
    task.instruction,
    factList(facts),
    episodes.videos[row]?.map(video) ?? lastFrame(row),
    rewards(place, wanted.index, episodes.steps[row]),
    episodes.errors[row] ? h("pre", { tabindex: "0" }, episodes.errors[row]) : howToWatch(task, wanted.index),
  );
}

/** The picture of an episode without a video, if there is one. */
function lastFrame(row) {
  const src = run.drawn[row];
  if (!src) return null;
  return h("figure.last-frame", {}, h("img", { src, alt: "" }), h("figcaption.small", {}, "the last frame"));
}

function video(path) {
  const src = path.split("/").map(encodeURIComponent).join("/");
  const camera = path
    .split("/")
    .pop()
    .replace(/^episode_\d+_|\.mp4$/g, "");
  return h(
    "figure",
    {},
    h("figcaption.small", {}, camera),
    h("video", { src, "aria-label": `Video from ${camera}`, controls: true, preload: "metadata" }),
  );
}

function rewards(place, index, steps) {
  const curve = run.curves.find((own) => own.task === place && own.index === index);
  if (!curve) return h("p.small", {}, "The rewards of this episode are not in this file; the viewer shows them.");
  const means = curve.every > 1 ? `, means of ${curve.every} steps` : "";
  const line = { ...curve, kind: OUTCOMES[curve.outcome].kind };
  return [
    h("div.small", {}, `reward over ${steps} steps${means}`),
    curves([line], { steps, label: `Reward over ${steps} steps` }),
  ];
}

function howToWatch(task, index) {
  const several = new Set(run.tasks.map((own) => own.id.split("/")[0])).size > 1;
  const own = several ? task.id : task.id.slice(task.id.indexOf("/") + 1);
  const replay = ["yardarm", "replay", run.path, `--task=${own}`, `--episode=${index}`].map(shell).join(" ");
  const view = ["yardarm", "view", run.path].map(shell).join(" ");
  return [h("p", {}, "To watch this episode:"), command(replay), command(view)];
}

function draw() {
  const sections = run ? runSections(run, links, comparison?.verdicts?.[0]) : {};
  const { headline, pictures, forest, heat, ...rest } = sections;
  const compared = comparison ? comparisonSections(comparison, links) : {};
  page.draw({
    ...(run ? { headline } : {}),
    ...(pictures ? { pictures } : {}),
    ...(run ? {} : compared),
    ...(run ? { forest, heat } : {}),
    episode: { shows: [run ? location.hash : ""], draw: episode },
    ...(run ? compared : {}),
    ...rest,
  });
  contents.list();
}

/** Scroll to the episode in the address, and mark its cell. */
function showEpisode() {
  document.querySelector(".cell[aria-current]")?.removeAttribute("aria-current");
  if (!named()) return;
  document.querySelector(`.cell[href="${CSS.escape(location.hash)}"]`)?.setAttribute("aria-current", "true");
  const heading = document.querySelector("#episode h2");
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  document.getElementById("episode").scrollIntoView({ block: "nearest" });
}

const body = h("div");
main.replaceChildren(header(h("span.brand", {}, "Yardarm")), ...title(), body);
const page = new Sections(body);
const contents = new Contents(body);
draw();
addEventListener("hashchange", () => {
  draw();
  showEpisode();
});
showEpisode();
