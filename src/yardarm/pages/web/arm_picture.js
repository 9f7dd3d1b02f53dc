// The picture of an arm.

import { h } from "yardarm/dom";
import { address, load } from "yardarm/live";

/** The picture of the arm, which is drawn again and again; dragging turns it, the wheel brings it nearer. */
export class ArmPicture {
  constructor(path, more = {}) {
    this.path = path;
    this.more = more;
    this.camera = { azimuth: 140, elevation: -20, distance: 0.6 };
    this.drawn = 0;
    this.image = null;
    this.note = h("p.note", {}, "Drawing the arm …");
    this.element = h("div.twin-picture", {}, this.note);
    this.element.addEventListener("pointerdown", (event) => this.turn(event));
    this.element.addEventListener("wheel", (event) => this.zoom(event), { passive: false });
    this.draw();
  }

  /** Each picture is asked for when the one before has come: a slow machine draws fewer. */
  async draw() {
    if (this.over) return;
    if (document.hidden) return setTimeout(() => this.draw(), 500);
    const width = Math.min(640, Math.round(this.element.clientWidth || 480));
    const view = { ...this.camera, ...this.more, width };
    const where = address(this.path, { ...view, number: this.drawn++ });
    const next = h("img", { alt: "The arm, as it stands now", draggable: "false", src: where });
    try {
      await next.decode();
      if (this.image) this.image.replaceWith(next);
      else this.element.prepend(next);
      this.image = next;
      this.note.hidden = true;
      setTimeout(() => this.draw(), 30);
    } catch {
      const problem = await load(this.path, view).catch((error) => error.message);
      if (typeof problem === "string") this.note.textContent = problem;
      this.note.hidden = false;
      setTimeout(() => this.draw(), 3000);
    }
  }

  turn(start) {
    start.preventDefault();
    const { azimuth, elevation } = this.camera;
    const move = (event) => {
      this.camera.azimuth = azimuth - (event.clientX - start.clientX) / 2;
      this.camera.elevation = Math.min(5, Math.max(-89, elevation - (event.clientY - start.clientY) / 3));
    };
    const stop = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", stop);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
  }

  zoom(event) {
    event.preventDefault();
    const factor = event.deltaY > 0 ? 1.1 : 1 / 1.1;
    this.camera.distance = Math.min(2, Math.max(0.3, this.camera.distance * factor));
  }
}
