// The clock shared by the videos and plots of an episode.

import { h } from "yardarm/dom";

const SPEEDS = [0.25, 0.5, 1, 2, 4];
const SHORTEST_PLAYBACK_S = 3;

/** The current step of all sides: moved by the scrub bar, keys, a plot, or time while it plays. */
export class Clock {
  /**
   * `sides` have `players`, a `last` step, `fps`, `seconds` and `move(step)`; more may be added until `begin`.
   * `unit` is the name of a step.
   */
  constructor(sides, unit = "step") {
    this.sides = sides;
    this.unit = unit;
    this.step = 0;
    this.playing = false;
    this.scrub = h("input.scrub", {
      type: "range",
      min: 0,
      max: 1,
      value: 0,
      step: 1,
      "aria-label": unit[0].toUpperCase() + unit.slice(1),
      oninput: () => this.seek(Number(this.scrub.value)),
    });
    this.button = h("button.play", { type: "button", onclick: () => this.toggle() }, "▶ Play");
    this.label = h("output", {}, `${unit} 0`);
    this.speed = h(
      "select",
      { "aria-label": "Speed", onchange: () => this.players.forEach((player) => player.setPace(this.pace)) },
      SPEEDS.map((rate) => h("option", { value: rate }, rate === 1 ? "real time" : `${rate}×`)),
    );
    this.element = h("div.player", {}, this.button, this.scrub, this.label, this.speed);
  }

  begin() {
    this.last = Math.max(1, ...this.sides.map((side) => side.last));
    this.scrub.max = this.last;
    // Real time, but slower for episodes that would be over too quickly to see.
    const longest = Math.max(...this.sides.map((side) => side.seconds));
    this.speed.value =
      SPEEDS.filter((rate) => rate <= 1).findLast((rate) => longest / rate >= SHORTEST_PLAYBACK_S) ?? SPEEDS[0];
    this.seek(0);
    addEventListener("keydown", (event) => this.onKey(event));
  }

  get players() {
    return this.sides.flatMap((side) => side.players);
  }

  /** The playback speed; 1 is real time. */
  get pace() {
    return Number(this.speed.value);
  }

  /** The video that sets the time: the longest one. */
  get leader() {
    const longest = [...this.sides].sort((a, b) => b.seconds - a.seconds);
    return longest.flatMap((side) => side.players).find((player) => player.visible);
  }

  show(step) {
    this.step = step;
    this.scrub.value = Math.round(step);
    this.label.textContent = `${this.unit} ${Math.round(step)} of ${this.last}`;
    for (const side of this.sides) side.move(step);
  }

  seek(step) {
    this.show(Math.max(0, Math.min(step, this.last)));
    this.began = { at: performance.now(), step: this.step };
    for (const player of this.players) player.seek(this.step);
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
    for (const side of this.sides) {
      for (const player of side.players) {
        player.setPace(this.pace);
        if (this.step < side.last) player.play(this.pace);
      }
    }
    requestAnimationFrame(() => this.tick());
  }

  pause() {
    this.playing = false;
    this.button.textContent = "▶ Play";
    for (const player of this.players) player.pause();
  }

  tick() {
    if (!this.playing) return;
    this.show(Math.min(this.last, this.now()));
    for (const player of this.players) player.follow(this.step);
    if (this.step >= this.last || this.leader?.ended) return this.end();
    requestAnimationFrame(() => this.tick());
  }

  /** Stop exactly on the last step. */
  end() {
    this.pause();
    this.seek(this.last);
  }

  /** The current step: from the video, or from the time if there is none. */
  now() {
    const { leader } = this;
    if (leader?.running) {
      this.began = { at: performance.now(), step: leader.step };
      return this.began.step;
    }
    const seconds = (performance.now() - this.began.at) / 1000;
    return this.began.step + seconds * this.sides[0].fps * this.pace;
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

  /** Space plays and pauses; the arrow keys move one step, or ten with shift. */
  onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target.matches("input:not(.scrub), select, button, a, textarea")) return;
    const by = event.shiftKey ? 10 : 1;
    const actions = {
      " ": () => this.toggle(),
      ArrowRight: () => this.seek(Math.round(this.step) + by),
      ArrowLeft: () => this.seek(Math.round(this.step) - by),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }
}
