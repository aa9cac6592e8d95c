// Writes the tests of a README into a folder: node readme.mjs README FOLDER
// A block of JavaScript or TypeScript whose first line is a comment with a name becomes that file.
// The others become one test each in snippets.test.mjs, with a server of its own as shop.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [readme, folder] = process.argv.slice(2);
const snippets = [];
for (const [, code] of readFileSync(readme, 'utf8').matchAll(/^```[jt]s\n(.*?)^```$/gms)) {
  const name = /^\/\/ (\S+\.\w+)\n/.exec(code)?.[1];
  if (name) {
    writeFileSync(join(folder, name), code);
    continue;
  }
  // The comment after an expression says what it is: `cards.length; // 2`.
  const checked = code
    .replace(/^import .*\n/gm, '')
    .replace(/^(.+); \/\/ (\d+|'.*'|\[.*\])(,.*)?$/gm, 'assert.deepEqual($1, $2);');
  snippets.push(`test('block ${snippets.length + 1}', async () => {\n  const shop = await startPunchcard();\n${checked}  await shop.close();\n});\n`);
}
writeFileSync(
  join(folder, 'snippets.test.mjs'),
  `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ok, startPunchcard } from 'punchcard-server';

${snippets.join('\n')}`,
);
