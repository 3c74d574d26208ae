import { writeFileSync } from 'node:fs';
import type { SerializedError } from 'vitest';
import type { Reporter, TestModule, Vitest } from 'vitest/node';
import type { Count, Failure } from './test-count.ts';
import { isChosen } from './tier.ts';

/** A reporter of Vitest's: how many tests passed and failed, and which, as JSON into `--outputFile`; says which files took longest. */
export default class CountReporter implements Reporter {
  #vitest!: Vitest;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const of = (state: string) =>
      tests.filter((test) => test.result().state === state && (state !== 'skipped' || isChosen(test.tags)));
    const failures: Failure[] = [
      ...of('failed').map((test) => ({
        test: `${nameOf(test.module)} › ${test.fullName}`,
        why: (test.result().errors ?? []).map(({ message }) => message).join('\n'),
        file: fileOf(test.module),
      })),
      // A file that cannot even be loaded has no failed test; nor has an error outside of all tests.
      ...modules.flatMap((module) =>
        module.errors().map(({ message }) => ({ test: nameOf(module), why: message, file: fileOf(module) })),
      ),
      ...unhandled.map(({ message }) => ({ test: 'outside of all tests', why: message })),
    ];
    const count: Count = {
      passed: of('passed').length,
      failed: failures.length,
      skipped: of('skipped').length + of('pending').length,
      failures,
      files: [...new Set(of('passed').map(({ module }) => module.relativeModuleId))],
    };
    writeFileSync(String(this.#vitest.config.outputFile), JSON.stringify(count));
    const seconds = (module: TestModule) => Math.round(module.diagnostic().duration / 1000);
    const slowest = [...modules].sort((one, other) => seconds(other) - seconds(one)).slice(0, 20);
    console.log(`Slowest: ${slowest.map((module) => `${seconds(module)} s ${nameOf(module)}`).join(', ')}`);
  }
}

/** Vitest's arguments for it. */
export const reportInto = (file: string) => [
  '--reporter=dot',
  '--reporter=./scripts/testing/vitest-report.ts',
  `--outputFile=${file}`,
];

const fileOf = ({ project, relativeModuleId }: TestModule) => ({ on: project.name, path: relativeModuleId });
const nameOf = ({ project, relativeModuleId }: TestModule) => `[${project.name}] ${relativeModuleId}`;
