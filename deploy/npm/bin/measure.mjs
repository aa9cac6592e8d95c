// Measures the start and the reset of the server: node measure.mjs
// With --install SOURCE… also the time from an empty folder to the first passing test, where each
// SOURCE is what npm install takes.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const runs = 21;
const [flag, ...sources] = process.argv.slice(2);
if (flag === '--install' && sources.length > 0) {
  const folder = mkdtempSync(join(tmpdir(), 'punchcard-'));
  const begin = performance.now();
  const run = (command, ...args) => execFileSync(command, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  run('npm', 'init', '-y');
  run('npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', '--save-dev', ...sources);
  writeFileSync(
    join(folder, 'shop.test.mjs'),
    `import { test } from 'node:test';
    import { startPunchcard } from 'punchcard-server';
    test('a stamp', async () => {
      const shop = await startPunchcard();
      const card = await shop.issue(shop.programs.standard);
      if ((await shop.till.stamp(card.id)).card.stamps_count !== 1) throw new Error('no stamp');
    });`,
  );
  run(process.execPath, '--test', 'shop.test.mjs');
  console.log(`from an empty folder to the first passing test: ${((performance.now() - begin) / 1000).toFixed(1)} s`);
  rmSync(folder, { recursive: true });
} else if (flag !== undefined) {
  console.error('usage: measure.mjs [--install SOURCE…]');
  process.exit(2);
}

const { startPunchcard } = await import('../dist/index.js');
const starts = [], resets = [];
for (let i = 0; i < runs; i++) {
  const begin = performance.now();
  const shop = await startPunchcard();
  await shop.clock.now();
  starts.push(performance.now() - begin);
  const ready = performance.now();
  await shop.reset();
  resets.push(performance.now() - ready);
  await shop.close();
}
const median = (all) => all.sort((a, b) => a - b)[runs >> 1].toFixed(1);
console.log(`startPunchcard() to the first answer: ${median(starts)} ms; reset(): ${median(resets)} ms`);
