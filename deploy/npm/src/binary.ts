import { accessSync, constants } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';

/** The platforms that have a package with the program, as `process.platform` and `process.arch` name them. */
export const platforms = ['linux-x64', 'linux-arm64', 'linux-arm', 'darwin-x64', 'darwin-arm64', 'win32-x64'];

/**
 * Returns the path of the program: `path` if it is given, else that of PUNCHCARD_BINARY, else that of the
 * package for this platform. Throws an error that says what to do if there is no such file.
 */
export function binaryPath(path?: string): string {
  const [source, chosen] = path ? ['the option binary', path] : ['PUNCHCARD_BINARY', process.env.PUNCHCARD_BINARY];
  if (chosen) {
    const whole = isAbsolute(chosen) ? chosen : resolve(chosen);
    try {
      accessSync(whole, constants.X_OK);
    } catch (cause) {
      throw new Error(`punchcard-server: ${source} is ${whole}, which is no program that can be run`, { cause });
    }
    return whole;
  }
  const platform = `${process.platform}-${process.arch}`;
  const name = `punchcard-server-${platform}`;
  if (!platforms.includes(platform)) {
    throw new Error(
      `punchcard-server: there is no package for ${platform}, only for ${platforms.join(', ')}; ` +
        'build the program and set PUNCHCARD_BINARY to its path',
    );
  }
  try {
    return require.resolve(`${name}/bin/punchcard${process.platform === 'win32' ? '.exe' : ''}`);
  } catch (cause) {
    throw new Error(
      `punchcard-server: the package ${name} with the program for this platform is not installed. ` +
        'Package managers leave it out with --omit=optional or --no-optional, and where node_modules was installed ' +
        'on another platform: install again without these, on this platform. Or set PUNCHCARD_BINARY to the path of the program',
      { cause },
    );
  }
}
