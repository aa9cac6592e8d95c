// Runs the steps of action.yml as a runner does, against a file server on loopback.
//   RELEASE=FOLDER VERSION=1.2.3 node --test action.test.mjs
// RELEASE has the archives and checksums.txt. The package yaml must be in a folder above.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';

const { RELEASE, VERSION, ACTION } = process.env;
const action = parse(readFileSync(join(ACTION, 'action.yml'), 'utf8'));
const work = mkdtempSync(join(process.env.TMPDIR ?? '/tmp', 'punchcard-action-'));
const running = new Set(); // ids of the servers that steps started
let files, base, cut = false, sums;

before(async () => {
  sums = readFileSync(join(RELEASE, 'checksums.txt'), 'utf8');
  files = createServer((request, response) => {
    const name = basename(request.url);
    if (!request.url.startsWith(`/${VERSION}/`) || !existsSync(join(RELEASE, name))) return response.writeHead(404).end();
    if (name === 'checksums.txt') return response.end(sums);
    createReadStream(join(RELEASE, name), cut ? { end: 1000 } : {}).pipe(response);
  });
  files.listen(0, '127.0.0.1');
  await once(files, 'listening');
  base = `http://127.0.0.1:${files.address().port}/{version}`;
});
after(() => {
  files.close();
  for (const pid of running) process.kill(pid);
  rmSync(work, { recursive: true });
});

// values reads a file of a runner: lines of NAME=VALUE.
const values = (file) => Object.fromEntries(readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => line.split(/=(.*)/s, 2)));

// job returns a job, whose steps share an environment.
function job() {
  const folder = mkdtempSync(join(work, 'job-'));
  const temp = join(folder, 'temp with a space');
  mkdirSync(temp);
  const job = { env: { PATH: process.env.PATH, HOME: folder, RUNNER_TEMP: temp, CI: 'true' }, log: '', masks: [] };

  // step runs a script as `shell: bash` does, and returns its outputs. It rejects if the script fails.
  job.step = async (script, env = {}) => {
    const names = ['GITHUB_OUTPUT', 'GITHUB_ENV', 'GITHUB_PATH'];
    const given = Object.fromEntries(names.map((name) => [name, join(folder, name)]));
    for (const file of [...Object.values(given)]) writeFileSync(file, '');
    writeFileSync(join(folder, 'script.sh'), script);
    const child = spawn('bash', ['--noprofile', '--norc', '-e', '-o', 'pipefail', join(folder, 'script.sh')], {
      cwd: folder, env: { ...job.env, ...given, ...env }, stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (job.log += text));
    const [code] = await once(child, 'close'); // also that nothing which goes on holds the step's output
    job.masks = [...job.log.matchAll(/^::add-mask::(.*)$/gm)].map(([, value]) => value);
    if (code !== 0) throw new Error(`a step ended with ${code}: ${job.log}`);
    Object.assign(job.env, values(given.GITHUB_ENV));
    for (const line of readFileSync(given.GITHUB_PATH, 'utf8').split('\n').filter(Boolean)) job.env.PATH = `${line}:${job.env.PATH}`;
    return values(given.GITHUB_OUTPUT);
  };

  // use runs the steps of the action with inputs, and returns its outputs.
  job.use = async (inputs) => {
    for (const name of Object.keys(inputs)) assert.ok(name in action.inputs, name);
    const context = {
      github: { action_path: ACTION },
      inputs: Object.fromEntries(Object.entries(action.inputs).map(([name, { default: value }]) => [name, inputs[name] ?? value])),
      steps: {},
    };
    const evaluate = (text) => text.replace(/\$\{\{ ([\w.-]+) \}\}/g, (_, path) => {
      const value = path.split('.').reduce((from, name) => from[name], context);
      assert.equal(typeof value, 'string', path);
      return value;
    });
    for (const { id, shell, run, env } of action.runs.steps) {
      assert.equal(shell, 'bash');
      assert.ok(!run.includes('${{'), 'an expression in a script lets inputs be commands');
      const outputs = await job.step(run, Object.fromEntries(Object.entries(env).map(([name, value]) => [name, evaluate(value)])));
      context.steps[id] = { outputs };
      if (outputs.pid) running.add(+outputs.pid);
    }
    return Object.fromEntries(Object.entries(action.outputs).map(([name, { value }]) => [name, evaluate(value)]));
  };
  return job;
}

const inputs = (more = {}) => ({ version: VERSION, 'base-url': base, ...more });

test('a later step uses the API and stops the server', async () => {
  const one = job();
  const outputs = await one.use(inputs({ arguments: '--clock=2026-03-01T09:00:00Z\n--access-log\n' }));
  const ready = JSON.parse(outputs.ready);
  assert.equal(outputs.origin, ready.origin);
  assert.equal(outputs['base-url'], one.env.PUNCHCARD_BASE_URL);
  for (const name of ['api_key', 'restricted_api_key', 'mcp_key', 'till_token', 'owner_password']) assert.ok(one.masks.includes(ready[name]), name);
  for (const secret of one.masks) {
    assert.ok(!one.log.replaceAll(/^::add-mask::.*$/gm, '').includes(secret), 'a secret is in the log');
  }
  const { status, clock, version, stamps } = await one.step(
    `curl -fsS -o card -w 'status=%{http_code}' -H "Authorization: Bearer $PUNCHCARD_API_KEY" -H 'Content-Type: application/json' \\
       -d '{"holder_name": "Ada"}' "$PUNCHCARD_BASE_URL/programs/$PROGRAM/cards" >>"$GITHUB_OUTPUT"
     echo >>"$GITHUB_OUTPUT"
     card=$(sed 's/.*"id":"\\(crd_[^"]*\\)".*/\\1/' card)
     punchcard till stamp "$card" --count 3
     echo "stamps=$(curl -fsS -H "Authorization: Bearer $PUNCHCARD_API_KEY" "$PUNCHCARD_BASE_URL/cards/$card" |
       sed 's/.*"stamps_count":\\([0-9]*\\).*/\\1/')" >>"$GITHUB_OUTPUT"
     echo "clock=$(curl -fsS "$PUNCHCARD_ORIGIN/dev/clock")" >>"$GITHUB_OUTPUT"
     echo "version=$(punchcard version)" >>"$GITHUB_OUTPUT"`,
    { PROGRAM: ready.program_ids.standard },
  );
  assert.equal(status, '201');
  assert.equal(stamps, '3');
  assert.match(clock, /2026-03-01T09:00:00/);
  assert.equal(version, `punchcard ${VERSION}`);

  const { hostname, port } = new URL(outputs.origin);
  const socket = connect(+port, hostname);
  await once(socket, 'connect');
  socket.on('error', () => {}); // the server may reset the connection when it ends
  const ended = new Promise((resolve) => socket.resume().once('close', resolve));
  running.delete(+outputs.pid);
  await one.step(`kill "$PUNCHCARD_PID"; grep -q 'request' '${outputs.log}'`);
  await ended;
});

test('a release that is not what it should be is refused', async () => {
  const good = sums;
  const refused = async (given, message) => {
    const one = job();
    await assert.rejects(one.use(given), message);
    assert.equal(one.env.PUNCHCARD_ORIGIN, undefined);
  };
  sums = good.replace(/^[0-9a-f]{64}/gm, '0'.repeat(64));
  await refused(inputs(), /::error title=punchcard::the release at .* cannot be installed/);
  await refused(inputs(), /the sum of .* is [0-9a-f]{64}, and checksums\.txt says 0{64}/);
  sums = good;
  cut = true;
  await refused(inputs(), /the sum of .*checksums\.txt says/);
  cut = false;
  await refused(inputs({ version: '9.9.9' }), /cannot be downloaded/);
  await refused(inputs({ version: '9.9.9', 'base-url': base.replace('{version}', VERSION) }), /not of version 9\.9\.9/);
  await refused(inputs({ version: '' }), /the input version is missing/);
  await refused(inputs({ version: '1;id' }), /the input version is not a version/);
  await refused(inputs({ key: 'ssh-ed25519 AAAA' }), /checksums\.txt\.sig cannot be downloaded/);
});

test('a server that does not start fails the step with its log', async () => {
  await assert.rejects(job().use(inputs({ arguments: '--seed=/none.json' })), /none\.json.*::error title=punchcard::the server did not start/s);
});

test('arguments are no commands', async () => {
  const one = job();
  await assert.rejects(one.use(inputs({ arguments: '--seed=$(touch hostile)\n' })), /touch hostile/);
  assert.ok(!existsSync(join(one.env.HOME, 'hostile')));
});
