// The comparison of selected runs.

import { comparisonSections } from "yardarm/comparison";
import { h } from "yardarm/dom";
import { address, load, parameters, problem } from "yardarm/live";
import { header, Sections } from "yardarm/page";

const names = parameters().getAll("run");
const main = document.getElementById("main");
const body = h("div", {}, h("p.note", {}, "Comparing …"));

const MOST_SIDES = 4;
const links = {
  run: (data, place) => address("/run", { run: data.places[place] }),
  /** The runs that played this episode and can show it, side by side: as many as fit. */
  pair: (data, row) => {
    const { task, index, outcomes, steps } = data.episodes;
    const played = data.places.filter((_, place) => outcomes[row][place] !== "-" && steps[row][place] !== null);
    return played.length > 1
      ? address("/episode", { run: played.slice(0, MOST_SIDES), task: task[row], index: index[row] })
      : null;
  },
};

document.title = "Comparison · Yardarm";
main.replaceChildren(
  header(h("a.brand", { href: "/" }, "Yardarm"), h("a", { href: "/" }, "All runs")),
  h("h1", {}, "Comparison"),
  h(
    "p.note",
    {},
    names.map((name, place) => [place ? " · " : "", h("a", { href: address("/run", { run: name }) }, name)]),
  ),
  body,
);
load("/api/compare", { run: names })
  .then((data) => {
    body.replaceChildren();
    new Sections(body).draw(comparisonSections(data, links));
  })
  .catch((error) => body.replaceChildren(problem(error)));
