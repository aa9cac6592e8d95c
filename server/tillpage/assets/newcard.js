// The dialogs about a new card.
import { ask, button, h, icon, money, t } from "./dom.js";
import { askAmount } from "./keypad.js";

// askNewCard asks for the program, if there are several, for the customer, and for the money with
// which a prepaid card begins. It returns the program and the fields of the card, undefined if
// the person closes a dialog. refused is what it returned before, with the faults that the server
// has found: it asks for the customer again.
export async function askNewCard(programs, refused) {
  const program = refused ? refused.program : programs.length === 1 ? programs[0] : await ask(t("Which program?"), (close) => h("div.names", null, programs.map((p) => button(p.name, () => close(p), { kind: "big", iconName: "card" }))));
  if (!program) return undefined;
  const prepaid = program.type === "prepaid";
  const fields = await askCustomer(program.name, prepaid && !refused ? t("Continue") : t("Issue the card"), refused);
  if (!fields || !prepaid) return fields && { program, fields };
  if (refused) return { program, fields: { ...fields, amount_cents: refused.fields.amount_cents } };
  const begins = program.initial_balance_cents || 0;
  const hint = [begins && t("Without an amount the card begins with {0}.", money(begins)), t("This cannot be undone at the till: a manager can archive the card.")].filter(Boolean).join(" ");
  const cents = await askAmount(t("Money on the card"), t("Issue the card"), hint, { optional: true });
  if (cents === undefined) return undefined;
  if (cents) fields.amount_cents = cents;
  return { program, fields };
}

// askCustomer asks who the customer is. Everything may be empty. It begins at the first field that was refused, or at the
// name if it is given none, and without refused at the button.
export const askCustomer = (title, action, refused) =>
  ask(title, (close) => {
    const field = (name, label, props) => {
      const fault = refused?.faults.some((f) => f.field === name) && faultOf(name);
      const described = fault && { "aria-invalid": "true", "aria-describedby": name + "-fault", autofocus: true };
      return h(
        "div",
        { class: fault && "field wrong" },
        h("label", { for: name }, label),
        fault && h("p.error", { id: name + "-fault" }, icon("bad"), h("span", null, fault)),
        h("input", { id: name, name, autocomplete: "off", value: refused?.fields[name], ...props, ...described }),
      );
    };
    return h(
      "form.stack",
      {
        onsubmit: (e) => {
          e.preventDefault();
          close(Object.fromEntries([...new FormData(e.target)].map(([name, text]) => [name, text.trim()]).filter(([, text]) => text)));
        },
      },
      field("holder_name", t("Name of the customer, if wanted"), { maxlength: 200, enterkeyhint: "next", autofocus: refused && !refused.faults.length }),
      field("holder_email", t("Email, if wanted"), { type: "email", maxlength: 254, enterkeyhint: "next" }),
      field("phone", t("Phone number, if wanted"), { type: "tel", maxlength: 64, enterkeyhint: "done" }),
      h("button.button.primary.huge", { type: "submit", autofocus: !refused }, icon("check"), h("span", null, action)),
    );
  });

// faultOf says what to do about a field that the server does not accept.
function faultOf(name) {
  switch (name) {
    case "phone":
      return t("Enter a phone number as it is dialled here, or one that begins with + and the country’s code.");
    case "holder_email":
      return t("Enter an address such as name@example.com.");
  }
  return t("Enter it in one line, without special characters.");
}

// showInstallCode shows the QR code and the short code of a card that was issued until the person closes it.
export async function showInstallCode(issued) {
  const svg = document.importNode(new DOMParser().parseFromString(issued.install_qr_svg, "image/svg+xml").documentElement, true);
  svg.setAttribute("aria-label", t("QR code of the new card"));
  svg.setAttribute("role", "img");
  await ask(t("Show this to the customer"), (close) => h("div.stack.new-card", null, h("div.qr-code", null, svg), h("p", null, t("The customer scans it with the phone’s camera and gets the card.")), issued.short_code && h("p", null, t("Code of the card"), " ", h("code", null, grouped(issued.short_code))), button(t("Done"), () => close(), { kind: "primary.huge", autofocus: true })));
}

// grouped returns a short code as people read it.
const grouped = (code) => code.toUpperCase().replace(/^.{4}/, "$&-");
