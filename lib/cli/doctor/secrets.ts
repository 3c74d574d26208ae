import { weaknessOf } from '../../core/secret-strength.ts';
import { LEAST_TO_SIGN } from '../../core/secrets.ts';
import { checkNamed, type Finding } from './finding.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const MAKE = 'Make one with: openssl rand -base64 32';

/** Checks the secret that signs keys and the one of the cron route, as production does. */
export function checkSecrets(env: Environment): Finding[] {
  const signing = (env.IDEMPOTENCY_SECRET ?? '').split(',').filter(Boolean);
  return [checkSigning(signing), checkCron(env.CRON_SECRET, signing)];
}

function checkSigning(secrets: readonly string[]): Finding {
  const check = checkNamed('Secret');
  if (secrets.length === 0) {
    return check.problem('IDEMPOTENCY_SECRET is not set: production refuses to run.', MAKE);
  }
  for (const [index, secret] of secrets.entries()) {
    const weakness = weaknessOf(secret, LEAST_TO_SIGN);
    const which = secrets.length === 1 ? 'IDEMPOTENCY_SECRET' : `IDEMPOTENCY_SECRET number ${index + 1}`;
    if (weakness) return check.problem(`${which} ${weakness}: production refuses to run.`, MAKE);
  }
  return check.ok(
    secrets.length === 1
      ? 'IDEMPOTENCY_SECRET is set.'
      : `IDEMPOTENCY_SECRET holds ${secrets.length}: the first signs.`,
  );
}

function checkCron(secret: string | undefined, signing: readonly string[]): Finding {
  const check = checkNamed('Cron secret');
  if (!secret)
    return check.warning('CRON_SECRET is not set: the cron route is closed.', `Where no worker runs: ${MAKE}`);
  const weakness = weaknessOf(secret);
  if (weakness) return check.problem(`CRON_SECRET ${weakness}: production refuses the cron route.`, MAKE);
  if (signing.includes(secret)) {
    return check.problem('CRON_SECRET is IDEMPOTENCY_SECRET as well: production refuses the cron route.', MAKE);
  }
  return check.ok('CRON_SECRET is set.');
}
