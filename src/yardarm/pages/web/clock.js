// The time that videos and plots of an episode share.

import { h } from "yardarm/dom";

const SPEEDS = [0.25, 0.5, 1, 2, 4];
const WORTH_SEEING_S = 3;

/** The step that all sides show: moved by the scrub bar, by the keys, by a plot, or by time while it plays. */
export class Clock {
  /** `sides` have a video, `data`, `seconds`, and know how to `seek` and `move`; more may be added until `begin`. */
  constructor(sides) {
    this.sides = sides;
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
    const setPace = () => this.sides.forEach((side) => (side.video.playbackRate = Number(this.speed.value)));
    this.speed = h(
      "select",
      { "aria-label": "Speed", onchange: setPace },
      SPEEDS.map((rate) => h("option", { value: rate }, rate === 1 ? "real time" : `${rate}×`)),
    );
    this.element = h("div.player", {}, this.button, this.scrub, this.label, this.speed);
  }

  begin() {
    this.last = Math.max(1, ...this.sides.map((side) => side.data.steps));
    this.scrub.max = this.last;
    // Real time, but no episode shall be over before one has seen it.
    const longest = Math.max(...this.sides.map((side) => side.seconds));
    this.speed.value =
      SPEEDS.filter((rate) => rate <= 1).findLast((rate) => longest / rate >= WORTH_SEEING_S) ?? SPEEDS[0];
    this.seek(0);
  }

  /** Where time is read from: the longest video that there is. */
  get leader() {
    return this.sides.filter((side) => !side.video.hidden).sort((a, b) => b.seconds - a.seconds)[0];
  }

  show(step) {
    this.step = step;
    this.scrub.value = Math.round(step);
    this.label.textContent = `step ${Math.round(step)} of ${this.last}`;
    for (const side of this.sides) side.move(step);
  }

  seek(step) {
    this.show(Math.max(0, Math.min(step, this.last)));
    this.began = { at: performance.now(), step: this.step };
    for (const side of this.sides) side.seek(this.step);
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
      side.video.playbackRate = Number(this.speed.value);
      if (!side.video.hidden && this.step < side.data.steps) side.video.play();
    }
    requestAnimationFrame(() => this.tick());
  }

  pause() {
    this.playing = false;
    this.button.textContent = "▶ Play";
    for (const side of this.sides) side.video.pause();
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
    return this.began.step + seconds * this.sides[0].data.fps * Number(this.speed.value);
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
