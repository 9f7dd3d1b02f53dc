// The page for an unknown address.

import { h } from "yardarm/dom";
import { header } from "yardarm/page";

document.title = "Page not found · Yardarm";
document
  .getElementById("main")
  .replaceChildren(
    header(h("a.brand", { href: "/" }, "Yardarm"), h("a", { href: "/" }, "Back to the list")),
    h("h1", {}, "Page not found"),
  );
