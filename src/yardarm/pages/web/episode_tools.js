// Flagging, deleting, trimming and relabelling an episode on its page. All of it is planned, and applied on the dataset's page.

import { h } from "yardarm/dom";
import { address } from "yardarm/live";
import { button, edits } from "yardarm/review";

/** The tools of one episode; its notes are shown where nothing can be edited, too. */
export class EpisodeTools {
  constructor(data, review, clock) {
    Object.assign(this, { data, review, clock, episode: data.index });
    this.reason = h("input", {
      type: "text",
      placeholder: "why (optional)",
      "aria-label": "Reason for the flag",
      maxlength: 200,
      onchange: () => this.noted.flag !== null && this.note({ flag: this.reason.value }),
    });
    this.task = h("input", {
      type: "text",
      "aria-label": "Instruction",
      maxlength: 500,
      value: data.tasks.join(" → "),
    });
    this.flag = button("⚑ Flag", () => this.toggleFlag());
    this.remove = button("Delete", () => this.note({ delete: !this.noted.deleted }));
    this.before = button("Cut before", () => this.cut("before"));
    this.after = button("Cut after", () => this.cut("after"));
    this.whole = button("Keep all frames", () => this.note({ keep: null }));
    this.relabel = button("Set", () => this.note({ task: this.task.value.trim() || null }));
    this.planned = h("p.planned", { role: "status" });
    this.element = h("div.tools", {}, review.editable ? this.controls() : null, this.planned, review.state);
    review.onChange(() => this.draw());
    if (review.editable) addEventListener("keydown", (event) => this.onKey(event));
  }

  get noted() {
    return this.review.of(this.episode);
  }

  /** The frames that stay, as a pair: from the first up to, not including, the last. */
  get kept() {
    return this.noted.keep ?? [0, this.data.steps];
  }

  note(change) {
    return this.review.note([this.episode], change);
  }

  controls() {
    const group = (label, ...content) => h("div.tool", { role: "group", "aria-label": label }, content);
    return h(
      "div.toolbar",
      {},
      group("Flag", this.flag, this.reason),
      group("Trim", this.before, this.after, this.whole),
      group("Instruction", this.task, this.relabel),
      group("Delete", this.remove),
    );
  }

  toggleFlag() {
    this.note({ flag: this.noted.flag === null ? this.reason.value : null });
  }

  cut(side) {
    const frame = Math.round(this.clock.step);
    const [start, stop] = this.kept;
    const { steps } = this.data;
    const keep = side === "before" ? [frame, stop > frame ? stop : steps] : [start <= frame ? start : 0, frame + 1];
    this.note({ keep: keep[0] === 0 && keep[1] === steps ? null : keep });
  }

  draw() {
    const { noted, review } = this;
    this.flag.setAttribute("aria-pressed", String(noted.flag !== null));
    this.flag.textContent = noted.flag === null ? "⚑ Flag" : "⚑ Flagged";
    if (document.activeElement !== this.reason && noted.flag) this.reason.value = noted.flag;
    this.remove.textContent = noted.deleted ? "Do not delete" : "Delete";
    this.whole.hidden = !noted.keep;
    if (noted.task !== null && document.activeElement !== this.task) this.task.value = noted.task;
    const planned = edits(noted, this.data.steps);
    const all = review.edited.length;
    const link = h(
      "a",
      { href: `${address("/dataset", { dataset: review.dataset })}#edits` },
      `All planned edits (${all})`,
    );
    const flagged = noted.flag !== null && !review.editable ? `⚑ Flagged${noted.flag ? `: ${noted.flag}` : ""}. ` : "";
    this.planned.replaceChildren(
      ...[flagged, planned ? h("strong", {}, `Planned: ${planned}. `) : "", all && review.editable ? link : ""],
    );
  }

  /** Show at which frame the buttons would cut. */
  move(step) {
    const frame = Math.round(step);
    this.before.textContent = `Cut before ${frame}`;
    this.after.textContent = `Cut after ${frame}`;
    this.before.disabled = frame === 0;
    this.after.disabled = frame >= this.data.steps - 1;
  }

  /** The keys of video editors: i and o are the first and the last frame to keep. */
  onKey(event) {
    const actions = {
      f: () => this.toggleFlag(),
      i: () => this.cut("before"),
      o: () => this.cut("after"),
      Delete: () => this.note({ delete: !this.noted.deleted }),
    };
    if (isForPage(event)) actions[event.key]?.();
  }
}

/** Whether a key is meant for the page, not for a field. */
export const isForPage = (event) =>
  !event.altKey && !event.ctrlKey && !event.metaKey && !event.target.matches("input:not(.scrub), select, textarea");
