/** The result of one check of `doctor`, in one sentence. */
export interface Finding {
  /** The subject of the check: `Database`, `Migrations`. */
  check: string;
  level: 'ok' | 'warning' | 'problem';
  says: string;
  /** The remedy; every warning and problem has one. */
  fix?: string;
}

/** One line for each: the level, what was looked at, what was found, and the fix. */
export function report(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const count = (level: Finding['level']) => findings.filter((each) => each.level === level).length;
  const lines = findings.map(({ check, level, says, fix }) =>
    [level.padEnd(7), check.padEnd(width), fix ? `${says} Fix: ${fix}` : says].join('  '),
  );
  const summary = [counted(count('problem'), 'problem'), counted(count('warning'), 'warning'), `${count('ok')} ok.`];
  return [...lines, '', summary.join(', ')].join('\n');
}

/** `1 file`, `2 files`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** Makes the findings of one check. */
export function checkNamed(check: string) {
  return {
    ok: (says: string): Finding => ({ check, level: 'ok', says }),
    warning: (says: string, fix: string): Finding => ({ check, level: 'warning', says, fix }),
    problem: (says: string, fix: string): Finding => ({ check, level: 'problem', says, fix }),
  };
}
