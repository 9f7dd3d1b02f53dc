// A twin: the arm as it moves, and a row for each joint with its motor's state and a slider.

import { ArmPicture } from "yardarm/arm_picture";
import { count, h } from "yardarm/dom";
import { load, send } from "yardarm/live";
import { header } from "yardarm/page";

const LOOK_EVERY_MS = 200;
const UNITS = { degrees: "°", range_0_100: " %", range_m100_100: " %" };
const HOT = 60;
const main = document.getElementById("main");

/** One joint: where it is, a slider to move it by hand, and how its motor is. */
class Joint {
  constructor(joint) {
    this.name = joint.name;
    this.slider = h("input", {
      type: "range",
      min: joint.low,
      max: joint.high,
      step: (joint.high - joint.low) / 500,
      "aria-label": `Move ${joint.name} by hand`,
    });
    this.value = h("output.twin-value", {});
    this.torque = h("span.twin-torque", {});
    this.load = h("meter", { min: 0, max: 100, "aria-label": `Load of ${joint.name}` });
    this.loadText = h("span", {});
    this.facts = h("span.small", {});
    this.complaints = h("span.twin-complaints", {});
    this.letGo = h("button", { type: "button", onclick: () => change("release", { joints: [this.name] }) }, "let go");
    this.element = h(
      "li.twin-joint",
      { "data-joint": joint.name },
      h("div.twin-line", {}, h("strong", {}, joint.name), this.torque, this.letGo, this.value),
      this.slider,
      h("div.twin-line", {}, this.load, this.loadText, this.facts, this.complaints),
    );
    this.wanted = null;
    this.slider.addEventListener("input", () => this.move(Number(this.slider.value)));
  }

  /** Send the newest position only; the hand follows. */
  async move(position) {
    const busy = this.wanted !== null;
    this.wanted = position;
    this.moved = Date.now();
    while (!busy && this.wanted !== null) {
      const now = this.wanted;
      await change("hold", { [this.name]: now });
      if (this.wanted === now) this.wanted = null;
    }
  }

  show(joint) {
    const unit = UNITS[joint.unit] ?? "";
    this.value.textContent = `${joint.position.toFixed(1).replace("-", "−")}${unit}`;
    // While somebody drags, the slider is theirs.
    if (Date.now() - (this.moved ?? 0) > 1000) this.slider.value = joint.position;
    this.torque.textContent = joint.has_torque ? "torque on" : "no torque";
    this.torque.classList.toggle("on", joint.has_torque);
    this.letGo.hidden = !joint.is_held;
    const load = Math.round(100 * Math.abs(joint.load));
    this.load.value = load;
    this.loadText.textContent = `load ${load} %`;
    const amperes = joint.current_a.toFixed(2);
    this.facts.textContent = `${amperes} A · ${joint.voltage.toFixed(1)} V · ${joint.temperature_c.toFixed(0)} °C`;
    this.facts.classList.toggle("hot", joint.temperature_c > HOT);
    this.complaints.textContent = joint.complaints.join(", ");
  }
}

const trouble = h("p.warning", { hidden: true, role: "alert" });

async function change(what, content) {
  try {
    await send(`/api/twin/${what}`, content);
    trouble.hidden = true;
  } catch (error) {
    trouble.textContent = error.message;
    trouble.hidden = false;
  }
}

/** What to type in other commands; a line breaks between flags only. */
function flagsOf(twin) {
  return h(
    "code",
    {},
    twin.flags.split(" ").flatMap((flag) => [h("span", {}, flag), " "]),
  );
}

function copyButton(text) {
  const button = h("button", { type: "button" }, "copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard?.writeText(text);
    button.textContent = "copied";
    setTimeout(() => (button.textContent = "copy"), 1500);
  });
  return button;
}

const facts = h("p.note", { "aria-live": "off" });
let joints = null;

function begin(twin) {
  document.title = `Twin of ${twin.type}`;
  joints = twin.joints.map((joint) => new Joint(joint));
  const hint = twin.leader
    ? "Move the joints with the sliders; they stay where you put them."
    : "A slider takes a joint by hand, as you would on a real arm: easily without torque, against the motor with it.";
  const all = h("button", { type: "button", onclick: () => change("release", {}) }, "Let go of all joints");
  main.replaceChildren(
    header(h("span.brand", {}, "Yardarm")),
    h("h1", {}, `Twin of ${twin.type}`),
    h("p.twin-flags", {}, flagsOf(twin), " ", copyButton(twin.flags)),
    trouble,
    h(
      "div.twin-columns",
      {},
      h(
        "div",
        {},
        new ArmPicture("/api/twin/picture").element,
        h("p.small", {}, `Drag to turn, scroll to come nearer. The body: ${twin.model}.`),
        facts,
      ),
      h(
        "div",
        {},
        h("p.note", {}, hint),
        h(
          "ul.twin-joints",
          {},
          joints.map((own) => own.element),
        ),
        all,
      ),
    ),
  );
}

function show(twin) {
  joints.forEach((own, index) => own.show(twin.joints[index]));
  const injected = Object.entries(twin.injected).map(([kind, times]) => `${count(times)} × ${kind}`);
  const parts = [`${count(twin.requests)} requests answered`, `alive for ${twin.seconds.toFixed(0)} s`];
  if (injected.length) parts.push(`faults: ${injected.join(", ")}`);
  if (twin.lost >= 0.1) parts.push(`${twin.lost.toFixed(1)} s lost: this machine is busy`);
  facts.textContent = parts.join(" · ");
}

async function look() {
  if (!document.hidden) {
    try {
      const twin = await load("/api/twin");
      if (joints === null) begin(twin);
      show(twin);
      if (trouble.dataset.gone) trouble.hidden = true;
      delete trouble.dataset.gone;
    } catch (error) {
      trouble.textContent = "The twin has ended. Start it again.";
      trouble.dataset.gone = "yes";
      trouble.hidden = false;
    }
  }
  setTimeout(look, LOOK_EVERY_MS);
}

look();
