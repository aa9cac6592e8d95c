/// <reference lib="esnext.disposable" />
import { clientOf, methods, ok, type Api, type ApiClient, type DevApi, type DevClient, type Fetch } from './clients';
import { journalOf } from './journal';
import type { Options } from './options';
import { Phone } from './phone';
import { ServerProcess } from './process';
import real from './real';
import { Receiver, type Answer, type EventName } from './receiver';
import { Till } from './till';

export type ProgramType = Api['Program']['type'];

/** The clock of the server. Time-outs and delays are real time. */
export interface Clock {
  now(): Promise<Date>;
  /**
   * Moves the clock by milliseconds or by a text such as `90s`, `26h`, `3d` or `1d12h`. It stops at each instant at which a
   * webhook is due and sends it, so that everything that becomes due has happened when the promise is resolved.
   */
  advance(by: number | string): Promise<Date>;
  /** Moves the clock to a time, which must not be in its past, as `advance` does. */
  set(to: Date | string): Promise<Date>;
}

/** Failures of the REST and till APIs. */
export interface Faults {
  /** Makes the next `count` (default 1) matching requests fail or take long. `status: 0` cuts the connection, `when: 'after'` loses the answer. */
  add(fault: DevApi['FaultBody']): Promise<DevApi['Fault']>;
  /** Returns the faults that remain. */
  list(): Promise<DevApi['Fault'][]>;
  clear(): Promise<void>;
}

/** A cookie with which a browser is signed in, as `context.addCookies` of Playwright takes it. */
export interface SessionCookie {
  name: string;
  value: string;
  url: string;
  httpOnly: true;
  sameSite: 'Lax';
}

/** Starts a server of its own, on a free port, with an empty demo shop. It ends with this process at the latest. */
export async function startPunchcard(options: Options = {}): Promise<Punchcard> {
  const [server, ready] = await ServerProcess.start(options);
  return new Punchcard(server, ready);
}

/** A running server with the demo shop: a coffee shop with two locations and a published program of each type. */
export class Punchcard implements AsyncDisposable {
  readonly #server: ServerProcess;
  readonly #fetch: Fetch;
  /** The ready line of the server, with everything that it has. */
  readonly ready: DevApi['Ready'];
  /** Client of the REST API, with the API key. */
  readonly api: ApiClient;
  /** Client of the control API of the fixture. */
  readonly dev: DevClient;
  /** The till at `locations[0]`. */
  readonly till: Till;
  readonly clock: Clock;
  readonly faults: Faults;

  /** @internal */
  constructor(server: ServerProcess, ready: DevApi['Ready']) {
    this.#server = server;
    this.#fetch = (request) => this.#send(request);
    this.ready = ready;
    this.api = clientOf(ready.base_url, this.#fetch, ready.api_key);
    const dev = (this.dev = clientOf(`${ready.origin}/dev`, this.#fetch));
    this.till = new Till(ready.origin, this.#fetch, ready.till_token);
    const move = async (body: DevApi['ClockBody']) => new Date((await ok(dev.POST('/clock', { body }))).now);
    this.clock = {
      now: async () => new Date((await ok(dev.GET('/clock'))).now),
      advance: (by) => move({ advance: typeof by === 'number' ? `${by}ms` : by }),
      set: (to) => move({ now: new Date(to).toISOString() }),
    };
    this.faults = {
      add: (body) => ok(dev.POST('/faults', { body })),
      list: async () => (await ok(dev.GET('/faults'))).data,
      clear: async () => void (await ok(dev.DELETE('/faults'))),
    };
  }

  /** `http://127.0.0.1:PORT` */
  get origin(): string {
    return this.ready.origin;
  }

  /** Of the REST API. */
  get baseUrl(): string {
    return this.ready.base_url;
  }

  /** With every scope. */
  get apiKey(): string {
    return this.ready.api_key;
  }

  /** Of the device at `locations[0]`. */
  get tillToken(): string {
    return this.ready.till_token;
  }

  /** Ids of programs by type. With a seed: the first program of each type that the file has. */
  get programs(): Record<ProgramType, string> {
    return this.ready.program_ids as Record<ProgramType, string>;
  }

  /** Ids of the locations. */
  get locations(): [string, ...string[]] {
    return this.ready.location_ids as [string, ...string[]];
  }

  /** With a seed: ids by the refs of the file. */
  get refs(): Record<string, string> {
    return this.ready.refs ?? {};
  }

  /** Id of the process. */
  get pid(): number {
    return this.#server.pid;
  }

  /** Issues a card of a program. */
  issue(program: string, fields: Api['CardFields'] = {}): Promise<Api['IssuedCard']> {
    return ok(this.api.POST('/programs/{id}/cards', { params: { path: { id: program } }, body: fields }));
  }

  /** Returns a card. */
  card(id: string): Promise<Api['CardDetail']> {
    return ok(this.api.GET('/cards/{id}', { params: { path: { id } } }));
  }

  /** Makes a webhook that sends the events, by default every event, to `url`. The answer has its `secret`. */
  webhook(program: string, url: string, ...events: (EventName | '*' | (string & {}))[]): Promise<Api['CreatedWebhook']> {
    const body = { url, events: events.length > 0 ? events : ['*'] };
    return ok(this.api.POST('/programs/{id}/webhooks', { params: { path: { id: program } }, body }));
  }

  /** Makes a target for webhooks in the server itself. */
  async receiver(answer: Answer = {}): Promise<Receiver> {
    return new Receiver(this.dev, await ok(this.dev.POST('/receiver', { body: answer })));
  }

  /** Returns a phone without cards. */
  phone(platform: 'apple' | 'google' = 'apple'): Phone {
    return new Phone(this.dev, platform);
  }

  /** Makes a further till at a location, which takes the ids of cards. */
  async newTill(location = this.locations[0]): Promise<Till> {
    const { id, token } = await ok(this.dev.POST('/devices', { body: { location_id: location, accept_card_ids: true } }));
    return new Till(this.origin, this.#fetch, token, id);
  }

  /** Signs one of the people of the demo shop in and returns the cookie of the session, for a test in a browser. */
  async signIn(as: DevApi['SignInBody']['as']): Promise<SessionCookie> {
    const { cookie, token } = await ok(this.dev.POST('/sign-in', { body: { as } }));
    return { name: cookie, value: token, url: this.origin, httpOnly: true, sameSite: 'Lax' };
  }

  /** Sends webhooks and mail until nothing is due. */
  settle(): Promise<DevApi['Settled']> {
    return ok(this.dev.POST('/settle'));
  }

  /** Returns the journal: the newest requests with their answers, oldest first, and hints about usual mistakes. */
  requests(query: { method?: string; path?: string; kind?: string; limit?: number } = {}): Promise<DevApi['JournalAnswer']> {
    return ok(this.dev.GET('/requests', { params: { query: query as {} } }));
  }

  /** Returns a text with a line for each request and each attempt to deliver a webhook, in order, for the log of a failed test. */
  async journal(): Promise<string> {
    const requests = await this.requests({ kind: 'request', limit: 1000 });
    const attempts = await this.requests({ kind: 'delivery', limit: 1000 });
    return journalOf([...requests.data, ...attempts.data]);
  }

  /** Returns the mail that would have been sent. */
  async emails(): Promise<DevApi['Email'][]> {
    return (await ok(this.dev.GET('/emails'))).data;
  }

  /**
   * Sets everything to what it was at the start, in some milliseconds: data, clock, keys, faults, journal, mail. Ids and
   * keys of the demo shop stay the same; receivers, phones and further tills are gone.
   */
  async reset(): Promise<void> {
    await ok(this.dev.POST('/reset'));
  }

  /** Ends the server and removes its data. A second call does nothing. */
  close(): Promise<void> {
    return this.#server.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #send(request: Request): Promise<Response> {
    try {
      const response = await real.fetch(request);
      methods.set(response, request.method);
      return response;
    } catch (error) {
      throw this.#server.ended === undefined ? error : this.#server.error(error);
    }
  }
}
