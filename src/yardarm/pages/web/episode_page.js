// An episode in the viewer: its video, with actions, rewards and states at each step; several runs side by side.

import { Clock } from "yardarm/clock";
import { breakable, h } from "yardarm/dom";
import { address, load, parameters, problem } from "yardarm/live";
import { header } from "yardarm/page";
import { Side } from "yardarm/side";

const runs = parameters().getAll("run");
const task = parameters().get("task") ?? "";
const index = Number(parameters().get("index"));
const main = document.getElementById("main");
const sides = [];
const clock = new Clock(sides);

function neighbours(data) {
  const to = (place, text) =>
    place === null ? null : h("a", { href: address("/episode", { run: runs, task, index: place }) }, text);
  const { previous, next, next_failure: failure } = data.neighbours;
  return h(
    "nav.choices",
    { "aria-label": "Other episodes" },
    to(previous, "← Previous"),
    to(next, "Next →"),
    to(failure, "Next failure →"),
  );
}

async function start() {
  const short = task.slice(task.indexOf("/") + 1);
  document.title = `${short}, episode ${index} · Yardarm`;
  const back =
    runs.length === 1
      ? h("a", { href: address("/run", { run: runs[0] }) }, runs[0])
      : h("a", { href: address("/compare", { run: runs }) }, "Comparison");
  const top = header(h("a.brand", { href: "/" }, "Yardarm"), h("a", { href: "/" }, "All runs"), back);
  const title = h("h1", {}, breakable(short), `, episode ${index}`);
  main.replaceChildren(top, title);
  try {
    if (!runs.length) throw new Error("The address names no run.");
    const all = await Promise.all(runs.map((run) => load("/api/episode", { run, task, index })));
    all.forEach((data, place) => sides.push(new Side({ run: runs[place], task, index }, data, clock)));
    for (const side of sides) side.draw();
    main.append(
      h("p.note", {}, all[0].instruction),
      neighbours(all[0]),
      clock.element,
      h(
        `div.sides${sides.length > 1 ? ".several" : ""}`,
        {},
        sides.map((side) => side.element),
      ),
    );
    clock.begin();
    for (const side of sides) side.watch();
  } catch (error) {
    main.append(problem(error));
  }
}

start();
