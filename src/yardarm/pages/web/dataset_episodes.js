// The episodes of a dataset: sorted, filtered by task, outcome, flags and findings, selected, and noted for edits.

import { histogram } from "yardarm/charts";
import { count, duration, h, number, outcome, section } from "yardarm/dom";
import { address, parameters } from "yardarm/live";
import { button, edits } from "yardarm/review";
import { Table } from "yardarm/tables";

const MOST_CHOICES = 100;
// The choices that the address keeps.
const KEPT = ["task", "outcome", "noted", "words"];

/** A histogram of the lengths of episodes. */
function lengths(data) {
  const { length, outcome: outcomes } = data.lists;
  const sorted = [...length].sort((a, b) => a - b);
  const [shortest, longest, middle] = [sorted[0], sorted.at(-1), sorted[Math.floor(sorted.length / 2)]];
  const all = length.map((frames, episode) => ({ frames, outcome: outcomes?.[episode] ?? "" }));
  const of = (letter) => all.filter((own) => own.outcome === letter).map((own) => own.frames);
  const series = outcomes
    ? [
        { kind: "failure", values: of("f") },
        { kind: "success", values: of("s") },
      ]
    : [{ kind: "counted", values: length }];
  const first = shortest > longest / 2 ? shortest : 1;
  const label = `Lengths of episodes: from ${shortest} to ${longest} frames, median ${middle}`;
  const lengthText = (frames) => `${count(frames)} frames, ${duration(frames / data.fps)}`;
  const legend = outcomes
    ? [
        ["success", "success"],
        ["failure", "failure"],
      ].map(([kind, text]) => h("span", {}, h(`span.swatch.bar-${kind}`, { "aria-hidden": "true" }), ` ${text}`))
    : [];
  return h(
    "figure.card.lengths",
    {},
    h("figcaption", {}, h("strong", {}, "Episode lengths"), h("span.note", {}, `median ${lengthText(middle)}`)),
    legend.length ? h("p.legend", {}, legend) : null,
    histogram(series, { steps: longest, first, label, width: 640, height: 90, bins: 48 }),
    h(
      "div.scale",
      { "aria-hidden": "true" },
      h("span", {}, first > 1 ? lengthText(first) : "0"),
      h("span", {}, lengthText(longest)),
    ),
  );
}

/** The list of episodes, with what is noted about each. */
export class Episodes {
  constructor(dataset, data, review) {
    Object.assign(this, { dataset, data, review, selected: new Set(), findings: new Map() });
    const words = parameters();
    this.filters = Object.fromEntries(KEPT.map((key) => [key, words.get(key) ?? ""]));
    this.texts = data.lists.tasks.map((own) => own.map((place) => data.tasks[place]).join(" → "));
    this.lower = this.texts.map((text) => text.toLowerCase());
    this.all = data.lists.length.map((_, episode) => episode);
    this.words = h("input", {
      type: "text",
      placeholder: "reason, or instruction",
      "aria-label": "Reason or instruction",
    });
    this.tally = h("span.note", { role: "status" });
    this.actions = h("div.bar.actions", { role: "group", "aria-label": "Selected episodes" });
    this.table = new Table(this.columns(), {
      caption: "Episodes",
      sorted: { place: this.first, down: false },
      page: 50,
    });
    this.element = data.episodes ? this.drawn() : null;
    review.onChange(() => this.show());
  }

  /** The column that has the episodes' numbers. */
  get first() {
    return this.review.editable ? 1 : 0;
  }

  found(findings) {
    this.findings = new Map();
    for (const { episode } of findings) this.findings.set(episode, (this.findings.get(episode) ?? 0) + 1);
    this.show();
  }

  columns() {
    const { lists, fps } = this.data;
    const { length, reward, outcome: outcomes } = lists;
    return [
      ...(this.review.editable ? [{ title: "", cell: (episode) => this.checkbox(episode) }] : []),
      { title: "Episode", value: (episode) => episode, cell: (episode) => this.link(episode) },
      { title: "Task", value: (episode) => this.texts[episode], cell: (episode) => this.described(episode) },
      ...(outcomes
        ? [{ title: "Outcome", value: (episode) => outcomes[episode], cell: (row) => outcome(outcomes[row]) }]
        : []),
      {
        title: "Findings",
        numeric: true,
        narrow: false,
        value: (episode) => this.findings.get(episode) ?? 0,
        cell: (episode) => count(this.findings.get(episode) ?? 0),
      },
      {
        title: "Frames",
        numeric: true,
        value: (episode) => length[episode],
        cell: (episode) => count(length[episode]),
      },
      {
        title: "Time",
        numeric: true,
        narrow: false,
        value: (episode) => length[episode],
        cell: (episode) => h("span.nowrap", {}, duration(length[episode] / fps)),
      },
      ...(reward
        ? [
            {
              title: "Return",
              numeric: true,
              narrow: false,
              value: (episode) => reward[episode],
              cell: (episode) => number(reward[episode]),
            },
          ]
        : []),
    ];
  }

  link(episode) {
    const href = address("/dataset/episode", { dataset: this.dataset, index: episode });
    return h("a", { href, "aria-label": `Episode ${episode}: ${this.texts[episode]}` }, String(episode));
  }

  checkbox(episode) {
    const change = (event) => {
      if (event.target.checked) this.selected.add(episode);
      else this.selected.delete(episode);
      this.showActions();
    };
    const label = `Select episode ${episode}`;
    return h("input", { type: "checkbox", checked: this.selected.has(episode), "aria-label": label, onchange: change });
  }

  /** The instruction, with the flag and the planned edits. */
  described(episode) {
    const noted = this.review.of(episode);
    const planned = edits(noted, this.data.lists.length[episode]);
    return [
      this.texts[episode],
      noted.flag === null ? null : h("div.small.flag", {}, `⚑ ${noted.flag || "flagged"}`),
      planned ? h("div.small", {}, `Planned: ${planned}`) : null,
    ];
  }

  drawn() {
    const { data } = this;
    const search = h("input", {
      type: "search",
      value: this.filters.words,
      placeholder: "words of the task, or an episode number",
      "aria-label": "Filter episodes",
      oninput: () => this.choose("words", search.value),
    });
    const known = [["", "all"], ...data.tasks.map((text, place) => [place, text])];
    const outcomes = [
      ["", "all"],
      ["s", "successes"],
      ["f", "failures"],
    ];
    const noted = [
      ["", "all"],
      ["findings", "with findings"],
      ["flagged", "flagged"],
      ["planned", "with planned edits"],
    ];
    return section(
      "episodes",
      "Episodes",
      null,
      lengths(data),
      h(
        "div.bar.choices",
        {},
        search,
        data.tasks.length > 1 && data.tasks.length <= MOST_CHOICES ? this.choice("task", "Task", known) : null,
        data.lists.outcome ? this.choice("outcome", "Outcome", outcomes) : null,
        this.choice("noted", "Noted", noted),
        this.tally,
      ),
      this.review.editable ? this.actions : null,
      this.table.element,
    );
  }

  choice(key, label, options) {
    const listed = options.map(([value, text]) =>
      h("option", { value, selected: String(value) === this.filters[key] }, text),
    );
    return h(
      "label",
      {},
      `${label} `,
      h("select", { onchange: (event) => this.choose(key, event.target.value) }, listed),
    );
  }

  /** Change a filter, and keep it in the address. */
  choose(key, value) {
    this.filters[key] = value;
    const words = parameters();
    if (value) words.set(key, value);
    else words.delete(key);
    history.replaceState(null, "", `${location.pathname}?${words}${location.hash}`);
    this.show();
  }

  matches(episode, words) {
    const { lists } = this.data;
    const { task, outcome: wanted, noted } = this.filters;
    const isNoted = {
      findings: () => this.findings.has(episode),
      flagged: () => this.review.of(episode).flag !== null,
      planned: () => this.planned.has(episode),
    };
    return (
      (task === "" || lists.tasks[episode].includes(Number(task))) &&
      (wanted === "" || lists.outcome?.[episode] === wanted) &&
      (isNoted[noted]?.() ?? true) &&
      words.every((word) => this.lower[episode].includes(word) || String(episode) === word)
    );
  }

  show() {
    const words = this.filters.words.toLowerCase().split(/\s+/).filter(Boolean);
    this.planned = new Set(this.review.edited);
    this.rows = this.all.filter((episode) => this.matches(episode, words));
    const some = this.rows.length < this.all.length;
    this.tally.textContent = some ? `${count(this.rows.length)} of ${count(this.all.length)} episodes` : "";
    this.table.setRows(this.rows);
    this.showActions();
  }

  /** What can be done with the selected episodes. */
  showActions() {
    const chosen = [...this.selected].sort((a, b) => a - b);
    const { flagged } = this.review;
    const apply = (change) => () => this.review.note(chosen, change());
    const { words: text } = this;
    const none = chosen.length === 0;
    const select = (rows) => () => {
      this.selected = new Set(rows);
      this.show();
    };
    const parts = [
      h("strong", {}, none ? "Select episodes to edit them." : `${count(chosen.length)} selected`),
      button(`Select the ${count(this.rows.length)} shown`, select(this.rows)),
      ...(none
        ? []
        : [
            button("Clear", select([])),
            text,
            button(
              "Flag",
              apply(() => ({ flag: text.value })),
            ),
            button(
              "Unflag",
              apply(() => ({ flag: null })),
            ),
            button("Set instruction", () => text.value.trim() && this.review.note(chosen, { task: text.value })),
            button(
              "Delete",
              apply(() => ({ delete: true })),
            ),
          ]),
      ...(flagged.length
        ? [button(`Delete the ${count(flagged.length)} flagged`, () => this.review.note(flagged, { delete: true }))]
        : []),
    ];
    this.actions.replaceChildren(...parts);
  }
}
