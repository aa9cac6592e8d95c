// Runs the conformance suite of the protocol against a server. Failures are those that
// not-offered.yml lists; one that is listed and passes is a failure too.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { run, startProxy, startServer } from './server.mjs';

let server, proxy;

before(async () => {
  server = await startServer();
  proxy = await startProxy(server.ready);
});
after(async () => {
  proxy.stop();
  await server.stop();
});

// The last of these is the first version without sessions. at is the least number of checks
// that pass, so that a suite that tests nothing does not pass.
for (const [version, at] of [['2025-06-18', 31], ['2025-11-25', 37], ['2026-07-28', 92]]) {
  test(`the suite of ${version}`, async (t) => {
    const r = await run('node_modules/@modelcontextprotocol/conformance/dist/index.js', {}, 'server', '--url', proxy.url, '--suite', 'all', '--spec-version', version, '--expected-failures', `not-offered-${version}.yml`);
    const summary = r.stdout.slice(r.stdout.indexOf('=== SUMMARY ==='));
    assert.equal(r.code, 0, summary + r.stderr);
    const [, passed] = summary.match(/Total: (\d+) passed/);
    t.diagnostic(`${passed} checks pass`);
    assert.ok(passed >= at, summary);
  });
}
