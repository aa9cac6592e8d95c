// Dialogs with a keypad: for an amount of money, and for a PIN.
import { ask, button, decimals, h, icon, money, t } from "./dom.js";

const gap = 150; // the most milliseconds between two keys of a scanner

// keypad returns the keys. press is called with a digit, "00" or "back", also for the keys of a
// keyboard, wherever the focus is; Enter calls done. A scanner may type a code meanwhile, whose
// digits must not count: keep is called before the first key after a pause, and undo at a
// letter, to go back to what there was when keep was called.
function keypad(dialog, { press, keep, undo, done, double }) {
  let at = 0;
  let scanned = false;
  const key = (label, value, name) => h("button.key", { type: "button", "aria-label": name, onclick: () => press(value) }, label);
  const typed = (e) => {
    if (e.timeStamp - at > gap) {
      scanned = false;
      keep();
    }
    at = e.timeStamp;
    if (/^[a-z_-]$/i.test(e.key) && !e.ctrlKey && !e.metaKey && !e.altKey) {
      scanned = true;
      undo();
    }
    if (scanned) return e.preventDefault();
    if (/^\d$/.test(e.key)) press(e.key);
    else if (e.key === "Backspace") press("back");
    else if (e.key === "Enter" && !e.target.matches?.(".quiet")) done();
    else return;
    e.preventDefault();
  };
  document.addEventListener("keydown", typed);
  dialog.addEventListener("close", () => document.removeEventListener("keydown", typed));
  return h("div.keypad", null, [..."123456789"].map((d) => key(d, d)), double ? key("00", "00") : h("span"), key("0", "0"), key(icon("back"), "back", t("Delete the last digit")));
}

const most = 100_000_000;

// askAmount returns an amount in the smallest units of the currency, or undefined. It may be 0 if
// it is optional.
export function askAmount(title, action, hint, { optional = false } = {}) {
  return ask(title, (close, dialog) => {
    let digits = "";
    let kept = "";
    const show = h("output.amount", { tabindex: "-1", autofocus: true, "aria-live": "polite" }, money(0));
    const cents = () => Number(digits || 0);
    const ok = button(action, () => done(), { kind: "primary.huge", disabled: !optional });
    const done = () => (optional || cents() > 0) && close(cents());
    const press = (key) => {
      const next = key === "back" ? digits.slice(0, -1) : (digits + key).replace(/^0+/, "");
      if (Number(next || 0) <= most) digits = next;
      show.textContent = money(cents());
      ok.disabled = !optional && cents() === 0;
    };
    const keys = { press, done, double: decimals() > 0, keep: () => (kept = digits), undo: () => ((digits = kept), press("")) };
    return h("div.stack", null, hint && h("p.soft", null, hint), show, keypad(dialog, keys), ok);
  });
}

// askPIN returns a PIN of 4 to 8 digits, or undefined.
export function askPIN(title, hint) {
  return ask(title, (close, dialog) => {
    let digits = "";
    let kept = "";
    const show = h("output.amount.pin", { tabindex: "-1", autofocus: true, "aria-live": "polite" }, "–");
    const ok = button(t("Continue"), () => done(), { kind: "primary.huge", disabled: true });
    const done = () => digits.length >= 4 && close(digits);
    const press = (key) => {
      digits = key === "back" ? digits.slice(0, -1) : (digits + key).slice(0, 8);
      show.textContent = "●".repeat(digits.length) || "–";
      show.setAttribute("aria-label", t("{0} digit|{0} digits", digits.length));
      ok.disabled = digits.length < 4;
    };
    const keys = { press, done, double: false, keep: () => (kept = digits), undo: () => ((digits = kept), press("")) };
    return h("div.stack", null, hint && h("p.soft", null, hint), show, keypad(dialog, keys), ok);
  });
}
