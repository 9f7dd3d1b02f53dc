// Chosen runs, compared.

import { comparisonSections } from "yardarm/comparison";
import { h } from "yardarm/dom";
import { address, load, parameters, problem } from "yardarm/live";
import { header, Sections } from "yardarm/page";

const names = parameters().getAll("run");
const main = document.getElementById("main");
const body = h("div", {}, h("p.note", {}, "Comparing …"));

// At most four videos side by side: those of the first runs.
const links = {
  pair: (data, row) =>
    address("/episode", {
      run: data.places.slice(0, 4),
      task: data.episodes.task[row],
      index: data.episodes.index[row],
    }),
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
