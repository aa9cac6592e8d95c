// A test with what Node 18 and later have built in.
//   PUNCHCARD=./punchcard node --test testdata/recipes/shop.test.mjs
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { after, before, beforeEach, test } from 'node:test';

let server, ready, hooks, inbox;

before(async () => {
  server = spawn(process.env.PUNCHCARD ?? './punchcard', ['dev', '--listen', '127.0.0.1:0', '--exit-with-stdin']); // it ends with this process, also if that is killed
  let log = '';
  server.stderr.on('data', (text) => (log += text));
  const failed = once(server, 'close').then(() => { throw new Error(`the server did not start: ${log}`); });
  failed.catch(() => {}); // the server also ends after the tests, which is no failure
  const [line] = await Promise.race([once(createInterface(server.stdout), 'line'), failed]); // no port is guessed, nothing sleeps
  ready = JSON.parse(line);
  hooks = createServer(async (req, res) => {
    let body = '';
    for await (const chunk of req) body += chunk;
    inbox.push({ signature: req.headers['x-service-signature'], body });
    res.end();
  });
  hooks.listen(0, '127.0.0.1');
  await once(hooks, 'listening');
});
after(async () => {
  hooks.close();
  server.kill();
  await once(server, 'exit');
});
beforeEach(async () => {
  inbox = [];
  await dev('POST', '/reset');
});

async function call(url, key, method, body, headers = {}) {
  const res = await fetch(url, {
    method,
    headers: { ...(key && { Authorization: `Bearer ${key}` }), ...(body && { 'Content-Type': 'application/json' }), ...headers },
    body: body && JSON.stringify(body),
  });
  return { status: res.status, headers: res.headers, body: await res.json().catch(() => null) };
}
const api = (method, path, body, headers) => call(ready.base_url + path, ready.api_key, method, body, headers);
const till = (method, path, body) => call(ready.origin + '/till/v1' + path, ready.till_token, method, body);
const dev = (method, path, body) => call(ready.origin + '/dev' + path, '', method, body);
const issue = async (fields = { holder_name: 'Ada' }) => (await api('POST', `/programs/${ready.program_ids.standard}/cards`, fields)).body;

test('a stamp reaches the webhook, signed', async () => {
  const url = `http://127.0.0.1:${hooks.address().port}/hook`;
  const { secret } = (await api('POST', `/programs/${ready.program_ids.standard}/webhooks`, { url, events: ['stamp.assigned'] })).body;
  const card = await issue();
  await till('POST', `/cards/${card.id}/stamps`, { count: 2 });
  const { body: settled } = await dev('POST', '/settle'); // returns when it has arrived
  assert.deepEqual(settled, { delivered: 1, failed: 0, pending: 0 });
  const [{ signature, body }] = inbox;
  const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature);
  assert.equal(createHmac('sha256', secret).update(`${t}.${body}`).digest('hex'), v1);
  assert.equal(JSON.parse(body).event, 'stamp.assigned');
});

test('a failed delivery is tried again when its time has come', async () => {
  const { body: target } = await dev('POST', '/receiver', { status: 500 });
  await api('POST', `/programs/${ready.program_ids.standard}/webhooks`, { url: target.url, events: ['card.added'] });
  await issue();
  assert.equal((await dev('POST', '/settle')).body.failed, 1);
  await dev('PUT', `/receiver/${target.id}`, { status: 200 });
  await dev('POST', '/clock', { advance: '1m' });
  const { requests } = (await dev('GET', `/receiver/${target.id}`)).body;
  assert.equal(requests.length, 2);
  assert.equal(requests[0].body, requests[1].body);
});

test('a lost answer is asked for again, with the same key', async () => {
  await dev('POST', '/faults', { method: 'POST', path: '/programs/*/cards', status: 0, when: 'after' });
  const ask = () => api('POST', `/programs/${ready.program_ids.standard}/cards`, { external_ref: 'M-1' }, { 'Idempotency-Key': 'order-1' });
  await assert.rejects(ask); // the connection was cut
  const again = await ask();
  assert.equal(again.status, 201);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.equal((await api('GET', '/cards')).body.data.length, 1);
});

test('the journal is kind about a missing key', async () => {
  await issue({ external_ref: 'M-1' });
  await issue({ external_ref: 'M-1' });
  const { hints } = (await dev('GET', '/requests')).body;
  assert.equal(hints[0].code, 'repeated_without_idempotency_key');
});
