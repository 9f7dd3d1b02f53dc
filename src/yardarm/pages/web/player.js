// What an episode's clock controls: a video, or single pictures.

import { h } from "yardarm/dom";

// How far a video may be off before it is corrected, in real time.
const DRIFT_S = 0.2;
// A browser plays on a little after a pause, and that would be the next episode.
const PAUSES_AFTER_S = 0.06;

/** A video: a whole file, or the seconds `from` … `to` of it, because a file may hold many episodes. */
export class Player {
  constructor(label, { fps, from = 0, to = Infinity }) {
    Object.assign(this, { fps, from, to });
    this.video = h("video", { "aria-label": label, muted: true, playsinline: true, preload: "auto", hidden: true });
    this.video.muted = true;
    this.element = this.video;
  }

  get visible() {
    return !this.video.hidden;
  }

  get running() {
    return this.visible && !this.video.paused;
  }

  get ended() {
    return this.video.ended;
  }

  /** The step that is shown. */
  get step() {
    return (this.video.currentTime - this.from) * this.fps;
  }

  /** Show a file, and join the clock as soon as it is loaded. */
  show(source, clock) {
    // The fragment lets the browser fetch the right part first.
    this.video.src = Number.isFinite(this.to) ? `${source}#t=${this.from},${this.to}` : source;
    this.video.hidden = false;
    const join = () => {
      this.seek(clock.step);
      if (clock.playing) this.play(clock.pace);
    };
    this.video.addEventListener("loadeddata", join, { once: true });
  }

  hide() {
    this.video.pause();
    this.video.hidden = true;
  }

  play(pace) {
    this.video.playbackRate = pace;
    if (!this.visible) return;
    // A video that cannot be played fires its own event.
    this.video.play().catch(() => {});
  }

  pause() {
    this.video.pause();
  }

  setPace(pace) {
    this.video.playbackRate = pace;
  }

  /** Show a step, or the last one. */
  seek(step) {
    if (this.video.readyState < 1) return;
    // A little into the frame, so that rounding does not show a neighbour.
    const last = Math.min(this.to - 0.5 / this.fps, Math.max(0, this.video.duration - 0.001));
    this.video.currentTime = Math.min(this.from + step / this.fps + 0.001, last);
  }

  /** While playing: stay inside this episode's part, and in step with the other players. */
  follow(step) {
    if (!this.running || this.video.seeking) return;
    const { currentTime, playbackRate } = this.video;
    if (currentTime + PAUSES_AFTER_S * playbackRate >= this.to) {
      this.video.pause();
      this.seek(Infinity);
    } else if (Math.abs(this.step - step) > DRIFT_S * Math.max(1, playbackRate) * this.fps) {
      this.seek(step);
    }
  }
}

/** Pictures that are fetched one by one: `source(frame)` is the address of a frame. */
export class Stills {
  constructor(label, { frames, source, failed }) {
    Object.assign(this, { frames, source, failed });
    this.image = h("img", { alt: label });
    this.element = this.image;
    this.wanted = 0;
    this.shown = null;
    this.busy = false;
  }

  // Pictures keep no time.
  running = false;
  ended = false;
  visible = false;

  play() {}
  pause() {}
  setPace() {}

  seek(step) {
    this.wanted = Math.max(0, Math.min(this.frames - 1, Math.floor(step + 0.001)));
    this.fetch();
  }

  follow(step) {
    this.seek(step);
  }

  /** Fetch the wanted picture; frames that pass meanwhile are skipped. */
  async fetch() {
    if (this.busy || this.shown === this.wanted) return;
    this.busy = true;
    const frame = (this.shown = this.wanted);
    this.image.src = this.source(frame);
    try {
      await this.image.decode();
      this.failed(null);
    } catch {
      this.failed(frame);
    }
    this.busy = false;
    this.fetch();
  }
}
