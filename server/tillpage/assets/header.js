// The header: the location, the device, what was not sent, who works here, and the menu.
import { h, icon, t } from "./dom.js";
import * as outbox from "./outbox.js";
import { chip } from "./staff.js";

// tillHeader returns the header and the function draw(me), which has it show what is so now. Its
// buttons stay while what they show changes: whoever presses one, or is at it with the keyboard,
// would lose it.
export function tillHeader({ showUnsent, toggleStaff, showMenu }) {
  const locationName = h("b", { dir: "auto" });
  const device = h("small", { dir: "auto" });
  const signs = { bad: icon("bad"), warn: icon("warning") };
  const unsent = { words: h("span.wide"), count: h("b.narrow") };
  const badge = h("button.chip", { type: "button", hidden: true, onclick: showUnsent }, signs.bad, signs.warn, unsent.words, unsent.count);
  const [staffChip, drawStaff] = chip(toggleStaff);
  const menu = h("button.chip", { type: "button", "aria-label": t("Menu"), onclick: showMenu }, icon("menu"));

  const draw = async (me) => {
    const listed = await outbox.listed();
    const tone = listed.some((r) => r.state === "refused" || r.state === "open") ? "bad" : "warn";
    locationName.textContent = me?.location.name || t("Till");
    device.textContent = me?.device.name || "";
    unsent.words.textContent = t("{0} not sent|{0} not sent", listed.length);
    unsent.count.textContent = listed.length;
    badge.className = "chip " + tone;
    badge.setAttribute("aria-label", unsent.words.textContent);
    badge.hidden = !listed.length;
    for (const name in signs) signs[name].toggleAttribute("hidden", name !== tone);
    drawStaff(me);
  };
  return [h("header.till-top", null, h("h1", null, locationName, device), badge, staffChip, menu), draw];
}
