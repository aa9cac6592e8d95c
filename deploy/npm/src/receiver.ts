import { ok, type Api, type DevApi, type DevClient } from './clients';
import real from './real';

/** The name of a webhook event, such as `stamp.assigned`. */
export type EventName = Api['EnvelopeV2']['event'];
/** The body of the webhook of an event, in version v2. */
export type Envelope<Name extends EventName = EventName> = Extract<Api['EnvelopeV2'], { event: Name }>;

/** One request that a receiver got: an attempt to deliver an event. Further attempts have the same id and body. */
export class Delivery<Name extends EventName = EventName> {
  /** Of the envelope, such as `stamp.assigned`. */
  readonly event: string;
  /** Of the event. */
  readonly id: string;
  /** The exact text that was signed. */
  readonly body: string;
  /** By names in lower case, as `req.headers` of Node has them. */
  readonly headers: Record<string, string>;
  /** By the clock of the server. */
  readonly at: Date;

  constructor(received: DevApi['Received']) {
    this.event = received.event ?? '';
    this.id = received.event_id ?? '';
    this.body = received.body;
    this.headers = Object.fromEntries(Object.entries(received.headers).map(([name, value]) => [name.toLowerCase(), value]));
    this.at = new Date(received.at);
  }

  /** Returns the parsed body, in the type of version v2. It verifies no signature. */
  json(): Envelope<Name> {
    return JSON.parse(this.body) as Envelope<Name>;
  }
}

/** How a receiver answers: `status` (0 cuts the connection), `delay_ms` of real time, `headers`. */
export type Answer = DevApi['ReceiverBodyFields'];

/**
 * A target for webhooks in the server itself. It answers 200 unless told otherwise, and keeps up to 1000 requests.
 * A reset removes it.
 */
export class Receiver {
  readonly #dev: DevClient;
  readonly #returned = new Set<string>();
  readonly #path: { id: string };
  /** Target for a webhook. */
  readonly url: string;
  /** Real time in milliseconds that `wait` waits. */
  timeout = 10_000;

  constructor(dev: DevClient, state: DevApi['ReceiverState']) {
    this.#dev = dev;
    this.#path = { id: state.id };
    this.url = state.url;
  }

  /** Returns what has arrived, in the order of the events. */
  deliveries(): Promise<Delivery[]> {
    return this.#fetch(0, 0);
  }

  /**
   * Returns the first delivery of an event, or of any event, that it has not returned before, and waits for it if
   * necessary. Rejects with a list of what did arrive if none comes within `timeout`.
   */
  async wait<Name extends EventName = EventName>(event?: Name): Promise<Delivery<Name>> {
    const end = real.now() + this.timeout;
    for (let wanted = 0; ; ) {
      const left = end - real.now();
      const all = await this.#fetch(wanted, left);
      const names = namesOf(all);
      const index = all.findIndex((d, i) => !this.#returned.has(names[i]!) && (event === undefined || d.event === event));
      if (index >= 0) {
        this.#returned.add(names[index]!);
        return all[index]! as unknown as Delivery<Name>;
      }
      if (left <= 0) {
        const came = all.map((d, i) => d.event + (this.#returned.has(names[i]!) ? ' (returned before)' : '')).join(', ') || 'nothing';
        throw new Error(`punchcard-server: no delivery of ${event ?? 'any event'} within ${this.timeout} ms; there came ${came}`);
      }
      wanted = all.length + 1;
    }
  }

  /** Sets how further requests are answered. */
  async answer(answer: Answer): Promise<void> {
    await ok(this.#dev.PUT('/receiver/{id}', { params: { path: this.#path }, body: answer }));
  }

  /** Forgets what has arrived. */
  async clear(): Promise<void> {
    await ok(this.#dev.DELETE('/receiver/{id}/requests', { params: { path: this.#path } }));
    this.#returned.clear();
  }

  /**
   * Sends what has arrived to `url`, one after the other with the signatures, so that the program under test gets it
   * late, in reverse (`order: 'reversed'`) or several times (`copies`). Returns what became of each request.
   */
  async replay(url: string, how: Omit<DevApi['ReplayBody'], 'url'> = {}): Promise<DevApi['Replayed'][]> {
    const answer = await ok(this.#dev.POST('/receiver/{id}/replay', { params: { path: this.#path }, body: { ...how, url } }));
    return answer.data;
  }

  async #fetch(wanted: number, timeout: number): Promise<Delivery[]> {
    const query = { wait: wanted, timeout_ms: Math.round(Math.min(Math.max(timeout, 0), 60_000)) }; // the server waits a minute at most
    const answer = await this.#dev.GET('/receiver/{id}', { params: { path: this.#path, query } });
    if (answer.response.status === 404) {
      throw new Error('punchcard-server: the server was reset after this receiver was made; make another one');
    }
    const { requests } = await ok(Promise.resolve(answer));
    return requests.flatMap((received) => (received ? [new Delivery(received)] : []));
  }
}

/** Returns a name for each delivery, which stays the same when a delivery of an earlier event comes later. */
function namesOf(all: Delivery[]): string[] {
  const counts = new Map<string, number>();
  return all.map(({ event, id }) => {
    const name = `${event} ${id}`;
    const n = (counts.get(name) ?? 0) + 1;
    counts.set(name, n);
    return `${name} ${n}`;
  });
}
