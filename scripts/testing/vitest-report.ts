import { writeFileSync } from 'node:fs';
import type { SerializedError } from 'vitest';
import { DefaultReporter, type TestModule, type TestRunEndReason, type TestSpecification } from 'vitest/node';
import type { Count, Failure } from './test-count.ts';
import { isChosen } from './tier.ts';
import { isWithout, PROGRAMS } from './without.ts';

type Task = Parameters<DefaultReporter['logFailedTask']>[0];

/** How far a run is. */
interface Progress {
  files: number;
  ofFiles: number;
  passed: number;
  failed: number;
  ms: number;
}

/**
 * A reporter of Vitest's: prints a line whenever another twentieth of the files is done, and each failure at once, with what its test
 * has written. At the end, how many tests passed and failed, and which, as JSON into `--outputFile`, and which files took longest.
 */
export default class CountReporter extends DefaultReporter {
  #progress: Omit<Progress, 'ms'> = { files: 0, ofFiles: 0, passed: 0, failed: 0 };

  constructor() {
    // What it would draw on a terminal moves on with the clock.
    super({ summary: false });
  }

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart(specifications);
    this.#progress.ofFiles = specifications.length;
  }

  protected override logFailedTask(task: Task): void {
    super.logFailedTask(task);
    const errors = task.result?.errors ?? [];
    // That of a test within is not one of the suite.
    if (errors.length === 0) return;
    this.#progress.failed++;
    const { projectName = '' } = task.file;
    this.error(`\nFAIL [${projectName}] ${this.getFullName(task, ' › ')}`);
    for (const error of errors)
      this.ctx.logger.printError(error, { project: this.ctx.getProjectByName(projectName), task });
  }

  protected override printTestModule(module: TestModule): void {
    const progress = this.#progress;
    progress.files++;
    progress.passed += [...module.children.allTests('passed')].length;
    if (isTwentieth(progress)) this.log(progressLine({ ...progress, ms: performance.now() - this.start }));
  }

  /** Without the failures: they are printed. */
  override reportSummary(...[files, errors]: Parameters<DefaultReporter['reportSummary']>): void {
    if (errors.length > 0) this.ctx.logger.printUnhandledErrors(errors);
    this.reportTestSummary(files, errors, 0);
  }

  override onTestRunEnd(
    modules: readonly TestModule[],
    unhandled: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    super.onTestRunEnd(modules, unhandled, reason);
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const of = (state: string) =>
      tests.filter((test) => test.result().state === state && (state !== 'skipped' || isChosen(test.tags)));
    const failures: Failure[] = [
      ...of('failed').map((test) => ({
        test: `${nameOf(test.module)} › ${test.fullName}`,
        why: (test.result().errors ?? []).map(({ message }) => message).join('\n'),
        file: fileOf(test.module),
      })),
      // A file that cannot even be loaded has no failed test; nor have a set-up that breaks, and an error outside of all tests.
      ...modules.flatMap((module) =>
        [module, ...module.children.allSuites()].flatMap((each) => {
          const test = each.type === 'suite' ? `${nameOf(module)} › ${each.fullName}` : nameOf(module);
          return each.errors().map(({ message }) => ({ test, why: message, file: fileOf(module) }));
        }),
      ),
      ...unhandled.map(({ message }) => ({ test: 'outside of all tests', why: message })),
    ];
    const skipped = [...of('skipped'), ...of('pending')];
    const count: Count = {
      passed: of('passed').length,
      failed: failures.length,
      skipped: skipped.length,
      failures,
      files: [...new Set(of('passed').map(({ module }) => module.relativeModuleId))],
      lacking: skipped.flatMap(({ tags, module }) => {
        const program = PROGRAMS.find((one) => isWithout(one) && tags.includes(one));
        return program ? [{ program, file: module.relativeModuleId }] : [];
      }),
    };
    writeFileSync(String(this.ctx.config.outputFile), JSON.stringify(count));
    const seconds = (module: TestModule) => Math.round(module.diagnostic().duration / 1000);
    const slowest = [...modules].sort((one, other) => seconds(other) - seconds(one)).slice(0, 20);
    console.log(`Slowest: ${slowest.map((module) => `${seconds(module)} s ${nameOf(module)}`).join(', ')}`);
  }
}

/** True for the file with which another twentieth of them is done. */
export function isTwentieth({ files, ofFiles }: Pick<Progress, 'files' | 'ofFiles'>): boolean {
  const twentieths = (done: number) => Math.floor((20 * done) / ofFiles);
  return twentieths(files) > twentieths(files - 1);
}

export function progressLine({ files, ofFiles, passed, failed, ms }: Progress): string {
  const tests = `${passed.toLocaleString('en')} tests passed, ${failed} failed`;
  return `  ${files} of ${ofFiles} files, ${tests}, ${(ms / 60_000).toFixed(1)} min`;
}

const fileOf = ({ project, relativeModuleId }: TestModule) => ({ on: project.name, path: relativeModuleId });
const nameOf = ({ project, relativeModuleId }: TestModule) => `[${project.name}] ${relativeModuleId}`;
