import { afterEach, expect, vi } from 'vitest';
import { punchcardTest } from 'punchcard-server/vitest';

const test = punchcardTest({ clock: '2026-03-01T09:00:00Z' });
const origins = new Set<string>();
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

for (const name of ['first', 'second']) {
  test(`the ${name} test has an empty shop and the time of the start`, async ({ punchcard }) => {
    origins.add(punchcard.origin);
    expect(origins.size).toBe(1);
    expect((await punchcard.clock.now()).toISOString()).toBe('2026-03-01T09:00:00.000Z');
    expect((await punchcard.api.GET('/cards')).data?.data).toEqual([]);
    await punchcard.issue(punchcard.programs.standard);
    await punchcard.clock.advance('1d');
  });
}

test('fakes of the test do not reach the client', async ({ punchcard }) => {
  vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] });
  vi.stubGlobal('fetch', () => Promise.reject(new Error('a fake')));
  const hook = await punchcard.receiver();
  await punchcard.webhook(punchcard.programs.standard, hook.url);
  await punchcard.issue(punchcard.programs.standard);
  expect((await hook.wait('card.added')).json().data.source).toBe('api');
  hook.timeout = 1;
  await expect(hook.wait()).rejects.toThrow('within 1 ms');
});
