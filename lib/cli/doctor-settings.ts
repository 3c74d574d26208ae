import { checkNamed, type Finding } from './finding.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const LEAST = 32;
const MAKE = 'openssl rand -base64 32';

/** What signs keys, and what opens the cron route. */
export function checkSecrets(env: Environment): Finding[] {
  return [checkSigning(env.IDEMPOTENCY_SECRET), checkCron(env.CRON_SECRET)];
}

function checkSigning(value: string | undefined): Finding {
  const check = checkNamed('Secret');
  const secrets = (value ?? '').split(',').filter(Boolean);
  if (secrets.length === 0) {
    return check.problem('IDEMPOTENCY_SECRET is not set: production refuses to run.', `Make one with: ${MAKE}`);
  }
  const short = secrets.findIndex((secret) => secret.length < LEAST);
  if (short >= 0) {
    const which = secrets.length === 1 ? 'IDEMPOTENCY_SECRET' : `IDEMPOTENCY_SECRET number ${short + 1}`;
    return check.problem(`${which} is shorter than ${LEAST} characters.`, `Make one with: ${MAKE}`);
  }
  return check.ok(
    secrets.length === 1
      ? 'IDEMPOTENCY_SECRET is set.'
      : `IDEMPOTENCY_SECRET holds ${secrets.length}: the first signs.`,
  );
}

function checkCron(value: string | undefined): Finding {
  const check = checkNamed('Cron secret');
  if (!value)
    return check.warning(
      'CRON_SECRET is not set: the cron route is closed.',
      `Where no worker runs, make one with: ${MAKE}`,
    );
  if (value.length < 16) return check.warning('CRON_SECRET is short enough to guess.', `Make one with: ${MAKE}`);
  return check.ok('CRON_SECRET is set.');
}
