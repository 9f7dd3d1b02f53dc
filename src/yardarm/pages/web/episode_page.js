// An episode in the viewer: its video, and what was done and felt at each step. Of several runs, side by side.

import { curves } from "yardarm/charts";
import { breakable, h, number, outcome } from "yardarm/dom";
import { address, listen, load, parameters, problem } from "yardarm/live";
import { header } from "yardarm/page";

const SPEEDS = [0.25, 0.5, 1, 2, 4];
const WORTH_SEEING_S = 3;
const WIDTH = 600;
const LETTERS = { success: "s", failure: "f", error: "e" };
const runs = parameters().getAll("run");
const task = parameters().get("task") ?? "";
const index = Number(parameters().get("index"));
const main = document.getElementById("main");
const sides = [];

/** Eight colours, and then the same ones dashed. */
const kindOf = (place) => `d${place % 8}${place >= 8 ? ".dashed" : ""}`;

/** One run's part: a video with its plots, on a clock that all sides share. */
class Side {
  constructor(run, data) {
    this.run = run;
    this.data = data;
    this.camera = data.ready[0] ?? data.cameras[0];
    this.video = h("video", { muted: true, playsinline: true, preload: "auto", hidden: true });
    this.video.muted = true;
    this.bar = h("progress", { max: 1, value: 0, "aria-label": "Rendering" });
    this.state = h("p.note", { role: "status" });
    this.cursors = [];
    this.readings = [];
    this.plots = h("div");
    const stage = h("div.stage", {}, this.video, this.bar, this.state);
    this.element = h("div.side", {}, h("div", {}, this.title(), stage, this.cameraChoice(), this.facts()), this.plots);
    this.drawPlots();
  }

  get seconds() {
    return this.data.steps / this.data.fps;
  }

  title() {
    return runs.length > 1
      ? h(
          "h2",
          {},
          h("a", { href: address("/run", { run: this.run }) }, this.run),
          " ",
          outcome(LETTERS[this.data.status]),
        )
      : null;
  }

  facts() {
    const { data } = this;
    const facts = [
      ["outcome", outcome(LETTERS[data.status])],
      ["policy", data.policy],
      ["seed", data.seed],
      ["steps", `${data.steps} of at most ${data.max_steps}`],
      ["return", number(data.reward)],
    ];
    return [
      h(
        "dl.facts",
        {},
        facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
      ),
      data.diverged_at != null
        ? h(
            "p.warning",
            {},
            `The replay left the recorded course at or before step ${data.diverged_at}: the video shows what these versions of the simulator do with the recorded actions.`,
          )
        : null,
      data.problem ? h("p.warning", {}, data.problem) : null,
      data.error ? h("pre", { tabindex: "0" }, data.error) : null,
    ];
  }

  cameraChoice() {
    if (this.data.cameras.length < 2) return null;
    const change = (event) => {
      this.camera = event.target.value;
      this.watch();
    };
    const options = this.data.cameras.map((name) => h("option", { value: name, selected: name === this.camera }, name));
    return h("p.choices", {}, h("label", {}, "Camera ", h("select", { onchange: change }, options)));
  }

  /** Have the video made, if there is none yet, and show it. */
  watch() {
    const { data } = this;
    this.stopListening?.();
    this.video.pause();
    this.video.hidden = true;
    this.bar.hidden = true;
    if (!this.camera) {
      this.state.textContent =
        data.no_rendering ??
        (data.status === "error" ? "It ended in an error, so there is nothing to watch." : "There is no video.");
      return;
    }
    if (data.no_rendering) return this.show();
    this.state.textContent = "Rendering: starting the simulator …";
    this.bar.hidden = false;
    this.bar.removeAttribute("value");
    const { camera } = this;
    this.stopListening = listen("/api/rendering", { run: this.run, task, index, camera }, async (job) => {
      if (job.frames && job.done) this.bar.value = job.done / job.frames;
      this.state.textContent = progress(job);
      if (!job.finished) return;
      this.stopListening();
      this.bar.hidden = true;
      if (job.problem) return (this.state.textContent = `There is no video: ${job.problem}`);
      if (!this.data.states) await this.loadStates();
      if (camera === this.camera) this.show();
    });
  }

  show() {
    this.state.textContent = "";
    this.video.src = address("/api/video", { run: this.run, task, index, camera: this.camera });
    this.video.hidden = false;
    const join = () => {
      this.seek(clock.step);
      if (clock.playing) this.video.play();
    };
    this.video.addEventListener("loadeddata", join, { once: true });
  }

  async loadStates() {
    const fresh = await load("/api/episode", { run: this.run, task, index });
    this.data = { ...this.data, states: fresh.states, diverged_at: fresh.diverged_at };
    this.drawPlots();
  }

  drawPlots() {
    const { data } = this;
    const steps = Math.max(1, data.steps, ...sides.map((side) => side.data.steps));
    const dimensions = (columns, more) =>
      columns.map((values, place) => ({ values, kind: kindOf(place), title: `[${place}]`, ...more }));
    const plots = [
      ["Reward", data.rewards.length ? [{ values: data.rewards, every: 1, kind: "d0" }] : []],
      ["Actions", dimensions(data.actions, { every: 1 })],
      ["State of the robot", data.states ? dimensions(data.states.values, { every: data.states.every, first: 0 }) : []],
    ].filter(([, lines]) => lines.length);
    this.readings = [];
    const drawn = plots.map(([name, lines]) => {
      const also = name === "Reward" ? sides.flatMap((side) => side.data.rewards) : []; // one axis for all sides
      const size = { width: WIDTH, height: 110 };
      const plot = curves(lines, { steps, label: `${name} over ${data.steps} steps`, cursor: true, also, ...size });
      const picture = plot.querySelector("svg");
      picture.addEventListener("pointerdown", (event) => clock.drag(event, picture, steps));
      const legend = lines.map((line) => {
        const value = h("span");
        this.readings.push({ line, value });
        return h(`span.key.${line.kind}`, {}, line.title ?? "", " ", value);
      });
      return h("figure.timeline", {}, h("figcaption", {}, h("span", {}, name), legend), plot);
    });
    this.cursors = drawn.map((figure) => figure.querySelector(".cursor"));
    this.reach = steps;
    this.plots.replaceChildren(
      ...drawn,
      data.states || !data.cameras.length
        ? ""
        : h("p.small", {}, "The state is known once the episode has been replayed."),
    );
    this.move(clock?.step ?? 0);
  }

  /** Put the cursor at a step, and say the values there. */
  move(step) {
    for (const cursor of this.cursors) {
      const x = (WIDTH * Math.min(step, this.data.steps)) / this.reach;
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
    }
    for (const { line, value } of this.readings) {
      const place = Math.min(line.values.length - 1, Math.floor(step / line.every));
      value.textContent = number(line.values[place]);
    }
  }

  seek(step) {
    if (this.video.readyState < 1) return;
    // A little into the frame, so that rounding shows no neighbour.
    this.video.currentTime = Math.min(step / this.data.fps + 0.001, Math.max(0, this.video.duration - 0.001));
  }
}

/** The step that all sides show: moved by the scrub bar, by the keys, by a plot, or by time while it plays. */
class Clock {
  constructor() {
    this.step = 0;
    this.playing = false;
    this.scrub = h("input.scrub", {
      type: "range",
      min: 0,
      max: 1,
      value: 0,
      step: 1,
      "aria-label": "Step",
      oninput: () => this.seek(Number(this.scrub.value)),
    });
    this.button = h("button.play", { type: "button", onclick: () => this.toggle() }, "▶ Play");
    this.label = h("output", {}, "step 0");
    const setPace = () => sides.forEach((side) => (side.video.playbackRate = Number(this.speed.value)));
    this.speed = h(
      "select",
      { "aria-label": "Speed", onchange: setPace },
      SPEEDS.map((rate) => h("option", { value: rate }, rate === 1 ? "real time" : `${rate}×`)),
    );
    this.element = h("div.player", {}, this.button, this.scrub, this.label, this.speed);
  }

  begin() {
    this.last = Math.max(1, ...sides.map((side) => side.data.steps));
    this.scrub.max = this.last;
    // Real time, but no episode shall be over before one has seen it.
    const longest = Math.max(...sides.map((side) => side.seconds));
    this.speed.value =
      SPEEDS.filter((rate) => rate <= 1).findLast((rate) => longest / rate >= WORTH_SEEING_S) ?? SPEEDS[0];
    this.seek(0);
  }

  /** Where time is read from: the longest video that there is. */
  get leader() {
    return sides.filter((side) => !side.video.hidden).sort((a, b) => b.seconds - a.seconds)[0];
  }

  show(step) {
    this.step = step;
    this.scrub.value = Math.round(step);
    this.label.textContent = `step ${Math.round(step)} of ${this.last}`;
    for (const side of sides) side.move(step);
  }

  seek(step) {
    this.show(Math.max(0, Math.min(step, this.last)));
    this.began = { at: performance.now(), step: this.step };
    for (const side of sides) side.seek(this.step);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.step >= this.last - 1) this.seek(0);
    this.playing = true;
    this.began = { at: performance.now(), step: this.step };
    this.button.textContent = "❚❚ Pause";
    for (const side of sides) {
      side.video.playbackRate = Number(this.speed.value);
      if (!side.video.hidden && this.step < side.data.steps) side.video.play();
    }
    requestAnimationFrame(() => this.tick());
  }

  pause() {
    this.playing = false;
    this.button.textContent = "▶ Play";
    for (const side of sides) side.video.pause();
  }

  tick() {
    if (!this.playing) return;
    this.show(Math.min(this.last, this.now()));
    if (this.step >= this.last || this.leader?.video.ended) return this.pause();
    requestAnimationFrame(() => this.tick());
  }

  /** The step that it is: as the video has it, or by the clock where there is none. */
  now() {
    const { leader } = this;
    if (leader && !leader.video.paused) {
      this.began = { at: performance.now(), step: leader.video.currentTime * leader.data.fps };
      return this.began.step;
    }
    const seconds = (performance.now() - this.began.at) / 1000;
    return this.began.step + seconds * sides[0].data.fps * Number(this.speed.value);
  }

  /** Follow a pointer over a plot. */
  drag(event, picture, steps) {
    const follow = (at) => {
      const box = picture.getBoundingClientRect();
      this.seek((steps * (at.clientX - box.left)) / box.width);
    };
    follow(event);
    picture.setPointerCapture(event.pointerId);
    picture.onpointermove = follow;
    picture.onpointerup = picture.onpointercancel = () => (picture.onpointermove = null);
  }
}

function progress({ waiting, frames, done }) {
  if (waiting) return "Waiting for other videos to be rendered …";
  return done ? `Rendering: frame ${done} of ${frames}` : "Rendering: starting the simulator …";
}

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

function keys(event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.target.matches("input:not(.scrub), select, button, a, textarea")) return;
  const by = event.shiftKey ? 10 : 1;
  const actions = {
    " ": () => clock.toggle(),
    ArrowRight: () => clock.seek(Math.round(clock.step) + by),
    ArrowLeft: () => clock.seek(Math.round(clock.step) - by),
  };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
}

const clock = new Clock();

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
    all.forEach((data, place) => sides.push(new Side(runs[place], data)));
    for (const side of sides) side.drawPlots();
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
    addEventListener("keydown", keys);
    for (const side of sides) side.watch();
  } catch (error) {
    main.append(problem(error));
  }
}

start();
