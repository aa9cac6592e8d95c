// What the tests of this folder share: a server, and a proxy for clients that send no key.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { createInterface } from 'node:readline';

export const binary = process.env.PUNCHCARD ?? './punchcard';

// startServer starts `punchcard dev` without limits of calls. ready is its ready line.
export async function startServer() {
  const limits = ['--mcp-key-rate-limit-per-minute', '0', '--mcp-key-daily-call-budget', '0'];
  const server = spawn(binary, ['dev', '--listen', '127.0.0.1:0', ...limits], { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  server.stderr.on('data', (text) => (log += text));
  const ended = once(server, 'exit');
  const failed = ended.then(() => { throw new Error(`the server ended: ${log}`); });
  failed.catch(() => {}); // the server also ends after the tests, which is no failure
  const [line] = await Promise.race([once(createInterface(server.stdout), 'line'), failed]);
  const ready = JSON.parse(line);
  const stop = async () => {
    server.kill();
    const [code] = await ended;
    if (code !== 0) throw new Error(`the server ended with ${code}: ${log}`);
  };
  return { ready, url: `${ready.origin}/mcp`, stop };
}

// startProxy starts a proxy that adds the key to requests.
export async function startProxy(ready) {
  const origin = new URL(ready.origin);
  const proxy = createServer((req, res) => {
    const headers = { ...req.headers, authorization: `Bearer ${ready.mcp_key}` };
    const forwarded = request({ host: origin.hostname, port: origin.port, method: req.method, path: req.url, headers, agent: false }, (answer) => {
      res.writeHead(answer.statusCode, answer.headers);
      answer.pipe(res);
    });
    forwarded.on('error', () => res.destroy());
    res.on('close', () => res.writableFinished || forwarded.destroy());
    req.pipe(forwarded);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return { url: `http://127.0.0.1:${proxy.address().port}/mcp`, stop: () => { proxy.close(); proxy.closeAllConnections(); } };
}

// run runs a script of a package and returns its exit code and output.
export async function run(script, options, ...args) {
  const p = spawn(process.execPath, [script, ...args], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '', stderr = '';
  p.stdout.on('data', (text) => (stdout += text));
  p.stderr.on('data', (text) => (stderr += text));
  const [code] = await once(p, 'close');
  return { code, stdout, stderr };
}
