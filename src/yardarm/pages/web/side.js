// One run's part of the episode page: a video, with actions, rewards and states at each step.

import { breakable, factList, h, number, outcome, policy } from "yardarm/dom";
import { address, listen, load } from "yardarm/live";
import { Player } from "yardarm/player";
import { linesOf, Timelines } from "yardarm/timelines";

const LETTERS = { success: "s", failure: "f", error: "e" };

/** One run's part: a video with its plots, on the clock that all sides share. */
export class Side {
  /** `where` names the episode: run, task and index. */
  constructor(where, data, clock) {
    this.where = where;
    this.data = data;
    this.clock = clock;
    this.camera = data.ready[0] ?? data.cameras[0];
    const label = `Video of ${where.task}, episode ${where.index}, of ${where.run}`;
    this.player = new Player(label, { fps: data.fps });
    this.players = [this.player];
    this.bar = h("progress", { max: 1, value: 0, "aria-label": "Rendering" });
    this.state = h("p.note", { role: "status" });
    this.facts = h("div");
    this.timelines = new Timelines(clock);
    const stage = h("div.stage", {}, this.player.element, this.bar, this.state);
    const left = h("div", {}, this.title(), stage, this.cameraChoice(), this.facts);
    this.element = h("div.side", {}, left, this.timelines.element);
  }

  get last() {
    return this.data.steps;
  }

  get fps() {
    return this.data.fps;
  }

  get seconds() {
    return this.data.steps / this.data.fps;
  }

  /** The run's title, for pages that show several. */
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
      ["policy", policy(data.policy_label)],
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

  /** Render the video if there is none yet, and show it. */
  watch() {
    const { data } = this;
    this.stopListening?.();
    this.player.hide();
    this.bar.hidden = true;
    if (!this.camera) {
      this.state.textContent =
        data.no_rendering ??
        (data.status === "error" ? "This episode ended in an error, so there is nothing to watch." : "There is no video.");
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
      if (job.problem) return (this.state.textContent = `The video could not be rendered: ${job.problem}`);
      if (!this.data.states) await this.loadStates();
      if (camera === this.camera) this.show();
    });
  }

  show() {
    this.state.textContent = "";
    this.player.show(address("/api/video", { ...this.where, camera: this.camera }), this.clock);
  }

  async loadStates() {
    const fresh = await load("/api/episode", this.where);
    this.data = { ...this.data, states: fresh.states, diverged_at: fresh.diverged_at };
    this.draw();
  }

  drawPlots() {
    const { data } = this;
    const { sides } = this.clock;
    const reach = Math.max(1, ...sides.map((side) => side.data.steps));
    const plots = [
      {
        name: "Reward",
        lines: data.rewards.length ? [{ values: data.rewards, every: 1, kind: "d0" }] : [],
        also: sides.flatMap((side) => side.data.rewards), // one axis for all sides
      },
      { name: "Actions", lines: linesOf(data.actions, null, { every: 1 }) },
      {
        name: "Robot state",
        lines: data.states ? linesOf(data.states.values, null, { every: data.states.every, first: 0 }) : [],
      },
    ];
    const unknown = data.states || !data.cameras.length;
    const note = h("p.small", {}, "The robot's state is available once the episode has been replayed.");
    this.timelines.draw(plots, reach, ...(unknown ? [] : [note]));
    this.move(this.clock.step);
  }

  /** Move the cursor to a step, and show the values there. */
  move(step) {
    this.timelines.move(step, this.data.steps);
  }
}

function progress({ waiting, frames, done }) {
  if (waiting) return "Waiting for other videos to be rendered …";
  return done ? `Rendering: frame ${done} of ${frames}` : "Rendering: starting the simulator …";
}

const diverged = (step) =>
  `The replay diverges from the recording at or before step ${step}: the video shows what the installed ` +
  "simulator does with the recorded actions.";
