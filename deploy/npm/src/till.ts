import { clientOf, ok, type Fetch, type TillApi, type TillClient } from './clients';

/** What an action at a till answers: the row of the ledger, and the card as it is then. */
export type TillResult = TillApi['Stamped'];

/**
 * A device at one location. A card is named by its id or by the content of its QR code. Each method makes one
 * request and throws a PunchcardError if that is refused. `client` has every operation of the till API.
 */
export class Till {
  readonly client: TillClient;

  constructor(
    origin: string,
    fetch: Fetch,
    /** Bearer token, for other clients of the till API. */
    readonly token: string,
    /** Id of the device; empty for the till of the ready line. */
    readonly id = '',
  ) {
    this.client = clientOf(`${origin}/till/v1`, fetch, token);
  }

  /** Returns the card as a till shows it, with its prizes. Changes nothing. */
  lookup(card: string): Promise<TillApi['Lookup']> {
    return ok(this.client.GET('/cards/{code}', { params: { path: { code: card } } }));
  }

  /** Gives a card 1 to 100 stamps. */
  stamp(card: string, count = 1): Promise<TillResult> {
    return ok(this.client.POST('/cards/{code}/stamps', { params: { path: { code: card } }, body: { count } }));
  }

  /** Redeems a prize, by its id. */
  redeem(card: string, prize: string): Promise<TillResult> {
    return ok(this.client.POST('/cards/{code}/redemptions', { params: { path: { code: card } }, body: { prize_id: prize } }));
  }

  /** Adds to the balance of a prepaid card, in cents. */
  topUp(card: string, cents: number): Promise<TillResult> {
    return ok(this.client.POST('/cards/{code}/topups', { params: { path: { code: card } }, body: { amount_cents: cents } }));
  }

  /** Takes from the balance of a prepaid card, in cents. */
  spend(card: string, cents: number): Promise<TillResult> {
    return ok(this.client.POST('/cards/{code}/spends', { params: { path: { code: card } }, body: { amount_cents: cents } }));
  }

  /** Presents a discount or access card. */
  use(card: string): Promise<TillResult> {
    return ok(this.client.POST('/cards/{code}/uses', { params: { path: { code: card } }, body: {} }));
  }

  /** Takes a transaction back, by its id. */
  reverse(transaction: string): Promise<TillResult> {
    return ok(this.client.POST('/transactions/{id}/reversal', { params: { path: { id: transaction } }, body: {} }));
  }
}
