// Narrows the list of runs, as `yardarm runs` does: see workspace/filters.py.

/** All of a line that is searched for words. */
function searchedText({ name, labels, status, policy, dataset, tasks, benchmarks, policies }) {
  const words = [name, labels.name, labels.tags, labels.note, status, policy, dataset, tasks, benchmarks, policies];
  return words.flat().filter(Boolean).join(" ").toLowerCase();
}

function fits(line, { search, status, benchmark, policy, tag }) {
  const text = searchedText(line);
  return (
    search
      .toLowerCase()
      .split(/\s+/)
      .every((word) => text.includes(word)) &&
    (!status || line.status === status) &&
    (!benchmark || (line.benchmarks ?? []).includes(benchmark)) &&
    (line.policy ?? "").toLowerCase().includes(policy.toLowerCase()) &&
    (!tag || line.labels.tags.includes(tag))
  );
}

/** Whether a line is hidden, by itself or with what it lies in. */
export function isHidden(line, all) {
  for (let own = line; own; own = all.get(own.within)) if (own.labels.hidden) return true;
  return false;
}

/** The lines that fit the choices. `all` are the lines by name. */
export function chosenLines(all, choices) {
  return [...all.values()].filter((line) => fits(line, choices) && (choices.hidden === "true" || !isHidden(line, all)));
}

/** Whether the choices narrow the list. */
export const narrows = (choices) => ["search", "status", "benchmark", "policy", "tag"].some((name) => choices[name]);
