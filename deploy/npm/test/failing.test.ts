// A test that fails, whose output must show what the server answered.
import { test } from 'punchcard-server/vitest';

test('a refused card', async ({ punchcard }) => {
  await punchcard.issue(punchcard.programs.standard, { holder_email: 'nobody' });
});
