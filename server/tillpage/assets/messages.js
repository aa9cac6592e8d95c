// The messages above the card.
import { button, h, note, t } from "./dom.js";

const undoTime = 60_000; // in milliseconds

const message = h("div.message-area", { role: "status" });
const alarm = h("div.message-area", { role: "alert" });
export const messages = h("div.messages", null, alarm, message);

let timer;
let isOver; // reports whether what the message says is over

// show shows a message: in the tone "good", "bad", "warn" or "info". A button calls undo, if that
// is given, for a minute. more are further elements. endMessage removes the message once until
// returns true.
export function show(tone, text, { undo, more = [], until = () => false } = {}) {
  clearTimeout(timer);
  isOver = until;
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

// endMessage removes the message if what it says is over.
export const endMessage = () => isOver?.() && clearMessages();

export const hasMessage = () => !!messages.querySelector(".note");

export const clearMessages = () => (alarm.replaceChildren(), message.replaceChildren());

// offersUndo reports whether what was done last can be undone by a button.
export const offersUndo = () => !!message.querySelector(".undo");
