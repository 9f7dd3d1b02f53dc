// A loop that moves an arm: cameras, the arm, its joints, and how well the loop keeps its rate.

import { ArmPicture } from "yardarm/arm_picture";
import { count, duration, h, s } from "yardarm/dom";
import { address, load, send } from "yardarm/live";
import { header } from "yardarm/page";

const LOOK_EVERY_MS = 120;
const UNITS = { degrees: "°", range_0_100: " %", range_m100_100: " %" };
// The ends of a joint's scale; degrees go farther if the joint does.
const ENDS = { range_0_100: [0, 100], range_m100_100: [-100, 100] };
const OLD_S = 0.5;
const LATE = 0.1;
const main = document.getElementById("main");
const trouble = h("p.warning", { hidden: true, role: "alert" });

const rounded = (value) => (Math.abs(value) < 0.05 ? 0 : value).toFixed(1).replace("-", "−");
const shown = (value, unit) => (value === null ? "–" : `${rounded(value)}${UNITS[unit] ?? ""}`);
const milliseconds = (seconds) => `${(1000 * seconds).toFixed(seconds < 0.01 ? 2 : 0)} ms`;

/** A camera's newest picture; the next one is asked for when there is a new one, and the last one has come. */
class CameraView {
  constructor(name) {
    this.name = name;
    this.number = null;
    this.busy = false;
    this.image = h("img", { alt: `What ${name} sees` });
    this.age = h("span.small", {});
    this.element = h(
      "figure.control-camera",
      { "data-camera": name },
      this.image,
      h("figcaption", {}, name, " ", this.age),
    );
  }

  async show(camera) {
    const old = camera.age > OLD_S;
    this.age.textContent = `${(1000 * camera.age).toFixed(0)} ms old`;
    this.element.classList.toggle("old", old);
    if (this.busy || camera.number === this.number) return;
    this.busy = true;
    const next = new Image();
    next.alt = this.image.alt;
    next.src = address("/api/control/camera", { name: this.name, number: camera.number });
    try {
      await next.decode();
      this.image.replaceWith(next);
      this.image = next;
      this.number = camera.number;
    } catch {
      // the next look tries again
    }
    this.busy = false;
  }
}

/** A joint: where it is asked to go (a ring) and where it is (a dot), and its motor's load. */
class JointRow {
  constructor(joint) {
    this.ends = ENDS[joint.unit] ?? [-100, 100];
    this.asked = h("span.control-asked", { title: "where it is asked to go" });
    this.dot = h("span.control-dot", { title: "where it is" });
    this.askedText = h("td.number", {});
    this.text = h("td.number", {});
    this.load = h("td.number", {});
    this.element = h(
      "tr",
      { "data-joint": joint.name },
      h("th", { scope: "row" }, joint.name),
      h("td.control-scale", {}, h("div.control-track", { "aria-hidden": "true" }, this.asked, this.dot)),
      this.askedText,
      this.text,
      this.load,
    );
  }

  show(joint) {
    const values = [joint.asked, joint.position].filter((value) => value !== null);
    this.ends = [Math.min(this.ends[0], ...values), Math.max(this.ends[1], ...values)];
    const at = (value) => `${(100 * (value - this.ends[0])) / (this.ends[1] - this.ends[0])}%`;
    this.asked.hidden = joint.asked === null;
    if (joint.asked !== null) this.asked.style.left = at(joint.asked);
    this.dot.style.left = at(joint.position);
    this.askedText.textContent = shown(joint.asked, joint.unit);
    this.text.textContent = shown(joint.position, joint.unit);
    const hot = joint.temperature === null ? "" : ` · ${joint.temperature.toFixed(0)} °C`;
    this.load.textContent = joint.load === null ? "–" : `${joint.load.toFixed(0)} %${hot}`;
  }
}

/** How late each of the newest turns began: a bar each; those that count as late are marked. */
class Jitter {
  constructor() {
    this.fine = s("path.control-fine");
    this.late = s("path.control-late");
    this.limit = s("line.control-limit", { x1: 0, x2: 300 });
    this.drawing = s(
      "svg.control-jitter",
      {
        viewBox: "0 0 300 60",
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": "How late the newest turns began",
      },
      this.fine,
      this.late,
      this.limit,
    );
    this.scale = h("p.small", {});
    this.element = h("div", {}, this.drawing, this.scale);
  }

  show(turns, fps) {
    const limit = LATE / fps;
    const top = Math.max(2 * limit, ...turns);
    const bar = (late, place) =>
      `M${299.5 - (turns.length - 1 - place)} 60v${-Math.max(0.5, (60 * Math.max(0, late)) / top)}`;
    const bars = turns.map((late, place) => [late > limit, bar(late, place)]);
    const path = (kind) =>
      bars
        .filter(([late]) => late === kind)
        .map(([, own]) => own)
        .join("");
    this.fine.setAttribute("d", path(false));
    this.late.setAttribute("d", path(true));
    const height = 60 - (60 * limit) / top;
    this.limit.setAttribute("y1", height);
    this.limit.setAttribute("y2", height);
    const span = duration(turns.length / fps);
    this.scale.textContent = `How late each turn of the last ${span} began; the scale ends at ${milliseconds(top)}, the line is at ${milliseconds(limit)}.`;
  }
}

const note = h("p.control-note", {});
const counts = h("dl.facts.control-facts", {});
const cameras = h("div.control-cameras", {});
const arms = h("div.control-arms", {});
const rows = h("tbody", {});
const buttons = h("div.control-buttons", {});
const jitter = new Jitter();
const views = new Map();
const pictures = new Map();
let joints = null;
let begun = false;
let keys = new Map();
/** Why the last button did nothing. */
let refused = "";

function begin(state) {
  document.title = state.title;
  const who = state.teleoperator ? `${state.teleoperator} → ${state.robot}` : state.robot;
  main.replaceChildren(
    header(h("span.brand", {}, "Yardarm")),
    h("h1", {}, state.title),
    h("p.note", {}, who),
    trouble,
    note,
    buttons,
    h(
      "div.control-columns",
      {},
      h("div", {}, cameras, arms),
      h(
        "div",
        {},
        h(
          "table.control-joints",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ["Joint", "", "Asked", "Is at", "Load"].map((own) => h("th", { scope: "col" }, own)),
            ),
          ),
          rows,
        ),
        h("h2", {}, "The loop"),
        counts,
        jitter.element,
      ),
    ),
  );
  begun = true;
}

function showButtons(list) {
  if (list.map((own) => own.name).join() === [...keys.values()].join()) return;
  keys = new Map(list.map((own) => [own.key, own.name]));
  buttons.replaceChildren(
    ...list.map((own) =>
      h("button", { type: "button", "data-button": own.name, onclick: () => press(own.name) }, own.label),
    ),
  );
}

async function press(name) {
  try {
    await send("/api/control/press", { button: name });
    refused = "";
  } catch (error) {
    refused = error.message;
  }
}

addEventListener("keydown", (event) => {
  if (!keys.has(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  press(keys.get(event.key));
});

function complain(text) {
  trouble.textContent = text;
  trouble.hidden = !text;
}

function showCameras(list) {
  for (const camera of list) {
    if (!views.has(camera.name)) {
      views.set(camera.name, new CameraView(camera.name));
      cameras.append(views.get(camera.name).element);
    }
    views.get(camera.name).show(camera);
  }
}

function showArms(names) {
  for (const name of names) {
    if (pictures.has(name)) continue;
    pictures.set(name, new ArmPicture("/api/control/picture", { arm: name }));
    arms.append(pictures.get(name).element);
  }
}

function showJoints(list) {
  if (joints === null && list.length) {
    joints = new Map(list.map((joint) => [joint.name, new JointRow(joint)]));
    rows.replaceChildren(...[...joints.values()].map((own) => own.element));
  }
  for (const joint of list) joints.get(joint.name)?.show(joint);
}

function showLoop(state) {
  const { timing } = state;
  const error = timing.period_error;
  const facts = [
    ["Rate", `${state.rate.toFixed(1)} of ${timing.fps} Hz`],
    ["Turns", count(timing.done)],
    ["Late", count(timing.late)],
    ["Missed", count(timing.missed)],
    ...(timing.held ? [["Held", count(timing.held)]] : []),
    ["Period error, median", milliseconds(error.median)],
    ["99%", milliseconds(error.p99)],
    ["Worst", milliseconds(error.worst)],
    ["Running for", duration(state.elapsed)],
  ];
  counts.replaceChildren(...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  jitter.show(state.turns, timing.fps);
}

function show(state) {
  const undrawn = state.arms.length ? "" : state.why_no_arms;
  const wrong = state.trouble ? `Holding still: ${state.trouble}` : refused || undrawn;
  complain(state.over ? "It has ended." : wrong);
  note.textContent = state.joints.length ? state.note : state.note || "Waiting for the first turn …";
  showButtons(state.buttons);
  showCameras(state.cameras);
  showArms(state.arms);
  showJoints(state.joints);
  showLoop(state);
}

async function look() {
  if (!document.hidden) {
    try {
      const state = await load("/api/control");
      if (!begun) begin(state);
      show(state);
    } catch {
      complain("It has ended.");
      for (const picture of pictures.values()) picture.over = true;
    }
  }
  setTimeout(look, LOOK_EVERY_MS);
}

look();
