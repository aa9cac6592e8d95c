// The dialogs about a new card.
import { ask, button, h, icon, money, t } from "./dom.js";
import { askAmount } from "./keypad.js";

// askNewCard asks for the program, if there are several, for the customer, and for the money with
// which a prepaid card begins. It returns the program and the fields of the card, undefined if
// the person closes a dialog.
export async function askNewCard(programs) {
  const program = programs.length === 1 ? programs[0] : await ask(t("Which program?"), (close) => h("div.names", null, programs.map((p) => button(p.name, () => close(p), { kind: "big", iconName: "card" }))));
  if (!program) return undefined;
  const prepaid = program.type === "prepaid";
  const fields = await askCustomer(program, prepaid ? t("Continue") : t("Issue the card"));
  if (!fields || !prepaid) return fields && { program, fields };
  const begins = program.initial_balance_cents || 0;
  const hint = [begins && t("Without an amount the card begins with {0}.", money(begins)), t("This cannot be undone at the till: a manager can archive the card.")].filter(Boolean).join(" ");
  const cents = await askAmount(t("Money on the card"), t("Issue the card"), hint, { optional: true });
  if (cents === undefined) return undefined;
  if (cents) fields.amount_cents = cents;
  return { program, fields };
}

// askCustomer asks who the customer is. Everything may be empty.
const askCustomer = (program, action) =>
  ask(program.name, (close) => {
    const field = (name, label, props) => h("div", null, h("label", { for: name }, label), h("input", { id: name, name, autocomplete: "off", ...props }));
    return h(
      "form.stack",
      {
        onsubmit: (e) => {
          e.preventDefault();
          close(Object.fromEntries([...new FormData(e.target)].map(([name, text]) => [name, text.trim()]).filter(([, text]) => text)));
        },
      },
      field("holder_name", t("Name of the customer, if wanted"), { maxlength: 200, enterkeyhint: "next" }),
      field("holder_email", t("Email, if wanted"), { type: "email", maxlength: 254, enterkeyhint: "next" }),
      field("phone", t("Phone number, if wanted"), { type: "tel", maxlength: 64, enterkeyhint: "done" }),
      h("button.button.primary.huge", { type: "submit", autofocus: true }, icon("plus"), h("span", null, action)),
    );
  });

// showInstallCode shows the QR code of a card that was issued until the person closes it.
export async function showInstallCode(issued) {
  const svg = document.importNode(new DOMParser().parseFromString(issued.install_qr_svg, "image/svg+xml").documentElement, true);
  svg.setAttribute("aria-label", t("QR code of the new card"));
  svg.setAttribute("role", "img");
  await ask(t("Show this to the customer"), (close) => h("div.stack.new-card", null, h("div.qr-code", null, svg), h("p", null, t("The customer scans it with the phone’s camera and gets the card.")), button(t("Done"), () => close(), { kind: "primary.huge", autofocus: true })));
}
