import { ok, type DevApi, type DevClient } from './clients';
import real from './real';

/** The pass of a card on a phone. */
export class Pass {
  /** Id of the card that was added. */
  readonly card: string;
  readonly serial: string;
  /** The card is locked, has expired or has ended. */
  readonly voided: boolean;
  /** Of a PNG of the front. */
  readonly pictureUrl: string;
  /** In English, from the top of the front to the back. */
  readonly fields: DevApi['PassField'][];

  constructor(pass: DevApi['PhonePass']) {
    this.card = pass.card_id;
    this.serial = pass.serial_number;
    this.voided = pass.voided;
    this.pictureUrl = pass.picture_url;
    this.fields = pass.fields;
  }

  /** Returns the value of a field, such as `count`, `balance` or `holder`, or undefined if the pass does not have it. */
  field(key: string): string | undefined {
    return this.fields.find((f) => f.key === key)?.value;
  }
}

/**
 * A phone with a wallet in the server itself, which has the passes of the cards that are added to it and reads a pass
 * again when the server tells it of a change. A reset removes it.
 */
export class Phone {
  readonly #dev: DevClient;
  #id: string | undefined;
  /** Real time in milliseconds that `wait` waits. */
  timeout = 10_000;

  constructor(
    dev: DevClient,
    readonly platform: 'apple' | 'google',
  ) {
    this.#dev = dev;
  }

  /** Adds a card to the phone and returns its pass. Nothing of the card changes. */
  async add(card: string): Promise<Pass> {
    const body = { card_id: card, platform: this.platform, ...(this.#id === undefined ? {} : { phone_id: this.#id }) };
    const state = await ok(this.#dev.POST('/wallet/phones', { body }));
    this.#id = state.id;
    const pass = state.passes.findLast((p) => p.card_id === card);
    if (!pass) throw new Error(`punchcard-server: the phone refused the pass: ${state.problem}`);
    return new Pass(pass);
  }

  /**
   * Returns the pass of a card as soon as a field has a value: `phone.wait(card.id, 'count', '3/10')`. Rejects with what
   * the field has if that does not come within `timeout`.
   */
  async wait(card: string, field: string, value: string): Promise<Pass> {
    const end = real.now() + this.timeout;
    for (let wanted = 0; ; ) {
      const left = end - real.now();
      const state = await this.#fetch(wanted, left);
      const passes = state.passes.filter((p) => p.card_id === card).map((p) => new Pass(p));
      const pass = passes.findLast((p) => p.field(field) === value);
      if (pass) return pass;
      if (left <= 0) {
        const has = passes.map((p) => JSON.stringify(p.field(field))).join(', ') || 'no pass of it';
        throw new Error(
          `punchcard-server: no pass of ${card} has the ${field} ${JSON.stringify(value)} within ${this.timeout} ms; the phone has ${has}`,
        );
      }
      wanted = state.arrived + 1;
    }
  }

  /** Returns the passes as the phone has them now, in the order in which they were added. */
  async passes(): Promise<Pass[]> {
    return (await this.#fetch(0, 0)).passes.map((p) => new Pass(p));
  }

  /** Returns what the phone has told its owner of changes, in English. */
  async notices(): Promise<string[]> {
    return (await this.#fetch(0, 0)).notices;
  }

  async #fetch(arrived: number, timeout: number): Promise<DevApi['PhoneDetail']> {
    if (this.#id === undefined) throw new Error('punchcard-server: no card was added to this phone');
    const query = { arrived, timeout_ms: Math.round(Math.min(Math.max(timeout, 0), 60_000)) };
    const answer = await this.#dev.GET('/wallet/phones/{id}', { params: { path: { id: this.#id }, query } });
    if (answer.response.status === 404) {
      throw new Error('punchcard-server: the server was reset after this phone was made; make another one');
    }
    return ok(Promise.resolve(answer));
  }
}
