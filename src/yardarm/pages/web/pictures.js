// The strip of pictures: how the first failures ended, and a success.

import { breakable, count, h, OUTCOMES, section } from "yardarm/dom";

/** The pictures of a run; `links.picture(run, row)` is a picture's address, `links.episode` leads to its video. */
export function strip(run, links) {
  const { episodes, overall, pictures } = run;
  const [failures, successes] = ["f", "s"].map((own) => pictures.filter((row) => episodes.outcome[row] === own).length);
  const solved = successes > 1 ? " and successes" : successes ? ", and a success" : "";
  const title = failures ? `First failures${solved}` : "First successes";
  const errors = overall.errors
    ? ` ${count(overall.errors)} ${overall.errors === 1 ? "episode" : "episodes"} ended in errors, and have no picture.`
    : "";
  const note = `The last frame of each episode; click it to watch the episode.${errors}`;
  const items = pictures.map((row) => h("li", {}, picture(run, row, links)));
  return section("pictures", title, note, h("ul.strip", {}, items));
}

function picture(run, row, links) {
  const { index, outcome, seed, steps, task, videos } = run.episodes;
  const { kind, mark, name } = OUTCOMES[outcome[row]];
  const own = run.tasks[task[row]];
  const src = links.picture(run, row);
  const alt = `${own.name}, episode ${index[row]}: ${name} after ${steps[row]} steps`;
  return h(
    `a.shot.${kind}`,
    { href: links.episode(run, row), title: own.instruction || null },
    h(
      "span.frame",
      {},
      h("img", { src, alt, width: 160, height: 160 }),
      h("span.mark-of-outcome", { "aria-hidden": "true" }, mark),
      h(`span.play-sign${videos[row] ? ".ready" : ""}`, { "aria-hidden": "true" }, "▶"),
    ),
    h("strong", {}, breakable(own.name)),
    h("span.small", {}, `episode ${index[row]} · seed ${seed[row]}`),
    h("span.small", {}, `${steps[row]} of ${own.max_steps} steps`),
  );
}
