import { spawn, type ChildProcess } from 'node:child_process';
import { binaryPath } from './binary';
import type { DevApi } from './clients';
import { argumentsOf, environmentOf, type Options } from './options';
import real from './real';

const keptLog = 16 * 1024; // characters of the end of the log, for errors
const closeTimeout = 5_000; // ms that the server has to end, of which it waits 2 s for requests

/** Returns what a ready line says. */
function readyOf(line: string): DevApi['Ready'] {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new Error(`punchcard-server: the program is not punchcard: its first line is ${JSON.stringify(line.slice(0, 200))}`, { cause });
  }
}

/** A server as a process of its own, which ends with this process, also if that is killed: the system then closes its standard input. */
export class ServerProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #log = '';
  /** Why the server has ended; undefined while it runs. */
  ended: string | undefined;

  private constructor(options: Options) {
    const args = argumentsOf(options);
    this.#child = spawn(binaryPath(options.binary), args, { stdio: 'pipe', env: environmentOf(options), windowsHide: true });
    this.#exited = new Promise((resolve) => {
      this.#child.once('error', (error) => this.#end(error.message, resolve));
      // The event close comes when the log was read to its end too.
      this.#child.once('close', (code, signal) => this.#end(`it ended with ${signal ?? `status ${code}`}`, resolve));
    });
    this.#child.stdin!.on('error', () => {}); // the server has ended, which the event close tells
    this.#child.stderr!.setEncoding('utf8').on('data', this.#write(options.log));
  }

  /** Starts a server and returns it with what its ready line says. */
  static async start(options: Options): Promise<[server: ServerProcess, ready: DevApi['Ready']]> {
    const server = new ServerProcess(options);
    try {
      const line = await server.#readLine(options.startTimeout ?? 30_000);
      const ready = readyOf(line);
      server.#hold(false);
      return [server, ready];
    } catch (error) {
      server.#child.kill('SIGKILL');
      throw error;
    }
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Ends the server and waits for its end. */
  async stop(): Promise<void> {
    if (this.ended !== undefined) return;
    this.#hold(true); // so that this process does not end before
    const kill = real.setTimeout(() => this.#child.kill('SIGKILL'), closeTimeout);
    this.#child.stdin!.end();
    await this.#exited;
    real.clearTimeout(kill);
  }

  /** Returns the error for a request that a server which has ended does not answer. */
  error(cause?: unknown): Error {
    return new Error(`punchcard-server: the server does not run: ${this.ended}\n${this.#log}`.trimEnd(), { cause });
  }

  #end(why: string, resolve: () => void): void {
    this.ended ??= why;
    resolve();
  }

  /** Says whether this process lives as long as the server. */
  #hold(held: boolean): void {
    const { stdin, stdout, stderr } = this.#child as unknown as Record<string, { ref?(): void; unref?(): void }>;
    for (const handle of [this.#child, stdin, stdout, stderr]) held ? handle?.ref?.() : handle?.unref?.();
  }

  #readLine(timeout: number): Promise<string> {
    let read = '';
    return new Promise((resolve, reject) => {
      const timer = real.setTimeout(() => {
        this.ended ??= `it was not ready within ${timeout} ms`;
        reject(this.error());
      }, timeout);
      this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
        read += text;
        const end = read.indexOf('\n');
        if (end < 0) return;
        real.clearTimeout(timer);
        resolve(read.slice(0, end));
      });
      void this.#exited.then(() => {
        real.clearTimeout(timer);
        reject(this.error());
      });
    });
  }

  /** Returns the function that gets the log. */
  #write(log: Options['log']): (text: string) => void {
    let rest = '';
    return (text) => {
      this.#log = (this.#log + text).slice(-keptLog);
      if (log === true) process.stderr.write(text);
      if (typeof log !== 'function') return;
      const lines = (rest + text).split('\n');
      rest = lines.pop()!;
      lines.forEach((line) => log(line));
    };
  }
}
