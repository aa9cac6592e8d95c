// The header: the location, the device, the connection, what was not sent, who works here, and the menu.
import { connection } from "./api.js";
import { h, icon, t } from "./dom.js";
import * as outbox from "./outbox.js";
import { chip } from "./staff.js";

// tillHeader returns the header and the function draw(me), which has it show what is so now. Its
// buttons stay while what they show changes: whoever presses one, or is at it with the keyboard,
// would lose it.
export function tillHeader({ showUnsent, toggleStaff, showMenu }) {
  const locationName = h("b", { dir: "auto" });
  const device = h("span", { dir: "auto" });
  const state = h("span.connection", { role: "status" });
  const signs = { bad: icon("bad"), warn: icon("warning") };
  const unsent = { words: h("span.wide"), count: h("b.narrow") };
  const badge = h("button.chip", { type: "button", hidden: true, onclick: showUnsent }, signs.bad, signs.warn, unsent.words, unsent.count);
  const [staffChip, drawStaff] = chip(toggleStaff);
  const menu = h("button.chip", { type: "button", "aria-label": t("Menu"), onclick: showMenu }, icon("menu"));

  const draw = (me) => {
    const listed = outbox.listed();
    const tone = listed.some((r) => r.state === "refused" || r.state === "open") ? "bad" : "warn";
    locationName.textContent = me?.location.name || t("Till");
    device.textContent = me?.device.name || "";
    const word = { connected: t("Connected"), slow: t("Slow"), offline: t("Offline") }[connection] || "";
    if (state.textContent !== word) state.textContent = word; // a screen reader says each change once
    state.dataset.state = connection;
    unsent.words.textContent = t("{0} not sent|{0} not sent", listed.length);
    unsent.count.textContent = listed.length;
    badge.className = "chip " + tone;
    badge.setAttribute("aria-label", unsent.words.textContent);
    badge.hidden = !listed.length;
    for (const name in signs) signs[name].toggleAttribute("hidden", name !== tone);
    drawStaff(me);
  };
  return [h("header.till-top", null, h("div.till-name", null, h("h1", null, locationName), h("small", null, device, state)), badge, staffChip, menu), draw];
}
