// One sentence for each code of a refusal. It says what to do.
import { t } from "./dom.js";

const sentences = () => ({
  amount_below_min_stamp: t("The purchase is too small for a stamp. Check the amount."),
  bad_request: t("The server did not understand this. Reload the page and try again."),
  cannot_reverse_completed_cycle: t("This card has been completed since. It cannot be undone any more."),
  card_expired: t("This card has expired. Issue a new one."),
  card_full_no_repeat: t("This card is full. Redeem a prize first."),
  card_suspended: t("This card is locked at the moment. Ask a manager."),
  conflict: t("This was undone already, or the card is no longer in use. Look the card up again."),
  gone: t("The shop has moved to another server. Ask a manager to pair this device there."),
  idempotency_conflict: t("This is being done already. Look the card up again."),
  internal_error: t("The server could not do this. Nothing was changed. Try again."),
  invalid_credentials: t("The PIN is wrong or missing. Sign in again."),
  location_disabled: t("This location is closed in the dashboard. Ask a manager."),
  not_found: t("No card has this code. Scan again, or check the characters."),
  prepaid_insufficient_balance: t("There is not enough money on the card. Spend less, or top it up."),
  rate_limited: t("That was too often. Wait a minute and try again."),
  spend_not_enabled: t("This program asks for no purchase any more. Try again without the amount."),
  spend_required: t("Enter what was bought. The program gives stamps for purchases only."),
  subscription_suspended: t("The shop’s subscription is suspended. Ask the owner."),
  threshold_already_claimed: t("This prize was redeemed already. Choose another one."),
  unauthenticated: t("This device is not paired with the shop. Pair it again."),
  unauthorized: t("This device may not do this. Ask a manager."),
  unavailable: t("The server could not do this. Nothing was changed. Try again."),
  unprocessable_entity: t("The program’s rules do not allow this, such as a limit for one day. Give less, or ask a manager."),
  validation_failed: t("Something that was entered is not valid. Check it and try again."),
});

// sentenceOf returns the sentence for a code.
export const sentenceOf = (code) => sentences()[code] || sentences().internal_error;
export const noAnswer = () => t("The server does not answer. Check the connection and try again.");
