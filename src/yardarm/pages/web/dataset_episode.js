// An episode of a dataset: its cameras side by side and its numbers over time, on one clock.

import { Clock } from "yardarm/clock";
import { breakable, duration, factList, h, number, outcome } from "yardarm/dom";
import { EpisodeTools, isForPage } from "yardarm/episode_tools";
import { followChecks, severity } from "yardarm/findings";
import { address, load, parameters, problem } from "yardarm/live";
import { header } from "yardarm/page";
import { Player, Stills } from "yardarm/player";
import { Review } from "yardarm/review";
import { Signals } from "yardarm/signals";

const dataset = parameters().get("dataset") ?? "";
const index = Number(parameters().get("index"));
const main = document.getElementById("main");
// The browsers' names for the codecs of datasets.
const CODECS = {
  av1: "av01.0.05M.08",
  h264: "avc1.640028",
  hevc: "hvc1.1.6.L93.B0",
  h265: "hvc1.1.6.L93.B0",
  vp9: "vp09.00.10.08",
};

/** The episode, controlled by the clock. */
class Side {
  constructor(data, clock) {
    this.data = data;
    this.clock = clock;
    this.last = data.steps - 1;
    this.fps = data.fps;
    this.seconds = data.steps / data.fps;
    this.texts = data.texts.map((text) => ({ ...text, value: h("span") }));
    this.review = new Review(dataset, data);
    this.tools = new EpisodeTools(data, this.review, clock);
    this.signals = new Signals(data.numbers, Math.max(1, this.last), clock);
    this.findings = [];
    this.cameras = data.cameras.map((camera) => new Camera(camera, data, clock));
    this.players = this.cameras.flatMap((camera) => camera.player ?? []);
  }

  draw() {
    this.signals.draw();
    this.review.onChange(() => this.mark());
    const layout = this.cameras.length === 1 ? ".one-camera" : "";
    return h(
      `div.recorded${layout}`,
      {},
      h(
        "div.cameras",
        { style: `--count:${Math.max(1, this.cameras.length)}` },
        this.cameras.map((camera) => camera.element),
        this.facts(),
      ),
      this.signals.element,
    );
  }

  /** Show the findings about this episode above the plots, and in them. */
  found(findings) {
    this.findings = findings.filter((own) => own.episode === index);
    const go = (frame) => h("button", { type: "button", onclick: () => this.clock.seek(frame) }, `frame ${frame}`);
    const line = (own) =>
      h("li", {}, severity(own.severity), ` ${own.message} `, own.frames ? go(own.frames[0]) : null);
    this.list.replaceChildren(...this.findings.map(line));
    this.list.hidden = !this.findings.length;
    this.mark();
  }

  list = h("ul.findings.bare", { "aria-label": "Findings", hidden: true });

  /** Findings, and what a trim would cut off. */
  mark() {
    const [start, stop] = this.tools.kept;
    const cuts = [
      { from: 0, to: start, kind: "cut" },
      { from: stop - 1, to: this.last, kind: "cut" },
    ].filter(({ from, to }) => to > from);
    const own = this.findings.filter((finding) => finding.frames);
    const found = own.map(({ frames: [from, to] }) => ({ from, to: to - 1, kind: "found" }));
    this.signals.mark([...found, ...cuts]);
  }

  facts() {
    const { data } = this;
    const facts = [
      ...(data.outcome ? [["outcome", outcome(data.outcome)]] : []),
      ...(data.reward === null ? [] : [["return", number(data.reward)]]),
      ["frames", `${data.steps} at ${number(data.fps)} per second`],
      ["time", duration(this.seconds)],
      ["file", breakable(data.file)],
      ...this.texts.map(({ name, value }) => [name, value]),
    ];
    return factList(facts);
  }

  move(step) {
    this.signals.timelines.move(step);
    this.tools.move(step);
    for (const { runs, value } of this.texts) {
      value.textContent = runs.findLast(([from]) => from <= step + 0.001)?.[1] ?? "";
    }
  }

  watch() {
    for (const camera of this.cameras) camera.watch();
  }
}

/** A camera's view: a part of a video file, or pictures from the table. */
class Camera {
  constructor(camera, data, clock) {
    this.camera = camera;
    this.clock = clock;
    this.where = { dataset, index, camera: camera.key };
    this.state = h("p.note", { role: "status" });
    const label = `${camera.name}, episode ${index}`;
    if (camera.kind === "image") {
      const source = (frame) => address("/api/dataset/picture", { ...this.where, frame });
      this.player = new Stills(label, { frames: data.steps, source, failed: (frame) => this.missing(frame) });
    } else if (!camera.problem) {
      this.player = new Player(label, { fps: data.fps, from: camera.from, to: camera.to });
      this.player.video.addEventListener("error", () => this.unplayable());
    }
    const shape = camera.width ? `--ratio:${camera.width / camera.height}` : "";
    const stage = h("div.stage", {}, this.player?.element, this.state);
    this.element = h("figure.camera", { style: shape }, stage, h("figcaption.small", {}, this.caption()));
  }

  caption() {
    const { name, width, height, codec, kind } = this.camera;
    return [name, width ? `${width} × ${height}` : null, kind === "image" ? "pictures" : codec]
      .filter(Boolean)
      .join(" · ");
  }

  watch() {
    const { camera } = this;
    if (camera.problem) return this.say(camera.problem);
    if (camera.kind === "image") return this.player.seek(this.clock.step);
    const known = CODECS[camera.codec];
    const able = !known || this.player.video.canPlayType(`video/mp4; codecs="${known}"`);
    if (!able) return this.say(`This browser cannot play ${camera.codec}, the codec of ${camera.file}.`);
    if (camera.cut_short) this.say(camera.cut_short);
    this.player.show(address("/api/dataset/video", this.where), this.clock);
  }

  unplayable() {
    const { codec, file } = this.camera;
    this.player.hide();
    this.say(
      CODECS[codec]
        ? `This browser cannot play ${file}: the file is damaged, or it uses a variant of ${codec} that the browser does not support.`
        : `This browser cannot play ${codec}, the codec of ${file}.`,
    );
  }

  /** Show why a frame has no picture. */
  async missing(frame) {
    this.player.element.hidden = frame !== null;
    if (frame === null) return this.say("");
    const answer = await load("/api/dataset/picture", { ...this.where, frame }).catch((error) => error.message);
    this.say(typeof answer === "string" ? answer : `The picture of frame ${frame} cannot be shown.`);
  }

  say(text) {
    this.state.textContent = text;
  }
}

/** Links to the other episodes, with the same signals; the keys n and p follow them. */
function neighbours({ previous, next }, signals) {
  const link = (place, text) => (place === null ? null : h("a", { "data-episode": place }, text));
  const links = [link(previous, "← Previous"), link(next, "Next →")];
  const update = () => {
    for (const own of links.filter(Boolean)) {
      const words = new URLSearchParams({ dataset, index: own.dataset.episode });
      signals.write(words);
      own.href = `/dataset/episode?${words}`;
    }
  };
  update();
  signals.onChange = update;
  addEventListener("keydown", (event) => {
    if (isForPage(event)) ({ p: links[0], n: links[1] })[event.key]?.click();
  });
  return h("nav.choices", { "aria-label": "Other episodes" }, links);
}

const keys = (editable) =>
  h(
    "p.small.keys-help",
    {},
    "Keys: space plays, ← → move a frame (shift: ten), n and p go to the next and previous episode",
    editable ? ", f flags, i and o set the first and last frame to keep" : "",
    ".",
  );

async function start() {
  document.title = `${dataset}, episode ${index} · Yardarm`;
  main.classList.add("long");
  const back = h("a", { href: address("/dataset", { dataset }) }, breakable(dataset));
  const top = header(h("a.brand", { href: "/" }, "Yardarm"), h("a", { href: "/" }, "All datasets"), back);
  main.replaceChildren(top, h("h1", {}, `Episode ${index}`));
  try {
    const data = await load("/api/dataset/episode", { dataset, index });
    const sides = [];
    const clock = new Clock(sides, "frame");
    const side = new Side(data, clock);
    sides.push(side);
    main.append(
      h("p.under-title", {}, data.tasks.join(" → ") || "no instruction"),
      neighbours(data.neighbours, side.signals),
      data.problem ? h("p.warning", { role: "alert" }, data.problem) : "",
      side.list,
      clock.element,
      side.tools.element,
      side.draw(),
      keys(data.editable),
    );
    clock.begin();
    clock.seek(Number(parameters().get("frame")) || 0);
    side.watch();
    await followChecks(dataset, ({ findings }) => side.found(findings));
  } catch (error) {
    main.append(problem(error));
  }
}

start();
