import { test as base, type TestAPI } from 'vitest';
import { startPunchcard, type Options, type Punchcard } from './index.js';

export interface PunchcardFixtures {
  /** The server, as it was at its start when the test begins. */
  punchcard: Punchcard;
  /** The server of the worker, as earlier tests left it. */
  punchcardServer: Punchcard;
}

/** Returns a `test` with the fixture `punchcard`: one server for each worker of Vitest, reset before each test that uses it. */
export function punchcardTest(options: Options = {}): TestAPI<PunchcardFixtures> {
  return base.extend<PunchcardFixtures>({
    punchcardServer: [
      async ({}, use) => {
        const server = await startPunchcard(options);
        await use(server);
        await server.close();
      },
      { scope: 'worker' },
    ],
    punchcard: async ({ punchcardServer, onTestFailed }, use) => {
      await punchcardServer.reset();
      onTestFailed(async () => console.error(`punchcard answered:\n${await punchcardServer.journal()}`));
      await use(punchcardServer);
    },
  }) as TestAPI<PunchcardFixtures>;
}

/** `test` with a server that has the empty demo shop. */
export const test = punchcardTest();
