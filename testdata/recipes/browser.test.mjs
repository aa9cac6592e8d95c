// A test in a browser that signs in without a password and does what a person does on the
// pages. Needs Node 18 or later, playwright-core and a Chromium, whose path is in CHROMIUM.
//   npm install --no-save playwright-core
//   PUNCHCARD=./punchcard CHROMIUM=/usr/bin/chromium node --test testdata/recipes/browser.test.mjs
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, beforeEach, test } from 'node:test';
import { chromium } from 'playwright-core';

let server, ready, browser;

before(async () => {
  server = spawn(process.env.PUNCHCARD ?? './punchcard', ['dev', '--listen', '127.0.0.1:0', '--exit-with-stdin']); // it ends with this process, also if that is killed
  let log = '';
  server.stderr.on('data', (text) => (log += text));
  const failed = once(server, 'close').then(() => { throw new Error(`the server did not start: ${log}`); });
  failed.catch(() => {}); // the server also ends after the tests, which is no failure
  const [line] = await Promise.race([once(createInterface(server.stdout), 'line'), failed]);
  ready = JSON.parse(line);
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
});
after(async () => {
  await browser?.close();
  server.kill();
  await once(server, 'exit');
});
beforeEach(() => dev('POST', '/reset'));

async function dev(method, path, body) {
  const answer = await fetch(`${ready.origin}/dev${path}`, { method, headers: { 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
  return answer.json();
}

// open returns a page of a person who is signed in: owner, manager or viewer.
async function open(as, path) {
  const { cookie, token } = await dev('POST', '/sign-in', { as });
  const context = await browser.newContext();
  await context.addCookies([{ name: cookie, value: token, url: ready.origin, httpOnly: true, sameSite: 'Lax' }]);
  const page = await context.newPage();
  await page.goto(ready.origin + path);
  return page;
}

test('the owner finds the card that a member was issued', async () => {
  await fetch(`${ready.base_url}/programs/${ready.program_ids.standard}/cards`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${ready.api_key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ holder_name: 'Ada Lovelace' }),
  });
  const page = await open('owner', '/dashboard');
  await page.getByRole('link', { name: 'Cards', exact: true }).first().click();
  await page.getByRole('link', { name: 'Ada Lovelace' }).first().click();
  await page.getByRole('heading', { name: 'Ada Lovelace' }).first().waitFor();
});

test('nobody is signed in by chance', async () => {
  const page = await browser.newPage();
  await page.goto(`${ready.origin}/dashboard`);
  assert.equal(new URL(page.url()).pathname, '/sign-in');
  const { data } = await dev('GET', '/requests?kind=page&path=/dashboard');
  assert.deepEqual(data.map((r) => r.response.status), [303]);
  await page.close();
});
