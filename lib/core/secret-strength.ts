import { hash } from 'node:crypto';
import { ELSEWHERE, isProduction } from './environment.ts';
import { assertSetUp } from './errors.ts';

const LEAST = 16;
const LEAST_DIFFERENT = 5;
const MAKE = `Make one with: openssl rand -base64 32. ${ELSEWHERE}`;

/**
 * Why a secret can be guessed, as the end of a sentence that begins with its name; undefined for one that cannot. It tells
 * nothing of the secret. `least`: how many characters it must have.
 */
export function weaknessOf(secret: string, least = LEAST): string | undefined {
  const own = ownPart(secret);
  if (own.length < least) return `is shorter than ${least} characters`;
  if (new Set(own).size < LEAST_DIFFERENT) return `has fewer than ${LEAST_DIFFERENT} different characters`;
  return repeats(own) ? 'repeats itself' : undefined;
}

/**
 * A sentence for each secret that can be guessed, and for each two that are one; none when all are well. No sentence tells
 * a secret. `least`: how many characters a secret of that name must have, where that is more than 16.
 */
export function secretProblems(
  named: Readonly<Record<string, readonly string[]>>,
  least: Readonly<Record<string, number>> = {},
): string[] {
  const found: string[] = [];
  const names = new Map<string, string>();
  for (const [name, values] of Object.entries(named)) {
    for (const [index, value] of values.entries()) {
      const weakness = weaknessOf(value, least[name]);
      if (weakness) found.push(`${values.length > 1 ? `${name} number ${index + 1}` : name} ${weakness}.`);
    }
  }
  for (const [name, values] of Object.entries(named)) {
    for (const own of new Set(values.map(ownPart))) {
      const other = names.get(own);
      if (other) found.push(`${other} and ${name} are one secret: whoever learns it by one way gets in by the other.`);
      else names.set(own, name);
    }
  }
  return found;
}

/**
 * Refuses, in production, a secret that can be guessed.
 *
 * @param option what it was given to, as it is written: `cronRoute({ secret })`
 * @throws ConfigurationError which names the option and does not tell the secret
 */
export function assertStrong(option: string, secret: string): void {
  const weakness = mayRefuse() && weaknessOf(secret);
  assertSetUp(!weakness, `${option} can be guessed: it ${weakness}. ${MAKE}`, {
    existing: `${secret.length} characters`,
    expected: `at least ${LEAST} characters, by chance`,
  });
}

/**
 * Refuses, in production, a secret that another option of this process has as well: a token that a crontab sends must not
 * sign keys.
 *
 * @throws ConfigurationError which names both options and does not tell the secret
 */
export function assertOnePurpose(option: string, secret: string): void {
  if (!mayRefuse()) return;
  assertNoOtherPurpose(option, secret);
  optionsBySecret().set(digestOf(secret), option);
}

/**
 * The same for a secret that is asked about at each use, and not remembered: of webhooks there may be one for each customer.
 *
 * @throws ConfigurationError as `assertOnePurpose` does
 */
export function assertNoOtherPurpose(option: string, secret: string): void {
  const other = mayRefuse() ? optionsBySecret().get(digestOf(secret)) : undefined;
  assertSetUp(
    other === undefined || other === option,
    `${option} is the secret of ${other} as well: whoever learns it by one way gets in by the other. ${MAKE}`,
    { expected: 'one secret for one purpose' },
  );
}

function digestOf(secret: string): string {
  return hash('sha256', ownPart(secret), 'base64');
}

/** A build evaluates the app's modules for production, maybe with made-up secrets, and answers nobody. */
function mayRefuse(): boolean {
  return isProduction() && process.env.NEXT_PHASE !== 'phase-production-build';
}

const HELD = Symbol.for('oncekit.options-by-secret');

/** On `globalThis`: a bundler may give pages and routes a copy of this module each. */
function optionsBySecret(): Map<string, string> {
  const held = globalThis as { [HELD]?: Map<string, string> };
  held[HELD] ??= new Map();
  return held[HELD];
}

/** Leaves out what all secrets of a kind have in common: the prefix of webhook secrets, and the padding of base64. */
function ownPart(secret: string): string {
  return secret.replace(/^whsec_/, '').replace(/=+$/, '');
}

/** Tells whether it is one part again and again, the last time maybe in part. */
function repeats(text: string): boolean {
  for (let length = 1; length <= text.length / 2; length++) {
    if (text.startsWith(text.slice(length))) return true;
  }
  return false;
}
