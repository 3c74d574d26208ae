import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { complaints } from './env.ts';

const read = (file: string) => readFileSync(`docs/${file}`, 'utf8');
const guide = read('observability.md');

/** The plain part of YAML that the rules keep to: anything else is an error here, and may mean something else elsewhere. */
function rulesOf(yaml: string): Record<string, string>[] {
  const rules: Record<string, string>[] = [];
  let folded: { field: string; indent: number } | undefined;
  for (const line of yaml.split('\n')) {
    const [, spaces = '', rest = ''] = /^( *)(.*)$/.exec(line) ?? [];
    const rule = rules.at(-1) ?? {};
    if (folded && spaces.length > folded.indent) {
      rule[folded.field] = `${rule[folded.field]} ${rest}`.trim();
      continue;
    }
    folded = undefined;
    if (rest === '' || rest.startsWith('#')) continue;
    const [, dash, field = '', value = ''] = /^(- )?([a-z]+):(?: (.+))?$/.exec(rest) ?? [];
    expect(field, `"${line}" is no plain line`).not.toBe('');
    expect(spaces.length % 2, line).toBe(0);
    // Within a plain scalar these begin a mapping, a comment or a quoted text.
    if (value !== '>-') expect(value, line).not.toMatch(/: | #|^[{["'&*!|>%@`]/);
    if (dash && field === 'alert') rules.push({ alert: value });
    else if (rules.length > 0) rule[field] = value === '>-' ? '' : value;
    if (value === '>-') folded = { field, indent: spaces.length };
  }
  return rules;
}

test('every alert says when, how grave and where to read on, and its runbook is there', () => {
  const rules = rulesOf(read('observability/alerts.yml'));
  expect(rules.length).toBeGreaterThanOrEqual(5);
  const headings = [...guide.matchAll(/^### (\w+)$/gm)].map(([, heading]) => heading);
  expect(rules.map(({ alert }) => alert)).toEqual(headings);
  for (const { alert = '', expr = '', for: wait, severity, summary, runbook } of rules) {
    expect(expr, alert).toMatch(/(idempotent|outbox|inbox)_\w+/);
    for (const [open, close] of ['()', '{}', '[]']) {
      expect(expr.split(open as string).length, alert).toBe(expr.split(close as string).length);
    }
    expect(wait, alert).toMatch(/^\d+m$/);
    expect(severity, alert).toMatch(/^(page|ticket)$/);
    expect(summary, alert).toMatch(/^\S.{20,}/);
    expect(runbook, alert).toBe(`docs/observability.md#${alert.toLowerCase()}`);
  }
});

test('the dashboard asks, in each panel, for a metric that the guide tells of', () => {
  const { panels, templating } = JSON.parse(read('observability/grafana.json'));
  const told = [...guide.matchAll(/`((?:idempotent|outbox|inbox)\.[a-z_.]+)`/g)].map(([, name]) =>
    (name as string).replaceAll('.', '_'),
  );
  const variables = templating.list.map(({ name }: { name: string }) => name);
  expect(new Set(panels.map(({ id }: { id: number }) => id)).size).toBe(panels.length);
  for (const { title, description, targets } of panels) {
    expect(description, title).toMatch(/^\S.{20,}\.$/);
    for (const { expr } of targets) {
      const names = [...expr.matchAll(/\b(?:idempotent|outbox|inbox)_[a-z_]+/g)].map(([name]) =>
        name.replace(/_(total|bucket|count|sum)$/, ''),
      );
      expect(names.length, title).toBeGreaterThan(0);
      for (const name of names) expect(told, title).toContain(name);
      for (const [, name] of expr.matchAll(/\$(\w+)/g)) expect([...variables, '__rate_interval']).toContain(name);
    }
  }
});

test('X2 without a token for the metrics the shop does not start', () => {
  expect(complaints({}).join('\n')).toContain('METRICS_TOKEN is not set.');
  expect(complaints({ METRICS_TOKEN: 'the token of the metrics' }).join('\n')).not.toContain('METRICS_TOKEN');
});
