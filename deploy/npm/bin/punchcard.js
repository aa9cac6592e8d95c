#!/usr/bin/env node
// Runs the program of the package for this platform with the same arguments.
'use strict';
const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { binaryPath } = require('../dist/binary.js');

let binary;
try {
  binary = binaryPath();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
const child = spawn(binary, process.argv.slice(2), { stdio: 'inherit' });
// A terminal sends these to the program too, which bears them twice.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`punchcard-server: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
