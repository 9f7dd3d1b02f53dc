// What a reader notes about a dataset: flags, and edits that are planned but not applied. The viewer keeps them.

import { count, h } from "yardarm/dom";
import { load, send } from "yardarm/live";

const POLL_MS = 700;

/** The notes of one dataset; `changed` listeners are called after each change. */
export class Review {
  constructor(dataset, { review, editable }) {
    this.dataset = dataset;
    this.editable = editable;
    this.data = review;
    this.listeners = [];
    this.state = h("p.warning", { role: "alert", hidden: !review.problem }, review.problem ?? "");
  }

  /** The notes about an episode. */
  of(episode) {
    const { flags, deleted, trimmed, relabelled } = this.data;
    return {
      flag: flags[episode] ?? null,
      deleted: deleted.includes(episode),
      keep: trimmed[episode] ?? null,
      task: relabelled[episode] ?? null,
    };
  }

  get flagged() {
    return Object.keys(this.data.flags).map(Number);
  }

  /** The episodes with planned edits, in order. */
  get edited() {
    const { deleted, trimmed, relabelled } = this.data;
    const all = [...deleted, ...Object.keys(trimmed).map(Number), ...Object.keys(relabelled).map(Number)];
    return [...new Set(all)].sort((a, b) => a - b);
  }

  onChange(listener) {
    this.listeners.push(listener);
    listener();
  }

  /** Change the notes about episodes: {flag, delete, keep, task}; null takes one back. */
  note(episodes, change) {
    return this.change("/api/dataset/note", { dataset: this.dataset, episodes, ...change });
  }

  clear() {
    return this.change("/api/dataset/clear", { dataset: this.dataset });
  }

  async change(path, content) {
    try {
      this.data = await send(path, content);
      this.state.hidden = true;
    } catch (error) {
      this.state.textContent = error.message;
      this.state.hidden = false;
    }
    for (const listener of this.listeners) listener();
  }
}

/** The edits of an episode in words. */
export function edits({ deleted, keep, task }, length) {
  if (deleted) return "delete";
  return [
    keep ? `keep frames ${count(keep[0])} to ${count(keep[1] - 1)} of ${count(length)}` : null,
    task ? `instruction “${task}”` : null,
  ]
    .filter(Boolean)
    .join(", ");
}

/** Ask again and again until `handle` returns true. */
export async function poll(path, values, handle) {
  while (!handle(await load(path, values))) await new Promise((done) => setTimeout(done, POLL_MS));
}

export const button = (text, onclick, more = {}) => h("button", { type: "button", onclick, ...more }, text);
