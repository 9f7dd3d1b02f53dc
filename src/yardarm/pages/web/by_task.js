// The success rates of several runs in each task.

import { breakable, h, percent, section } from "yardarm/dom";
import { Table } from "yardarm/tables";

// More runs than this do not fit side by side.
const MOST_ACROSS = 8;

/** `data.by_task` has the tasks, and each run's counts per task; `label(place)` is a run's label. */
export function byTask(data, label) {
  const { tasks, counts } = data.by_task;
  const downRuns = counts.length > MOST_ACROSS;
  const rows = downRuns ? data.names : tasks;
  const across = downRuns ? tasks : data.names;
  const own = (row, column) => (downRuns ? counts[row][column] : counts[column][row]);
  const title = (place) => (downRuns ? tasks[place] : h("span", { title: data.names[place] }, label(place)));
  const columns = [
    {
      title: downRuns ? "Run" : "Task",
      heading: true,
      value: (row) => rows[row],
      cell: (row) => (downRuns ? [`${label(row)} `, h("span.small", {}, breakable(rows[row]))] : breakable(rows[row])),
    },
    ...across.map((_, column) => ({
      title: title(column),
      numeric: true,
      value: (row) => rate(own(row, column)),
      cell: (row) => cell(own(row, column)),
    })),
  ];
  const table = new Table(columns, { caption: "Success rates by run and task" });
  table.setRows(rows.map((_, row) => row));
  return section("by-task", "Success by task", null, table.element);
}

const rate = (counts) => (counts?.[1] ? counts[0] / counts[1] : null);

function cell(counts) {
  const own = rate(counts);
  if (own === null) return "–";
  const [solved, played] = counts;
  return h(
    "span.bar-rate",
    { style: `--share:${100 * own}%` },
    percent(own),
    " ",
    h("span.small.wide-only", {}, `${solved}/${played}`),
  );
}
