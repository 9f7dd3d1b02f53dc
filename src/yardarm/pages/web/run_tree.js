// Arranges runs, trainings and evaluations in groups, and puts what belongs together below each other.

import { inOrder } from "yardarm/tables";

export const GROUPS = { folder: "folder", policy: "policy", benchmark: "benchmark", tag: "tag", none: "nothing" };
const NOTHING = { policy: "no policy", benchmark: "no benchmark", tag: "no tag" };

/**
 * Rows of the table, in order: {line, depth, inside, open} and, for headings, {heading, key, lines, depth, open}.
 * `all` are all lines by name, `chosen` those to show; `isOpen(key, usual)` tells whether something is unfolded, and with `allOpen` what
 * lies in a line always is.
 */
export function treeRows(all, chosen, { group, value, down, isOpen, allOpen }) {
  const sorted = (lines) => inOrder(lines, value, down);
  if (group === "none") return sorted(chosen).map((line) => ({ line, depth: 0, inside: 0 }));
  if (group !== "folder") return byLabel(chosen, group, sorted, isOpen);
  return byFolder(all, chosen, sorted, isOpen, allOpen);
}

function byLabel(chosen, group, sorted, isOpen) {
  const keys = (line) => {
    const found = { policy: [line.policy], benchmark: line.benchmarks ?? [], tag: line.labels.tags }[group];
    const known = found.filter(Boolean);
    return known.length ? known : [NOTHING[group]];
  };
  const groups = new Map();
  for (const line of chosen) for (const key of keys(line)) groups.set(key, [...(groups.get(key) ?? []), line]);
  const names = inOrder([...groups.keys()], (name) => name, false);
  const last = names.filter((name) => name === NOTHING[group]);
  return [...names.filter((name) => name !== NOTHING[group]), ...last].flatMap((name) =>
    below({ heading: name, key: `${group}:${name}`, lines: groups.get(name), depth: 0 }, isOpen, (lines) =>
      sorted(lines).map((line) => ({ line, depth: 0, inside: 0 })),
    ),
  );
}

function byFolder(all, chosen, sorted, isOpen, allOpen) {
  // What fits the filter is shown where it lies, so what is around it is shown, too.
  const shown = new Map();
  for (const line of chosen)
    for (let own = line; own && !shown.has(own.name); own = all.get(own.within)) shown.set(own.name, own);
  const inside = new Map();
  const projects = new Map();
  for (const line of shown.values()) {
    const [into, key] = all.has(line.within) ? [inside, line.within] : [projects, line.project];
    if (!into.has(key)) into.set(key, []);
    into.get(key).push(line);
  }
  const rows = (lines, depth) =>
    sorted(lines).flatMap((line) => {
      const own = inside.get(line.name) ?? [];
      const open = allOpen || isOpen(line.name, false);
      return [{ line, depth, inside: allOpen ? 0 : own.length, open }, ...(open ? rows(own, depth + 1) : [])];
    });
  const project = (lines, key) => {
    const recorded = lines.filter((line) => line.recording);
    const heading = {
      heading: "Played for recordings",
      key: `recordings:${key}`,
      lines: recorded,
      depth: 0,
      usual: false,
    };
    const others = rows(
      lines.filter((line) => !line.recording),
      0,
    );
    return recorded.length && recorded.length < lines.length
      ? [...others, ...below(heading, isOpen, (own) => rows(own, 1))]
      : rows(lines, 0);
  };
  const names = inOrder([...projects.keys()], (name) => (name === "." ? "" : name), false);
  if (names.length === 1) return project(projects.get(names[0]), names[0]);
  return names.flatMap((name) => {
    const heading = { heading: name === "." ? "(this folder)" : `${name}/`, key: `folder:${name}`, depth: 0 };
    return below({ ...heading, lines: projects.get(name) }, isOpen, (lines) => project(lines, name));
  });
}

function below(heading, isOpen, rows) {
  const open = isOpen(heading.key, heading.usual ?? true);
  return [{ ...heading, open }, ...(open ? rows(heading.lines) : [])];
}
