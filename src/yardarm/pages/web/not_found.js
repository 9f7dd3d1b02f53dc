// An address that leads nowhere.

import { h } from "yardarm/dom";
import { header } from "yardarm/page";

document.title = "Nothing here · Yardarm";
document
  .getElementById("main")
  .replaceChildren(
    header(h("a.brand", { href: "/" }, "Yardarm"), h("a", { href: "/" }, "To the list")),
    h("h1", {}, "There is nothing here"),
  );
