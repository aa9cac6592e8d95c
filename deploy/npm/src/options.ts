/** Options of {@link startPunchcard}. All are optional. */
export interface Options {
  /** Begin with the shops of this seed file, a path, instead of the empty demo shop. */
  seed?: string;
  /** Begin with a demo shop that had 90 days of business. Default: an empty one. */
  history?: boolean;
  /** Let time stand still at this time until the test moves the clock. Default: real time. */
  clock?: Date | string;
  /** Make secrets and request ids the same in every run. Time stands still at 2026-01-01T09:00:00Z unless `clock` says otherwise. */
  deterministic?: boolean;
  /** Address to listen on, `HOST:PORT`; port 0 takes a free port. Default: `127.0.0.1:0`. */
  listen?: string;
  /** Listen on an address that others can reach; needs `allowHost`. */
  allowRemote?: boolean;
  /** Hosts besides loopback by which requests may name the server, such as the name of a container. */
  allowHost?: string | string[];
  /** URL that install links begin with, such as `https://cards.example.com`. Default: the origin. */
  publicUrl?: string;
  /** Keep the data in this file, a path. Default: a temporary file. */
  db?: string;
  /** Requests per minute of each API key. Default: 0, no limit. */
  rateLimit?: number;
  /** Real time in milliseconds that one attempt to deliver a webhook may take. Default: 10000. */
  webhookTimeout?: number;
  /** Refuse webhook targets that a real server refuses: those without https, and receivers of the fixture. */
  strictWebhookTargets?: boolean;
  /** Further flags of `punchcard dev`, such as `['--webhook-backoff-base=1s']`. */
  args?: string[];
  /** Variables of the environment for the server, besides those that programs need to run. */
  env?: Record<string, string>;
  /** Path of the program. Default: PUNCHCARD_BINARY, else the package for this platform. */
  binary?: string;
  /** Gets the log of the server: `true` writes it to standard error, a function gets each line. */
  log?: boolean | ((line: string) => void);
  /** Real time in milliseconds to wait for the server's start. Default: 30000. */
  startTimeout?: number;
}

type Kind = 'text' | 'boolean' | 'number' | 'time' | 'texts' | 'list' | 'map' | 'log';

/** The kind of value of each option, and the flag that it sets, if it sets one. */
const known: Record<keyof Options, [kind: Kind, flag?: string]> = {
  seed: ['text', '--seed'],
  history: ['boolean', '--history'],
  clock: ['time', '--clock'],
  deterministic: ['boolean', '--deterministic-ids'],
  listen: ['text', '--listen'],
  allowRemote: ['boolean', '--allow-remote'],
  allowHost: ['texts', '--allow-host'],
  publicUrl: ['text', '--public-url'],
  db: ['text', '--db'],
  rateLimit: ['number', '--api-key-rate-limit-per-minute'],
  webhookTimeout: ['number', '--webhook-delivery-timeout-ms'],
  strictWebhookTargets: ['boolean', '--strict-webhook-targets'],
  args: ['list'],
  env: ['map'],
  binary: ['text'],
  log: ['log'],
  startTimeout: ['number'],
};

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '' && !value.includes('\0');
const isList = (value: unknown) => Array.isArray(value) && value.every(isText);

const kinds: Record<Kind, [rule: string, holds: (value: unknown) => boolean]> = {
  text: ['a text that is not empty', isText],
  boolean: ['true or false', (value) => typeof value === 'boolean'],
  number: ['a whole number from 0', (value) => Number.isSafeInteger(value) && (value as number) >= 0],
  time: ['a Date or an ISO 8601 text', (value) => (isText(value) || value instanceof Date) && !Number.isNaN(+new Date(value))],
  texts: ['a text or a list of texts', (value) => isText(value) || isList(value)],
  list: ['a list of texts', isList],
  map: ['an object of texts', (value) => typeof value === 'object' && value !== null && Object.values(value).every((v) => typeof v === 'string')],
  log: ['true, false or a function', (value) => typeof value === 'boolean' || typeof value === 'function'],
};

/** Returns the arguments of the program. Throws a TypeError that names the option for an unknown name or a wrong value. */
export function argumentsOf(options: Options): string[] {
  const flags: Record<string, unknown> = { '--listen': '127.0.0.1:0', '--shutdown-timeout': '2s' };
  for (const [name, value] of Object.entries(options)) {
    const option = Object.hasOwn(known, name) ? known[name as keyof Options] : undefined;
    if (!option) {
      throw new TypeError(`punchcard-server: there is no option ${name}; there are ${Object.keys(known).join(', ')}`);
    }
    if (value === undefined) continue;
    const [kind, flag] = option;
    const [rule, holds] = kinds[kind];
    if (!holds(value)) throw new TypeError(`punchcard-server: the option ${name} must be ${rule}`);
    if (flag && value !== false) flags[flag] = kind === 'time' ? new Date(value).toISOString() : value;
  }
  const words = Object.entries(flags).map(([flag, value]) => (value === true ? flag : `${flag}=${value}`));
  return ['dev', '--exit-with-stdin', ...words, ...(options.args ?? [])];
}

/** Variables that programs need to run. Others, such as PUNCHCARD_DB of a shell, must not change a test. */
const passed = /^(PATH|HOME|USERPROFILE|TMPDIR|TMP|TEMP|SYSTEMROOT|LOCALAPPDATA|TZ|LANG|LC_ALL|SSL_CERT_(FILE|DIR)|GO[A-Z]+)$/i;

/** Returns the environment of the program. */
export function environmentOf(options: Options): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => passed.test(name));
  return { ...Object.fromEntries(own), ...options.env };
}
