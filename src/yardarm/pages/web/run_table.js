// The table of runs, trainings and evaluations, in groups that can be folded.

import { rateWhisker } from "yardarm/charts";
import { breakable, count, date, duration, h, percent, percents } from "yardarm/dom";
import { tagList } from "yardarm/labels";
import { address } from "yardarm/live";
import { statusBadge } from "yardarm/run";
import { Table } from "yardarm/tables";
import { progress } from "yardarm/trainings";

const DAY = /^\d{4}-\d\d-\d\d\/(?=.)/;
const PARTS = /^(policies|eval)\/(?=.)/;
const score = (line) => (line.kind === "training" ? line.evaluation : line);
const rate = (line) => score(line)?.rate;

/** What each column is called in the address, and shows of a line. The name and the box are the table's own. */
const COLUMNS = {
  name: { title: "Run", heading: true, value: (line) => line.name },
  status: { title: "Status", narrow: false, value: (line) => line.status, cell: status },
  policy: { title: "Policy", medium: false, value: policy, cell: (line) => clipped(policy(line), policyInFull(line)) },
  tasks: {
    title: "Tasks",
    medium: false,
    value: (line) => line.tasks?.length ?? 0,
    cell: (line) => clipped(...tasks(line)),
  },
  success: { title: "Success", numeric: true, value: rate, cell: success },
  interval: { title: "0% – 100%", narrow: false, value: (line) => score(line)?.low, cell: interval },
  started: { title: "Started", narrow: false, value: (line) => line.started ?? "", cell: started },
  duration: { title: "Duration", numeric: true, medium: false, value: (line) => line.wall_s, cell: lasted },
};

export const SORTS = Object.fromEntries(Object.entries(COLUMNS).map(([name, { title }]) => [name, title]));

/** The order that a word in the address means: "-success" is from the best down. */
export function order(word) {
  const name = word.replace(/^-/, "");
  const own = name in COLUMNS ? name : "started";
  return { name: own, place: Object.keys(COLUMNS).indexOf(own) + 1, value: COLUMNS[own].value, down: word !== own };
}

export class RunTable extends Table {
  /** `page` knows what is chosen: {selected, select(lines, on), selectAll(on), fold(key), filterTag(tag), sort(word), group()}. */
  constructor(page) {
    const all = h("input", {
      type: "checkbox",
      "aria-label": "Select all",
      onchange: () => page.selectAll(all.checked),
    });
    const columns = Object.values(COLUMNS).map((column) => ({ ...column, cell: (row) => drawn(column, row.line) }));
    columns[0].cell = (row) => nameCell(row, page);
    super([{ title: all, cell: (row) => box([row.line], `Select ${row.line.name}`, page) }, ...columns], {
      caption: "Runs and trainings",
      rowClass: (row) => (row.line.labels.hidden ? ".is-hidden" : ""),
    });
    this.owner = page;
    this.all = all;
    this.element.classList.add("runs");
  }

  /** Rows come in their order. */
  inOrder() {
    return this.rows;
  }

  sortBy(place) {
    const name = Object.keys(COLUMNS)[place - 1];
    const { place: before, down } = this.state.sorted;
    const turned = before === place ? !down : Boolean(this.columns[place].numeric) || name === "started";
    this.owner.sort(turned ? `-${name}` : name);
  }

  row(row) {
    if (!row.heading) return super.row(row);
    const { heading, key, lines, open } = row;
    const fold = foldButton(open, heading, () => this.owner.fold(key));
    return h(
      "tr.group",
      {},
      h("td", {}, box(lines, `Select all in ${heading}`, this.owner)),
      h(
        "th",
        { scope: "rowgroup", colspan: this.columns.length - 1 },
        fold,
        " ",
        h("span.small", {}, count(lines.length)),
      ),
    );
  }
}

const drawn = (column, line) => (line.problem && column !== COLUMNS.status ? "" : shownValue(column, line));
const shownValue = (column, line) => (column.cell ? column.cell(line) : column.value(line));

function foldButton(open, title, onclick) {
  const label = `${open ? "Fold" : "Unfold"} ${title}`;
  const mark = h("span", { "aria-hidden": "true" }, open ? "▾" : "▸");
  return h(
    "button.fold",
    { type: "button", "aria-expanded": String(open), "aria-label": label, onclick },
    mark,
    " ",
    title,
  );
}

function box(lines, label, page) {
  const on = lines.filter((line) => page.selected.has(line.name)).length;
  const input = h("input", {
    type: "checkbox",
    checked: on === lines.length,
    "aria-label": label,
    onchange: () => page.select(lines, input.checked),
  });
  input.indeterminate = on > 0 && on < lines.length;
  return input;
}

function nameCell(row, page) {
  const { line, depth, inside, open } = row;
  const path = pathText(line, page.group(), depth);
  const text = line.labels.name || path;
  const link = pageOf(line);
  const fold = inside ? foldButton(open, insideText(line, inside), () => page.fold(line.name)) : null;
  fold?.setAttribute("aria-label", `${open ? "Fold" : "Unfold"} ${line.name}`);
  const note = line.labels.note.split("\n")[0];
  return h(
    "div.name",
    { style: `--depth: ${depth}` },
    link
      ? h("a", { href: link, "aria-label": line.labels.name ? null : line.name }, breakable(text))
      : h("span", {}, breakable(text)),
    line.labels.hidden ? h("span.small", {}, " hidden") : null,
    line.labels.name ? h("div.small", {}, breakable(path)) : null,
    tagList(line.labels.tags, page.filterTag),
    note ? h("div.small.note-line", { title: line.labels.note }, note) : null,
    line.labels_problem ? h("div.small", {}, line.labels_problem) : null,
    line.problem ? h("div.small", {}, line.problem) : null,
    h("div.narrow-only.folded", {}, status(line), line.started ? h("span.small", {}, ` ${date(line.started)}`) : null),
    line.problem ? null : h("div.small.medium-only", {}, [policy(line), tasks(line)[0]].filter(Boolean).join(" · ")),
    fold ? h("div", {}, fold) : null,
  );
}

/** Its path as seen from what it is shown in, without the folder of its day. */
function pathText({ name, within, project }, group, depth) {
  if (name === ".") return "(this folder)";
  if (group !== "folder") return name;
  const around = depth && within ? within : project;
  const inside = around !== "." && name.startsWith(`${around}/`) ? name.slice(around.length + 1) : name;
  return inside.replace(DAY, "").replace(depth ? PARTS : "", "");
}

function insideText({ kind }, inside) {
  const [one, more] = { several: ["policy", "policies"], training: ["evaluation", "evaluations"] }[kind] ?? [
    "run",
    "runs",
  ];
  return `${count(inside)} ${inside === 1 ? one : more} inside`;
}

function pageOf(line) {
  if (line.problem || line.status === "LeRobot" || line.kind === "several") return null;
  const path = line.kind === "training" ? "/training" : "/run";
  return address(path, { [line.kind]: line.name });
}

function status(line) {
  if (line.problem || line.kind === "several") return statusBadge(line.status);
  if (line.kind === "training") {
    const now = line.evaluating.length ? h("div.small", {}, "evaluating") : null;
    const steps = h("span.small", {}, ` ${count(line.step)}/${count(line.steps)} steps`);
    return [statusBadge(line.status), steps, line.status === "running" ? progress(line) : null, now];
  }
  const played = line.status === "finished" || line.status === "LeRobot";
  const done = `${count(line.episodes + line.errors)}/${count(line.planned)}`;
  const more = [!played && done, line.errors && `${line.errors} errors`, line.mixed && "mixed versions"];
  return [statusBadge(line.status), more.filter(Boolean).map((text) => h("span.small", {}, ` ${text}`))];
}

function policy(line) {
  return line.policies ? `${line.policies.length} policies` : (line.policy_label?.name ?? line.policy ?? "");
}

/** What a policy's short name stands for. */
function policyInFull({ policies, policy_label: label, policy: id }) {
  if (policies) return policies.join(", ");
  return label && label.full !== label.name ? `${label.full} (${label.id})` : (id ?? "");
}

/** The tasks of a run or the dataset of a training: short, and in full. */
function tasks({ tasks: names = [], benchmarks, dataset }) {
  if (dataset) return [dataset, dataset];
  const all = names.join(", ");
  return [names.length > 2 ? `${benchmarks.join(", ")} (${names.length})` : all, all];
}

const clipped = (text, title = text) => h("span.clip", { title }, text);

function success(line) {
  const own = score(line);
  if (!own || own.episodes === undefined) return "";
  const step = line.kind === "training" ? `at step ${count(own.step)}` : null;
  const solved = h("div.small.nowrap", {}, `${count(own.successes)}/${count(own.episodes)}`);
  return [percent(own.rate), solved, step ? h("div.small.nowrap", {}, step) : null];
}

function interval(line) {
  const own = score(line);
  if (!own || own.episodes === undefined) return "";
  return h("div", { title: percents(own.low, own.high) }, rateWhisker(own));
}

function started(line) {
  return h("span.nowrap", {}, line.started ? date(line.started) : "");
}

function lasted(line) {
  return h("span.nowrap", {}, line.wall_s === undefined || line.wall_s === null ? "" : duration(line.wall_s));
}
