// One run's part of an episode's page: a video, and what was done and felt at each step.

import { curves } from "yardarm/charts";
import { breakable, factList, h, number, outcome } from "yardarm/dom";
import { address, listen, load } from "yardarm/live";

const WIDTH = 600;
const LETTERS = { success: "s", failure: "f", error: "e" };

/** Eight colours, and then the same ones dashed. */
const kindOf = (place) => `d${place % 8}${place >= 8 ? ".dashed" : ""}`;

/** One run's part: a video with its plots, on a clock that all sides share. */
export class Side {
  /** `where` names the episode: run, task and index. */
  constructor(where, data, clock) {
    this.where = where;
    this.data = data;
    this.clock = clock;
    this.camera = data.ready[0] ?? data.cameras[0];
    const label = `Video of ${where.task}, episode ${where.index}, of ${where.run}`;
    this.video = h("video", { "aria-label": label, muted: true, playsinline: true, preload: "auto", hidden: true });
    this.video.muted = true;
    this.bar = h("progress", { max: 1, value: 0, "aria-label": "Rendering" });
    this.state = h("p.note", { role: "status" });
    this.cursors = [];
    this.readings = [];
    this.facts = h("div");
    this.plots = h("div");
    const stage = h("div.stage", {}, this.video, this.bar, this.state);
    this.element = h("div.side", {}, h("div", {}, this.title(), stage, this.cameraChoice(), this.facts), this.plots);
  }

  get seconds() {
    return this.data.steps / this.data.fps;
  }

  /** The run, which a page of one episode has in its header already. */
  title() {
    const { run } = this.where;
    const link = h("a", { href: address("/run", { run }) }, breakable(run));
    return h("h2.of-several", {}, link, " ", outcome(LETTERS[this.data.status]));
  }

  draw() {
    this.drawFacts();
    this.drawPlots();
  }

  drawFacts() {
    const { data } = this;
    const facts = [
      ["outcome", outcome(LETTERS[data.status])],
      ["policy", data.policy],
      ["seed", data.seed],
      ["steps", `${data.steps} of at most ${data.max_steps}`],
      ["return", number(data.reward)],
    ];
    const warnings = [data.diverged_at == null ? null : diverged(data.diverged_at), data.problem];
    this.facts.replaceChildren(
      factList(facts),
      ...warnings.filter(Boolean).map((text) => h("p.warning", {}, text)),
      data.error ? h("pre", { tabindex: "0" }, data.error) : "",
    );
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
    this.stopListening = listen("/api/rendering", { ...this.where, camera }, async (job) => {
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
    this.video.src = address("/api/video", { ...this.where, camera: this.camera });
    this.video.hidden = false;
    const join = () => {
      this.seek(this.clock.step);
      if (this.clock.playing) this.video.play();
    };
    this.video.addEventListener("loadeddata", join, { once: true });
  }

  async loadStates() {
    const fresh = await load("/api/episode", this.where);
    this.data = { ...this.data, states: fresh.states, diverged_at: fresh.diverged_at };
    this.draw();
  }

  drawPlots() {
    const { data, clock } = this;
    const { sides } = clock;
    const steps = Math.max(1, ...sides.map((side) => side.data.steps));
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
    this.move(clock.step);
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

function progress({ waiting, frames, done }) {
  if (waiting) return "Waiting for other videos to be rendered …";
  return done ? `Rendering: frame ${done} of ${frames}` : "Rendering: starting the simulator …";
}

const diverged = (step) =>
  `The replay left the recorded course at or before step ${step}: the video shows what these versions of the ` +
  "simulator do with the recorded actions.";
