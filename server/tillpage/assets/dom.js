// What the other modules build the page with: elements, icons, texts and dialogs.
export const config = JSON.parse(document.getElementById("config").textContent);

const plural = new Intl.PluralRules(config.lang);

// t returns the translation of an English text. {0} stands for the first argument. A text
// with two forms, "{0} stamp|{0} stamps", is chosen by the first argument.
export function t(text, ...args) {
  let s = config.texts[text] || text;
  if (s.includes("|")) {
    const [one, other] = s.split("|");
    s = plural.select(args[0]) === "one" ? one : other;
  }
  return s.replace(/\{(\d)\}/g, (all, i) => (i in args ? format(args[i]) : all));
}

const number = new Intl.NumberFormat(config.lang);
const format = (arg) => (typeof arg === "number" ? number.format(arg) : arg);

let currency = "EUR";
export const setCurrency = (code) => (currency = code || currency);
const moneyFormat = () => new Intl.NumberFormat(config.lang, { style: "currency", currency });
export const decimals = () => moneyFormat().resolvedOptions().maximumFractionDigits;
// money returns an amount, which is in the smallest units of the currency, as text.
export const money = (cents) => moneyFormat().format(cents / 10 ** decimals());

const day = new Intl.DateTimeFormat(config.lang, { dateStyle: "medium" });
const clock = new Intl.DateTimeFormat(config.lang, { timeStyle: "short" });
const both = new Intl.DateTimeFormat(config.lang, { dateStyle: "short", timeStyle: "short" });
export const date = (at) => day.format(new Date(at));
// when returns the time of day, with the day if that is not today.
export const when = (at) => (new Date(at).toDateString() === new Date().toDateString() ? clock : both).format(new Date(at));

// h returns an element: h("button.primary", {onclick}, "Save"). Children that are null or
// false are left out.
export function h(tag, props, ...children) {
  const [name, ...classes] = tag.split(".");
  const el = document.createElement(name || "div");
  if (classes.length) el.className = classes.join(" ");
  for (const [key, value] of Object.entries(props || {})) {
    if (key.startsWith("on")) el.addEventListener(key.slice(2), value);
    else if (value === true) el.setAttribute(key, "");
    else if (value !== false && value != null) el.setAttribute(key, value);
  }
  el.append(...children.flat().filter((c) => c != null && c !== false));
  return el;
}

const drawings = document.getElementById("icons").content;
export const icon = (name) => drawings.querySelector(`[data-name="${name}"]`).firstElementChild.cloneNode(true);

// button returns a button with an icon, or with a label alone.
export function button(label, onclick, { kind = "", iconName = "", ...props } = {}) {
  return h("button.button" + (kind ? "." + kind : ""), { type: "button", onclick, ...props }, iconName && icon(iconName), h("span", null, label));
}

// note returns a box with an icon and a sentence.
export function note(tone, text, ...more) {
  return h("div.note." + tone, null, icon({ warn: "warning" }[tone] || tone), h("div", null, h("p", null, text), ...more));
}

// ask shows a dialog. fill(close) returns its contents; the promise is what close was
// called with, undefined if the person closes the dialog. The browser sends the event "close" only
// when it draws the page again, which one that shows no page does not: close sends it at once,
// and the second one changes nothing.
export function ask(title, fill) {
  return new Promise((resolve) => {
    let result;
    const dialog = h("dialog.dialog", { "aria-labelledby": "dialog-title", onclose: () => (dialog.remove(), resolve(result)) });
    const close = (value) => ((result = value), dialog.close(), dialog.dispatchEvent(new Event("close")));
    const x = h("button.button.quiet", { type: "button", "aria-label": t("Close"), onclick: () => close() }, icon("close"));
    dialog.append(h("header", null, h("h2", { id: "dialog-title" }, title), x), fill(close, dialog));
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector("[autofocus]")?.focus();
  });
}

// confirm asks a question and returns whether the person agrees. text is a paragraph, or a list of them.
export const confirm = (title, text, agree, { kind = "primary" } = {}) =>
  ask(title, (close) => h("div.stack", null, [text].flat().map((line) => h("p", null, line)), h("div.choices", null, button(agree, () => close(true), { kind: kind + ".huge", autofocus: true }), button(t("Cancel"), () => close(false), { kind: "big" }))));
