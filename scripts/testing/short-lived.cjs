/**
 * `npm test` has it loaded first by every process of Node that it starts. They live for seconds and never earn back what V8 spends on optimizing:
 * code that is hot needs four times longer to be taken for it, and WebAssembly (Prisma's query compiler) stays as it is first compiled.
 * Saves a fifth of their instructions.
 */
const { setFlagsFromString } = require('node:v8');

for (const flag of ['--interrupt-budget=500000', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'])
  setFlagsFromString(flag);
