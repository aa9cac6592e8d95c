// The programs that give stamps for purchases, as far as this till has seen.
import { t } from "./dom.js";
import { askAmount } from "./keypad.js";

const programs = new Set(JSON.parse(localStorage.getItem("till-purchases") || "[]"));

// demandsPurchase reports whether a program was seen to demand a purchase.
export const demandsPurchase = (program) => programs.has(program);

export function setDemandsPurchase(program, demands) {
  demands ? programs.add(program) : programs.delete(program);
  localStorage.setItem("till-purchases", JSON.stringify([...programs]));
}

// addPurchase asks for the amount of a purchase and adds it to the fields of a write. It returns
// the amount, undefined if the person closes the dialog.
export async function addPurchase(fields) {
  const cents = await askAmount(t("What was bought?"), t("Continue"), t("This program gives stamps for purchases. Enter the amount."));
  if (cents) fields.spend_cents = cents;
  return cents;
}
