// Tests of what the README says besides its examples, for Node and Bun.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { binaryPath, ok, PunchcardError, startPunchcard } from 'punchcard-server';

const require = createRequire(import.meta.url);
const launcher = join(import.meta.dirname, 'node_modules/punchcard-server/bin/punchcard.js');

// run starts a program, and returns it with what it writes and its end.
function run(args, options = {}) {
  const child = spawn(process.execPath, args, { cwd: import.meta.dirname, ...options });
  let errors = '';
  child.stderr.on('data', (text) => (errors += text));
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, errors }));
  return { child, ended, line: async () => (await once(createInterface(child.stdout), 'line'))[0] };
}

// connected returns the end of a connection to a server, which tells that the server has ended.
async function connected(origin) {
  const { hostname, port } = new URL(origin);
  const socket = connect(+port, hostname);
  await once(socket, 'connect');
  socket.on('error', () => {}); // the server may reset the connection when it ends
  return { ended: new Promise((resolve) => socket.resume().once('close', resolve)) };
}

// starts is a program that starts a server and prints its origin; then is what it does afterwards.
const starts = (then = '') => `import('punchcard-server').then(async ({ startPunchcard }) => {
  console.log((await startPunchcard()).origin);
  ${then}
})`;

// The time-outs are for servers that never end.
test('the server ends when its process is killed', { timeout: 60_000 }, async () => {
  const { child, ended, line } = run(['-e', starts('setInterval(() => {}, 1e6)')]);
  const server = await connected(await line());
  child.kill('SIGKILL');
  assert.equal((await ended).signal, 'SIGKILL');
  await server.ended;
});

test('a server that nobody closes does not keep its process', { timeout: 60_000 }, async () => {
  const { ended } = run(['-e', starts()], { stdio: ['ignore', 'ignore', 'pipe'] });
  assert.deepEqual(await ended, { code: 0, signal: null, errors: '' });
});

test('import and require give the same', () => {
  assert.equal(require('punchcard-server').startPunchcard, startPunchcard);
  assert.match(require('punchcard-server/package.json').version, /^\d/);
});

test('options are checked', async () => {
  const refused = [
    [{ seeds: 'x' }, /there is no option seeds; there are seed, /],
    [{ toString: 'x' }, /there is no option toString/],
    [{ seed: '' }, /the option seed must be a text that is not empty/],
    [{ seed: 'a\0b' }, /the option seed must be/],
    [{ history: 'yes' }, /the option history must be true or false/],
    [{ clock: 'tomorrow' }, /the option clock must be a Date or an ISO 8601 text/],
    [{ rateLimit: -1 }, /the option rateLimit must be a whole number/],
    [{ allowHost: [1] }, /the option allowHost must be/],
    [{ env: { A: 1 } }, /the option env must be/],
    [{ log: 'x' }, /the option log must be/],
  ];
  for (const [options, message] of refused) await assert.rejects(startPunchcard(options), { name: 'TypeError', message });
});

test('a server that does not start says why', async () => {
  await assert.rejects(startPunchcard({ seed: '/none.json' }), /the server does not run: it ended with status 1\n.*none\.json/s);
  await assert.rejects(startPunchcard({ listen: '0.0.0.0:0' }), /allow-remote/);
  await assert.rejects(startPunchcard({ args: ['--none'] }), /--none/);
  await assert.rejects(startPunchcard({ startTimeout: 0 }), /not ready within 0 ms/);
  await assert.rejects(startPunchcard({ binary: '/none' }), /the option binary is \/none/);
  await assert.rejects(startPunchcard({ binary: '/bin/echo' }), /the program is not punchcard: its first line is "dev /);
});

test('the environment changes nothing, but for env', async () => {
  Object.assign(process.env, { PUNCHCARD_LISTEN: 'none', PUNCHCARD_SEED: '/none.json' });
  const shop = await startPunchcard();
  await shop.close();
  await assert.rejects(startPunchcard({ env: { PUNCHCARD_SEED: '/none.json' } }), /none\.json/);
  delete process.env.PUNCHCARD_LISTEN;
  delete process.env.PUNCHCARD_SEED;
});

test('PUNCHCARD_BINARY is the program', async () => {
  const own = binaryPath();
  try {
    process.env.PUNCHCARD_BINARY = '/none';
    assert.throws(() => binaryPath(), /PUNCHCARD_BINARY is \/none, which is no program that can be run/);
    process.env.PUNCHCARD_BINARY = own;
    assert.equal(binaryPath(), own);
  } finally {
    delete process.env.PUNCHCARD_BINARY;
  }
});

test('a missing package is named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'punchcard-'));
  try {
    for (const name of ['punchcard-server', 'openapi-fetch']) {
      cpSync(join(import.meta.dirname, 'node_modules', name), join(folder, 'node_modules', name), { recursive: true });
    }
    const name = `punchcard-server-${process.platform}-${process.arch}`;
    const expected = new RegExp(`the package ${name} with the program for this platform is not installed`);
    const started = await run(['-e', starts()], { cwd: folder }).ended;
    assert.notEqual(started.code, 0);
    assert.match(started.errors, expected);
    const launched = await run([join(folder, 'node_modules/punchcard-server/bin/punchcard.js'), 'version']).ended;
    assert.equal(launched.code, 1);
    assert.match(launched.errors, expected);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the launcher passes arguments, status and signals', async () => {
  const version = run([launcher, 'version']);
  assert.equal(await version.line(), `punchcard ${require('punchcard-server/package.json').version}`);
  assert.equal((await version.ended).code, 0);
  assert.notEqual((await run([launcher, 'none']).ended).code, 0);
  const { child, ended, line } = run([launcher, 'dev', '--listen', '127.0.0.1:0']);
  const server = await connected(JSON.parse(await line()).origin);
  child.kill('SIGTERM');
  await server.ended;
  assert.equal((await ended).signal, null);
});

test('options reach the server', async () => {
  const lines = [];
  const shop = await startPunchcard({
    seed: join(import.meta.dirname, 'coffee-shop.json'),
    clock: new Date('2026-03-01T09:00:00Z'),
    publicUrl: 'https://cards.example.com',
    rateLimit: 1,
    history: false,
    strictWebhookTargets: false,
    log: (line) => lines.push(line),
  });
  assert.equal((await shop.clock.now()).toISOString(), '2026-03-01T09:00:00.000Z');
  assert.equal((await shop.clock.set('2026-03-02T09:00:00Z')).toISOString(), '2026-03-02T09:00:00.000Z');
  assert.equal((await shop.clock.advance(1500)).toISOString(), '2026-03-02T09:00:01.500Z');
  await assert.rejects(shop.clock.set('2026-03-01T09:00:00Z'), PunchcardError);
  assert.ok(Object.values(shop.refs).includes(shop.programs.standard));
  const card = await shop.issue(shop.programs.standard);
  assert.match(card.install_url, /^https:\/\/cards\.example\.com\//);
  await assert.rejects(shop.card(card.id), { status: 429, code: 'rate_limited' });
  await shop.close();
  await shop.close();
  assert.ok(lines.some((line) => line.includes('punchcard is ready')));
  await assert.rejects(shop.card(card.id), /the server does not run: it ended with status 0/);
});

test('refusals name the request and the fields', async () => {
  const shop = await startPunchcard();
  const error = await shop.issue(shop.programs.standard, { holder_email: 'nobody' }).catch((e) => e);
  assert.ok(error instanceof PunchcardError);
  assert.equal(error.status, 400);
  assert.equal(error.code, 'validation_failed');
  assert.equal(error.details[0].field, 'holder_email');
  assert.match(error.requestId, /./);
  assert.match(error.message, /^POST \/api\/public\/v1\/programs\/.*: 400 validation_failed: .*holder_email/);
  await shop.faults.add({ status: 502, body: '<html>', content_type: 'text/html' });
  await assert.rejects(shop.card('crd_none'), { status: 502, code: '' });
  await shop.faults.add({ status: 0 });
  await assert.rejects(shop.issue(shop.programs.standard), Error);
  assert.deepEqual(await shop.faults.list(), []);
  await shop.faults.add({ status: 503, until_cleared: true });
  await shop.faults.clear();
  assert.equal((await ok(shop.api.GET('/me'))).shop.id, shop.ready.shop_id);
  const { data } = await shop.requests({ path: '/programs/*/cards' });
  assert.deepEqual(data.map((r) => 'response' in r && r.response.status), [400, 0]);
  await shop.close();
});

test('tills, receivers and phones', async () => {
  const shop = await startPunchcard();
  const [standard, prepaid, access] = [shop.programs.standard, shop.programs.prepaid, shop.programs.access];
  const hook = await shop.receiver();
  await shop.webhook(standard, hook.url, 'card.added', 'prize.redeemed', 'value.changed');
  const card = await shop.issue(standard);
  const till = await shop.newTill(shop.locations[1]);
  await till.stamp(card.id, 10);
  const { prizes } = await till.lookup(card.id);
  await till.redeem(card.id, prizes.find((p) => p.available).id);
  const money = await shop.issue(prepaid);
  const before = (await shop.card(money.id)).current_value;
  await till.topUp(money.id, 500);
  assert.equal((await till.spend(money.id, 200)).card.current_value, before + 300);
  assert.equal((await till.use((await shop.issue(access)).id)).transaction.type, 'access');
  assert.equal((await hook.wait('prize.redeemed')).json().data.card_instance_id, card.id);
  assert.equal((await hook.wait('value.changed')).json().data.delta, 500);
  assert.equal((await hook.wait('value.changed')).json().data.delta, -200);
  assert.equal((await hook.wait()).event, 'card.added');
  assert.equal((await shop.settle()).pending, 0);
  const journal = await shop.journal();
  assert.match(journal, /^  POST 201  \/till\/v1\/cards\/.*\/spends$/m);
  assert.match(journal, /^  WEBHOOK 200  value\.changed to http.*, attempt 1$/m);
  const replayed = await hook.replay((await shop.receiver()).url, { order: 'reversed', event: 'card.added' });
  assert.equal(replayed.length, 3);
  await hook.clear();
  assert.deepEqual(await hook.deliveries(), []);
  hook.timeout = 1;
  await assert.rejects(hook.wait('card.used'), /no delivery of card\.used within 1 ms; there came nothing/);

  const phone = shop.phone('google');
  await assert.rejects(phone.passes(), /no card was added/);
  const pass = await phone.add(card.id);
  assert.equal(pass.card, card.id);
  phone.timeout = 1;
  await assert.rejects(phone.wait(card.id, 'count', '7/10'), /no pass of .* has the count "7\/10" within 1 ms; the phone has /);
  assert.equal((await shop.signIn('owner')).url, shop.origin);
  assert.deepEqual(await shop.emails(), []);

  await shop.reset();
  await assert.rejects(hook.wait(), /the server was reset after this receiver was made/);
  await assert.rejects(phone.passes(), /the server was reset after this phone was made/);
  await assert.rejects(till.stamp(card.id), { status: 401 });
  assert.deepEqual((await ok(shop.api.GET('/cards'))).data, []);
  await shop.close();
});
