// Uses a server with the clients of others: the SDK of TypeScript over HTTP and through the
// relay, and the inspector's command line.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { binary, run, startServer } from './server.mjs';

// Of all tools, as the server's own test of the list has them.
const names = JSON.parse(readFileSync('tools_list.json')).result.tools.map((t) => t.name);

let server;

before(async () => { server = await startServer(); });
after(async () => { await server.stop(); });

const overHTTP = (key = server.ready.mcp_key) => new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: { Authorization: `Bearer ${key}` } } });
const overRelay = () => new StdioClientTransport({ command: binary, args: ['mcp', '--url', server.url], env: { PUNCHCARD_MCP_KEY: server.ready.mcp_key } });

// use does everything that a client of the SDK can do.
async function use(transport) {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  try {
    assert.equal(client.getServerVersion().name, 'punchcard');
    assert.match(client.getInstructions(), /Begin with get_overview/);
    assert.deepEqual(Object.keys(client.getServerCapabilities()).sort(), ['prompts', 'resources', 'tools']);
    await client.ping();

    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((t) => t.name), names);
    for (const t of tools) assert.equal(typeof t.annotations.readOnlyHint, 'boolean', t.name);

    const program = server.ready.program_ids.standard;
    const call = (name, args) => client.callTool({ name, arguments: args });
    const overview = await call('get_overview', {});
    assert.ok(!overview.isError);
    assert.deepEqual(JSON.parse(overview.content[0].text), overview.structuredContent);

    const issued = await call('issue_cards', { program_id: program, cards: [{ holder_name: 'Ada' }], idempotency_key: `client ${transport.constructor.name}` });
    const { id } = issued.structuredContent.cards[0];
    assert.equal((await call('get_card', { id })).structuredContent.holder_name, 'Ada');
    const many = { program_id: program, cards: Array.from({ length: 11 }, () => ({})) };
    const impact = (await call('issue_cards', many)).structuredContent;
    assert.ok(impact.confirmation_required);
    const made = (await call('issue_cards', { ...many, confirm_token: impact.confirm_token })).structuredContent;
    assert.equal(made.issued, 11);

    const refused = await call('get_card', { id: 'crd_none' });
    assert.ok(refused.isError);
    assert.equal(refused.structuredContent.code, 'not_found');
    assert.equal((await call('find_cards', { nothing: 1 })).structuredContent.details[0].code, 'unknown_field');
    await assert.rejects(call('no_such_tool', {}), { code: -32602 });

    assert.equal((await client.listResources()).resources.length, 3);
    assert.equal((await client.listResourceTemplates()).resourceTemplates[0].uriTemplate, 'punchcard://programs/{id}');
    for (const uri of ['punchcard://shop', 'punchcard://events', 'punchcard://errors', `punchcard://programs/${program}`]) {
      const { contents } = await client.readResource({ uri });
      assert.equal(typeof JSON.parse(contents[0].text), 'object', uri);
    }
    await assert.rejects(client.readResource({ uri: 'punchcard://nothing' }), { code: -32602 });

    assert.equal((await client.listPrompts()).prompts[0].name, 'weekly_report');
    const prompt = await client.getPrompt({ name: 'weekly_report', arguments: { week_of: '2026-03-02' } });
    assert.match(prompt.messages[0].content.text, /2026-03-02/);
    await assert.rejects(client.getPrompt({ name: 'weekly_report', arguments: { week_of: 'soon' } }), { code: -32602 });
  } finally {
    await client.close();
  }
}

test('the SDK over HTTP', () => use(overHTTP()));
test('the SDK over stdio, by the relay', () => use(overRelay()));

test('a wrong key is refused', async () => {
  const client = new Client({ name: 'test', version: '1' });
  await assert.rejects(client.connect(overHTTP(`tmk_test_${'x'.repeat(43)}`)), /unauthenticated/);
  await client.close();
});

test("the inspector's command line", async () => {
  const folder = 'node_modules/@modelcontextprotocol/inspector-cli/build'; // where it looks for its package.json
  const inspect = async (...args) => {
    const r = await run('cli.js', { cwd: folder }, '--cli', server.url, '--transport', 'http', '--header', `Authorization: Bearer ${server.ready.mcp_key}`, '--method', ...args);
    assert.equal(r.code, 0, r.stderr);
    return JSON.parse(r.stdout);
  };
  assert.deepEqual((await inspect('tools/list')).tools.map((t) => t.name), names);
  const called = await inspect('tools/call', '--tool-name', 'get_programs', '--tool-arg', `id=${server.ready.program_ids.standard}`);
  assert.equal(called.structuredContent.id, server.ready.program_ids.standard);
});
