// A test of a shop system that knows its members: it keeps the id of each member's card and
// stamps by it, so nothing is scanned. Needs what Node 18 and later have built in.
//   PUNCHCARD=./punchcard node --test testdata/recipes/pos.test.mjs
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, beforeEach, test } from 'node:test';

// The shop system: what you would test. A sale is booked under its own UUID, so that it is
// booked once, however often it is sent.
class Sales {
  constructor(origin, key, device) {
    Object.assign(this, { origin, key, device });
  }

  async send(token, method, path, body) {
    const answer = await fetch(this.origin + path, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: body && JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json() };
  }

  // join issues the card of a new member; the id is what the shop system keeps.
  async join(program, member) {
    const { body } = await this.send(this.key, 'POST', `/api/public/v1/programs/${program}/cards`, { external_ref: member });
    return body.id;
  }

  // sell gives a stamp for each coffee. It tries again where it does not know what happened.
  async sell(card, coffees, sale) {
    for (let attempt = 0; ; attempt++) {
      const answer = await this.send(this.device, 'POST', `/till/v1/cards/${card}/stamps`, { count: coffees, client_reference: sale });
      if (answer.status < 500 || attempt === 2) return answer;
    }
  }
}

let server, ready, location;

before(async () => {
  server = spawn(process.env.PUNCHCARD ?? './punchcard', ['dev', '--listen', '127.0.0.1:0', '--exit-with-stdin']); // it ends with this process, also if that is killed
  let log = '';
  server.stderr.on('data', (text) => (log += text));
  const failed = once(server, 'close').then(() => { throw new Error(`the server did not start: ${log}`); });
  failed.catch(() => {}); // the server also ends after the tests, which is no failure
  const [line] = await Promise.race([once(createInterface(server.stdout), 'line'), failed]);
  ready = JSON.parse(line);
  [location] = ready.location_ids;
});
after(async () => {
  server.kill();
  await once(server, 'exit');
});
beforeEach(() => dev('POST', '/reset'));

async function dev(method, path, body) {
  const answer = await fetch(`${ready.origin}/dev${path}`, { method, headers: { 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
  return answer.status === 204 ? undefined : answer.json();
}

// A real server has such a device from: punchcard device create --accept-card-ids
async function sales(acceptCardIDs = true) {
  const device = await dev('POST', '/devices', { location_id: location, name: 'Shop system', accept_card_ids: acceptCardIDs });
  return new Sales(ready.origin, ready.api_key, device.token);
}

test('a sale is stamped by the id of the card', async () => {
  const shop = await sales();
  const card = await shop.join(ready.program_ids.standard, 'M-17');
  const sold = await shop.sell(card, 3, randomUUID());
  assert.equal(sold.status, 201);
  assert.equal(sold.body.card.stamps_count, 3);
});

test('a sale whose answer was lost is stamped once', async () => {
  const shop = await sales();
  const card = await shop.join(ready.program_ids.standard, 'M-17');
  await dev('POST', '/faults', { method: 'POST', path: '/cards/*/stamps', status: 503, when: 'after' });
  const sold = await shop.sell(card, 1, randomUUID());
  assert.equal(sold.body.card.stamps_count, 1);
  const { data } = await dev('GET', '/requests?kind=till&method=POST&path=/cards/*/stamps');
  assert.deepEqual(data.map((r) => r.response.status), [503, 201]);
});

test('a device that was not made for card ids is told so', async () => {
  const shop = await sales(false);
  const card = await shop.join(ready.program_ids.standard, 'M-17');
  const sold = await shop.sell(card, 1, randomUUID());
  assert.equal(sold.status, 422);
  assert.equal(sold.body.error.code, 'unprocessable_entity');
});
