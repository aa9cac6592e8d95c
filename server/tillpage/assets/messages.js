// The messages above the card.
import { button, h, note, t } from "./dom.js";

const undoTime = 60_000; // in milliseconds

const message = h("div.message-area", { role: "status" });
const alarm = h("div.message-area", { role: "alert" });
export const messages = h("div.messages", null, alarm, message);

let timer;

// show shows a message: in the tone "good", "bad", "warn" or "info". A button calls undo, if that
// is given, for a minute. more are further elements.
export function show(tone, text, { undo, more = [] } = {}) {
  clearTimeout(timer);
  const box = note(tone, text, ...more);
  if (undo) {
    const b = button(t("Undo"), undo, { kind: "undo", iconName: "undo" });
    box.append(b);
    timer = setTimeout(() => b.remove(), undoTime);
  }
  box.classList.add("loud");
  (tone === "bad" ? alarm : message).replaceChildren(box);
  (tone === "bad" ? message : alarm).replaceChildren();
}

export const clearMessages = () => (alarm.replaceChildren(), message.replaceChildren());

// offersUndo reports whether what was done last can be undone by a button.
export const offersUndo = () => !!message.querySelector(".undo");
