import { test as base } from '@playwright/test';
import { startPunchcard, type Options, type Punchcard } from './index';

export { expect } from '@playwright/test';

export interface PunchcardFixtures {
  /** The server, as it was at its start when the test begins. */
  punchcard: Punchcard;
  /** Signs the context of the test in to the dashboard. */
  signIn(as: 'owner' | 'manager' | 'viewer'): Promise<void>;
}

export interface PunchcardWorkerFixtures {
  /** Options of the server: `test.use({ punchcardOptions: { clock: '2026-01-31T09:00:00Z' } })`. */
  punchcardOptions: Options;
  /** The server of the worker, as earlier tests left it. */
  punchcardServer: Punchcard;
}

/** `test` with the fixtures: one server for each worker, reset before each test that uses it. */
export const test = base.extend<PunchcardFixtures, PunchcardWorkerFixtures>({
  punchcardOptions: [{}, { option: true, scope: 'worker' }],
  punchcardServer: [
    async ({ punchcardOptions }, use) => {
      const server = await startPunchcard(punchcardOptions);
      await use(server);
      await server.close();
    },
    { scope: 'worker' },
  ],
  punchcard: async ({ punchcardServer }, use, testInfo) => {
    await punchcardServer.reset();
    await use(punchcardServer);
    if (testInfo.status !== testInfo.expectedStatus) {
      await testInfo.attach('punchcard answered', { body: await punchcardServer.journal(), contentType: 'text/plain' });
    }
  },
  signIn: async ({ context, punchcard }, use) => {
    await use(async (as) => context.addCookies([await punchcard.signIn(as)]));
  },
});
