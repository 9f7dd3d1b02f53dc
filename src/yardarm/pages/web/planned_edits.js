// The edits that are planned for a dataset: what they are, the commands that do the same, and applying them.

import { command, count, folded, h, section } from "yardarm/dom";
import { address, load, send } from "yardarm/live";
import { button, edits, poll } from "yardarm/review";

/** The section of planned edits, which is hidden while there are none. */
export class PlannedEdits {
  constructor(review, lengths) {
    this.review = review;
    this.lengths = lengths;
    this.list = h("div");
    this.name = h("input", { id: "edited-name", type: "text", spellcheck: "false", autocomplete: "off" });
    this.sure = h("input", { type: "checkbox", onchange: () => (this.replace.disabled = !this.sure.checked) });
    this.replace = button("Replace this dataset", () => this.apply({ replace: true }), { disabled: true });
    this.state = h("div", { role: "status" });
    this.bar = h("progress", { hidden: true, "aria-label": "Progress of the edits" });
    this.form = this.drawForm();
    this.element = section("edits", "Planned edits", null, this.list, this.form, this.bar, this.state);
    review.onChange(() => this.draw());
    this.resume();
  }

  drawForm() {
    const submit = (event) => {
      event.preventDefault();
      this.apply({ output: this.name.value });
    };
    const forget = () => confirm("Forget all planned edits? Flags stay.") && this.review.clear();
    return h(
      "form.apply",
      { onsubmit: submit },
      h(
        "p.bar",
        {},
        h("label", { for: "edited-name" }, "New dataset, beside this one"),
        this.name,
        h("button.main", { type: "submit" }, "Write it"),
        button("Forget all edits", forget),
      ),
      folded(
        "Replace this dataset instead",
        h(
          "div.bar",
          {},
          h(
            "label",
            {},
            this.sure,
            " I do not need the dataset as it is now. It is deleted once the new one is complete.",
          ),
          this.replace,
        ),
      ),
    );
  }

  draw() {
    const { review } = this;
    const { summary, commands, output } = review.data;
    const some = review.edited.length > 0;
    this.element.hidden = !review.editable || (!some && !this.state.childElementCount);
    this.form.hidden = !some || this.applying;
    if (!this.name.value || this.name.value === this.suggested) this.name.value = output;
    this.suggested = output;
    const lines = review.edited.map((episode) => this.line(episode));
    const content = some
      ? [
          h("p", {}, h("strong", {}, summary), ". Nothing is changed until you write the result."),
          h("ul.bare", {}, lines),
          folded("The same as commands", h("div", {}, commands.map(command))),
        ]
      : [];
    const open = this.list.querySelector("details")?.open;
    this.list.replaceChildren(...content);
    if (open && some) this.list.querySelector("details").open = true;
  }

  line(episode) {
    const undo = () => this.review.note([episode], { delete: false, keep: null, task: null });
    return h(
      "li",
      {},
      h(
        "a",
        { href: address("/dataset/episode", { dataset: this.review.dataset, index: episode }) },
        `Episode ${episode}`,
      ),
      `: ${edits(this.review.of(episode), this.lengths[episode])} `,
      button("Undo", undo, { "aria-label": `Undo the edits of episode ${episode}` }),
    );
  }

  async apply(how) {
    this.say();
    try {
      await send("/api/dataset/apply", { dataset: this.review.dataset, ...how });
      await this.follow(how.replace);
    } catch (error) {
      this.say(h("p.warning", { role: "alert" }, error.message));
      this.draw();
    }
  }

  /** An edit may be running that was started before the page was reloaded. */
  async resume() {
    const { state } = await load("/api/dataset/applied", { dataset: this.review.dataset }).catch(() => ({}));
    if (state === "running") this.follow(false);
  }

  async follow(replaced) {
    this.applying = true;
    this.draw();
    await poll("/api/dataset/applied", { dataset: this.review.dataset }, (job) => {
      const [what, done, total] = job.progress ?? ["preparing", 0, 1];
      this.bar.hidden = job.state !== "running";
      this.bar.max = total;
      this.bar.value = done;
      if (job.state === "running") this.say(h("p.note", {}, `Writing ${what}: ${count(done)} of ${count(total)} …`));
      if (job.state === "failed") this.say(h("p.warning", { role: "alert" }, job.problem));
      if (job.state === "done" && replaced) location.reload();
      else if (job.state === "done") this.say(this.written(job));
      return job.state !== "running";
    });
    this.applying = false;
    this.draw();
  }

  written({ name, path, episodes, frames }) {
    const where = name
      ? h("a", { href: address("/dataset", { dataset: name }) }, path)
      : [
          h("strong", {}, path),
          h(
            "div.small",
            {},
            "It is outside the viewed folder; ",
            h("code", {}, `yardarm dataset view ${path}`),
            " shows it.",
          ),
        ];
    return h("p.notice", {}, `Written: ${count(episodes)} episodes, ${count(frames)} frames, `, where);
  }

  say(...content) {
    this.state.replaceChildren(...content);
    this.element.hidden = !this.review.editable;
  }
}
