import { ConfigurationError } from '../../core/errors.ts';
import { assertScope } from '../../core/scope.ts';
import { settleWithin } from '../../core/wait.ts';
import type { LoadedApp } from '../app/loader.ts';
import { callAt } from '../app/source-text.ts';
import { checkNamed, type Finding } from './finding.ts';

const check = checkNamed('Scope');
const WAIT_MS = 5000;

/**
 * Asks the app's own `scope`, without a request. That it misses the request is as it should be; whatever else it throws, a
 * visitor may meet as well.
 *
 * @param operations of the app, each of which asks the scope of its set-up
 */
export async function checkScope(file: string, source: string, operations: LoadedApp['operations']): Promise<Finding> {
  const call = callAt(source, 'createIdempotency');
  if (call !== undefined && /\bscope\s*:\s*(?:async\s*)?\(\s*\)\s*=>\s*(?:null|undefined)\b/.test(call)) {
    return check.warning(
      'Nobody may act yet: scope() returns null, so no key is issued.',
      `Return who acts from \`scope\` in ${file}.`,
    );
  }
  if (call !== undefined && !/\bscope\b/.test(call)) return check.ok(`${file} has no scope: each call gives its own.`);
  const ask = operations.find(({ whoActs }) => whoActs)?.whoActs;
  if (!ask)
    return check.ok(call === undefined ? `${file} does not call createIdempotency itself.` : `${file} says who acts.`);
  try {
    const who = await settleWithin(ask(), WAIT_MS, () => 'late' as const);
    if (who === 'late') {
      return check.warning(
        `scope in ${file} has not answered within ${WAIT_MS / 1000} s.`,
        'Let it give up what it waits for, and return null.',
      );
    }
    if (who === null || who === undefined) return check.ok(`${file} says who acts: without a request, nobody.`);
    assertScope({ ...(who as { tenant: string; principal: string }), operation: 'doctor' });
    return check.ok(`${file} calls everybody ${who.principal}. Before you go live, return who is signed in.`);
  } catch (error) {
    if (isWithoutRequest(error)) return check.ok(`${file} says who acts, by the request.`);
    const { message, existing, expected } = error as ConfigurationError;
    if (/No secret is configured|Nobody says who acts/.test(message)) return check.ok(`${file} says who acts.`);
    if (error instanceof ConfigurationError || (error as Error).name === 'ConfigurationError') {
      return check.problem(
        `scope in ${file}: ${message} Found: ${existing}.`,
        `Return { principal }, and a tenant only where there are several, of ${expected}.`,
      );
    }
    return check.warning(
      `scope in ${file} throws where there is no request, and not because of that: ${lineOf(error)}.`,
      'Let it return null where it finds nobody.',
    );
  }
}

/** Next's own words for a missing request, and what it throws to leave a render: also where a library has wrapped them. */
function isWithoutRequest(error: unknown): boolean {
  for (let at = error as { message?: string; digest?: string; cause?: unknown } | undefined; at; ) {
    if (/outside a request scope|outside of a request|next-dynamic-api-wrong-context/.test(at.message ?? ''))
      return true;
    if (/^(NEXT_|DYNAMIC_SERVER_USAGE|HANGING_PROMISE)/.test(at.digest ?? '')) return true;
    at = at.cause as typeof at;
  }
  return false;
}

function lineOf(error: unknown): string {
  const { name = 'Error', message = String(error) } = (error ?? {}) as Partial<Error>;
  return `${name}: ${message.trim().split('\n')[0]}`.replace(/\.$/, '');
}
