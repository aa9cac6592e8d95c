import createClient, { type Client as FetchClient } from 'openapi-fetch';
import type { components as ApiComponents, paths as ApiPaths } from './generated/api';
import type { components as DevComponents, paths as DevPaths } from './generated/dev';
import type { components as TillComponents, paths as TillPaths } from './generated/till';

/** The types of the REST API by their names in its OpenAPI document: `Api['CardDetail']`. */
export type Api = ApiComponents['schemas'];
/** The types of the till API. */
export type TillApi = TillComponents['schemas'];
/** The types of the control API. */
export type DevApi = DevComponents['schemas'];

export type ApiClient = FetchClient<ApiPaths>;
export type TillClient = FetchClient<TillPaths>;
export type DevClient = FetchClient<DevPaths>;

/** Makes a request. */
export type Fetch = (request: Request) => Promise<Response>;

/** Returns a client of openapi-fetch for one of the APIs, with a bearer token if there is one. */
export function clientOf<Paths extends {}>(baseUrl: string, fetch: Fetch, token?: string): FetchClient<Paths> {
  return createClient<Paths>({ baseUrl, fetch, headers: token === undefined ? {} : { Authorization: `Bearer ${token}` } });
}

/** The method of the request of each answer, for {@link PunchcardError}. */
export const methods = new WeakMap<Response, string>();

/** An error that the server answered with. */
export class PunchcardError extends Error {
  override readonly name = 'PunchcardError';
  /** HTTP status. */
  readonly status: number;
  /** Never changes its meaning: `not_found`, `validation_failed` … Empty if the answer is not from the API. */
  readonly code: string;
  /** Of `validation_failed`: one for each invalid field. */
  readonly details: Api['Detail'][];
  /** Names the request in the log of the server. */
  readonly requestId: string;

  constructor(response: Response, body: unknown) {
    const from = (body as Partial<Api['ErrorBody']> | undefined)?.error as Partial<Api['ErrorObject']> | undefined;
    const details = from?.details ?? [];
    const request = `${methods.get(response) ?? ''} ${new URL(response.url).pathname}`.trim();
    const fields = details.map((d) => ` [${d.field} ${d.code}: ${d.message}]`).join('');
    super(`${request}: ${response.status} ${from?.code ?? ''}: ${from?.message ?? JSON.stringify(body)}${fields}`);
    this.status = response.status;
    this.code = from?.code ?? '';
    this.details = details;
    this.requestId = from?.request_id ?? response.headers.get('x-request-id') ?? '';
  }
}

/**
 * Returns the data of an answer, or throws a {@link PunchcardError} if the server refused the request:
 * `const me = await ok(shop.api.GET('/me'))`.
 */
export async function ok<Data>(answer: PromiseLike<{ data?: Data; error?: unknown; response: Response }>): Promise<Data> {
  const { data, error, response } = await answer;
  if (!response.ok) throw new PunchcardError(response, error);
  return data as Data;
}
