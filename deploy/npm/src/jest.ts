import { startPunchcard, type Options, type Punchcard } from './index';

type Hook = (run: () => Promise<void>, timeout?: number) => void;
type Hooks = Record<'beforeAll' | 'beforeEach' | 'afterAll', Hook>;

/** Returns the hooks of Jest, also where its option injectGlobals is off. */
function hooks(): Hooks {
  if ('beforeAll' in globalThis) return globalThis as unknown as Hooks;
  try {
    return require('@jest/globals') as Hooks;
  } catch (cause) {
    throw new Error('punchcard-server/jest: call usePunchcard in a file of tests that Jest runs', { cause });
  }
}

/**
 * Starts a server for the tests of this file or describe block, resets it before each of them and ends it after them.
 * Returns a function that returns the server, for use in tests and hooks.
 */
export function usePunchcard(options: Options = {}): () => Punchcard {
  const { beforeAll, beforeEach, afterAll } = hooks();
  let server: Punchcard | undefined;
  beforeAll(async () => {
    server = await startPunchcard(options);
  }, options.startTimeout ?? 30_000);
  beforeEach(() => server!.reset());
  afterAll(() => server?.close() ?? Promise.resolve());
  return () => {
    if (!server) throw new Error('punchcard-server/jest: the server starts before the first test; call this function in a test or hook');
    return server;
  };
}
