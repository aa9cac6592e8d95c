// A registry on loopback with the .tgz files of folders: node registry.mjs FOLDER…
// It prints its URL and ends with its standard input.
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

const packages = new Map();
const files = new Map();
for (const folder of process.argv.slice(2)) {
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.tgz'))) {
    const path = join(folder, name);
    const manifest = JSON.parse(execFileSync('tar', ['-xzOf', path, 'package/package.json'], { encoding: 'utf8' }));
    files.set(`/-/${name}`, path);
    packages.set(`/${manifest.name}`, { manifest, name, integrity: `sha512-${createHash('sha512').update(readFileSync(path)).digest('base64')}` });
  }
}
const server = createServer((request, response) => {
  const path = decodeURIComponent(request.url);
  const found = packages.get(path);
  if (files.has(path)) return response.end(readFileSync(files.get(path)));
  if (!found) return response.writeHead(404).end('{}');
  const { manifest, name, integrity } = found;
  const version = { ...manifest, dist: { tarball: `http://${request.headers.host}/-/${name}`, integrity } };
  response.end(JSON.stringify({ name: manifest.name, 'dist-tags': { latest: manifest.version }, versions: { [manifest.version]: version } }));
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.resume().on('end', () => process.exit());
