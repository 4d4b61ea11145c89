// A page: the document that it carries decides whether it shows a motion or an elimination order.
import { decode } from "./decode.js";
import { make } from "./dom.js";
import { MotionPage } from "./motion_page.js";
import { OrderPage } from "./order_page.js";
import style from "./style.css";

document.head.append(make("style", {}, style));
try {
  const packed = decode(document.getElementById("document").textContent);
  const Page = { motion: MotionPage, order: OrderPage }[packed.header.view];
  window.sparsebody = new Page(packed);
} catch (error) {
  const remedy = /WebGL/i.test(String(error)) ? "This page draws with WebGL, which this browser does not offer here."
    : `This page cannot be drawn: ${error}`;
  document.body.append(make("div", { class: "message" }, remedy));
  throw error;
}
