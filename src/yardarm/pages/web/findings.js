// What checks have found in a dataset, grouped by check; each finding leads to its frame.

import { count, h, prose, section } from "yardarm/dom";
import { address } from "yardarm/live";
import { button, poll } from "yardarm/review";

const FEW = 5;
const MARKS = { problem: "✗", warning: "!", note: "i" };
const NAMES = { numbers: "checking the numbers", pictures: "looking at pictures" };

/** Follow the checks of a dataset: `handle` gets all findings known so far, and whether there will be more. */
export function followChecks(dataset, handle) {
  return poll("/api/dataset/checks", { dataset }, (data) => {
    const groups = data.report?.checks ?? [];
    handle({ ...data, groups, findings: groups.flatMap((group) => group.findings) });
    return data.state !== "running";
  });
}

const place = (dataset, { episode, frames }) =>
  address("/dataset/episode", { dataset, index: episode, ...(frames ? { frame: frames[0] } : {}) });

export const severity = (kind) =>
  h(`span.severity.is-${kind}`, { title: kind }, h("span.hidden", {}, `${kind}: `), MARKS[kind]);

/** The section of findings: it fills while the checks run. */
export class Findings {
  constructor(review) {
    this.review = review;
    this.open = new Set();
    this.data = null;
    this.status = h("p.note", { role: "status" }, "Checking the episodes …");
    this.bar = h("progress", { max: 1, "aria-label": "Progress of the checks" });
    this.list = h("div.findings");
    this.element = section("findings", "Findings", null, this.status, this.bar, this.list);
    review.onChange(() => this.draw());
  }

  show(data) {
    this.data = data;
    this.draw();
  }

  draw() {
    const { data } = this;
    if (!data) return;
    const running = data.state === "running";
    const [what, done, total] = data.progress ?? ["numbers", 0, 1];
    this.bar.hidden = !running;
    this.bar.max = total;
    this.bar.value = done;
    this.status.textContent = running
      ? `${data.report ? `${data.report.summary} so far; ` : ""}${NAMES[what] ?? what} …`
      : (data.problem ?? sentence(data.report));
    this.list.replaceChildren(...data.groups.map((group) => this.group(group)));
  }

  group({ name, title, advice, findings }) {
    const all = this.open.has(name) || findings.length <= FEW + 1;
    // What is said of the whole dataset comes first.
    const ordered = [...findings].sort((a, b) => (a.episode !== null) - (b.episode !== null));
    const shown = all ? ordered : ordered.slice(0, FEW);
    const more = () => {
      this.open.add(name);
      this.draw();
    };
    return h(
      "section.finding-group",
      {},
      h("h3", {}, severity(findings[0].severity), ` ${title} `, h("span.note", {}, count(findings.length))),
      h("p.small", {}, prose(advice)),
      h(
        "ul",
        {},
        shown.map((finding) => this.line(finding)),
      ),
      all ? null : button(`Show all ${count(findings.length)}`, more),
    );
  }

  line(finding) {
    const { episode, message } = finding;
    if (episode === null) return h("li", {}, message);
    return h(
      "li",
      {},
      h("a", { href: place(this.review.dataset, finding) }, `Episode ${episode}`),
      ` ${message} `,
      this.review.editable ? this.remedy(finding) : null,
    );
  }

  /** A button that plans the edit that mends it, or takes it back. */
  remedy({ check, episode, keep }) {
    const noted = this.review.of(episode);
    const plan = (text, change, undo, planned, label) =>
      button(planned ? `Undo: ${text}` : text, () => this.review.note([episode], planned ? undo : change), {
        "aria-label": `${planned ? `Undo: ${text}` : text}, episode ${episode}, ${label}`,
      });
    if (keep) {
      const planned = noted.keep?.[0] === keep[0] && noted.keep?.[1] === keep[1];
      return plan("Trim", { keep }, { keep: null }, planned, "idle frames");
    }
    if (check === "duplicates") return plan("Delete", { delete: true }, { delete: false }, noted.deleted, "a copy");
    return null;
  }
}

function sentence({ summary, cameras }) {
  const looked = cameras.length ? ", with a few pictures of each" : "";
  return `${summary[0].toUpperCase()}${summary.slice(1)}${looked}.`;
}
