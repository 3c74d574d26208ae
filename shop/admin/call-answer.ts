import type { KeyDetail, KeyEvent, PhaseView } from 'oncekit/admin';

/** Who has said that a call was done, and when. */
export interface Known {
  words: string;
  at: Date | null;
}

/** One thing that a call has done at the provider: a charge, say. */
export interface Effect {
  reference: string | null;
  amount: string | null;
  known: readonly Known[];
}

/** What is known of a foreign call, in words: counted from what was answered and heard, and from nothing else. */
export interface CallAnswer {
  step: string;
  tone: 'good' | 'bad' | 'warn' | 'info';
  title: string;
  /** The time that belongs to the title. */
  since: Date | null;
  effects: readonly Effect[];
  notes: readonly Known[];
}

/** What an app knows besides. */
export interface AnswerOptions {
  /** What each call does, as a participle: `charged`. Default `done`. */
  verbs?: Readonly<Record<string, string>>;
  /** What the app itself has heard of a call, by its step. */
  besides?: Readonly<Record<string, readonly Effect[]>>;
  /** What whoever has said something is called, for readers who are to know no names. Default: as they are. */
  nameOf?: (actor: string) => string;
}

type Key = Pick<KeyDetail, 'state' | 'settledAt' | 'answer' | 'isForgotten' | 'phases' | 'events'>;

/** The answers of all foreign calls of a key that were begun, in their order. */
export function callAnswers(key: Key, options: AnswerOptions = {}): CallAnswer[] {
  return key.phases.filter(({ kind }) => kind === 'foreign').map((call) => answerOf(key, call, options));
}

/** Tells whether more may have been done than is known, or more was done than once, by the answer of a key that has ended. */
export function leavesDoubt({ tone, since, effects }: CallAnswer): boolean {
  return tone === 'bad' || since !== null || (tone === 'warn' && effects.length > 0);
}

function answerOf(
  key: Key,
  call: PhaseView,
  { verbs = {}, besides = {}, nameOf = (actor) => actor }: AnswerOptions,
): CallAnswer {
  const { name, state, reference } = call;
  const verb = verbs[name] ?? 'done';
  const events = key.events
    .filter(({ detail }) => detail?.step === name)
    .map((event) => ({ ...event, actor: nameOf(event.actor) }));
  const [heard, verdicts] = [events.filter(isProof), events.filter(({ type }) => type === 'verdict')];
  const others = [...heard.map(effectOf), ...(besides[name] ?? [])];
  const answer = (title: string, facts: Partial<CallAnswer> = {}): CallAnswer => {
    const plain = { step: name, tone: 'warn', since: null, effects: [], notes: [] } as const;
    return { ...plain, title: `${title.slice(0, 1).toUpperCase()}${title.slice(1)}`, ...facts };
  };

  const repeated = verdicts
    .filter(({ detail }) => detail?.verdict === 'retry')
    .map((event) => ({
      words: `It was sent again, since ${event.actor} asked for that. What became of the sends before it is not known`,
      at: event.at,
    }));

  if (state === 'done' && reference !== null) {
    const effects = distinct([{ reference, amount: call.amount, known: knownOf(call, heard, verdicts) }, ...others]);
    const notes = repeated;
    const isPlain = effects.length === 1 && notes.length === 0 && key.state !== 'failed';
    return answer(`${verb} ${times(effects.length)}`, {
      effects,
      notes,
      tone: isPlain ? 'good' : effects.length > 1 ? 'bad' : 'warn',
    });
  }
  if (state === 'done') {
    const known = knownOf(call, heard, verdicts);
    if (key.state === 'succeeded') {
      const erased = key.isForgotten ? [{ words: 'What it was is erased', at: null }] : [];
      // What was heard of may be this very one, whose reference is gone; what the app expected of nobody is another.
      const effects = distinct([{ reference, amount: null, known }, ...(besides[name] ?? [])]);
      const tone = effects.length > 1 ? 'bad' : repeated.length > 0 ? 'warn' : 'good';
      return answer(`${verb} ${times(effects.length)}`, { effects, notes: [...erased, ...repeated], tone });
    }
    const ended = key.state === 'failed' ? `It ended in a refusal${reasonOf(key)}` : 'The key is not finished';
    return answer('answered, without a receipt', { notes: [...known, { words: ended, at: key.settledAt }] });
  }

  const isProven = call.notExecuted === call.sends;
  const given = reasonOf(key) === ' (marked_failed)' ? verdicts.at(-1) : undefined;
  if (others.length > 0) {
    const effects = distinct(others);
    const title =
      key.settledAt === null
        ? 'heard, and not confirmed by the provider so far'
        : `${verb} ${times(effects.length)}, by what was heard`;
    const end = given ? `Given up by ${given.actor}` : `It ended in a refusal${reasonOf(key)}`;
    const ended = key.settledAt && { words: end, at: given?.at ?? key.settledAt };
    return answer(title, { effects, notes: ended ? [ended] : notKnown(call), tone: ended ? 'bad' : 'warn' });
  }
  if (key.settledAt !== null) {
    const end = isProven ? 'Each send had proved that nothing was done' : 'The provider has not said so';
    const by = given
      ? { words: `Given up by ${given.actor}. ${end}`, at: given.at }
      : { words: `Refused by the provider${reasonOf(key)}`, at: key.settledAt };
    if (isProven) return answer(`not ${verb}`, { notes: [by], tone: 'info' });
    const open = given ? [] : [{ words: 'What became of a send before that is not known', at: null }];
    return answer('not known since', { since: call.firstSentAt, notes: [by, ...open] });
  }
  if (isProven) return answer(`not ${verb} so far`, { since: call.firstSentAt, tone: 'info' });
  return answer('not known since', { since: call.firstSentAt });
}

const notKnown = ({ firstSentAt }: PhaseView): Known[] => [{ words: 'Not known since', at: firstSentAt }];

const isProof = ({ type, detail }: KeyEvent) =>
  (type === 'evidence' || type === 'contradicted') && typeof detail?.reference === 'string';

const effectOf = ({ actor, at, detail }: KeyEvent): Effect => ({
  reference: String(detail?.reference),
  amount: null,
  known: [{ words: `said by ${actor}`, at }],
});

/** Each reference once, with all that is known of it. */
function distinct(effects: readonly Effect[]): Effect[] {
  const all = new Map<string | null, Effect>();
  for (const { reference, amount, known } of effects) {
    const before = all.get(reference);
    all.set(reference, {
      reference,
      amount: before?.amount ?? amount,
      known: [
        ...(before?.known ?? []),
        ...known.filter(({ words }) => !before?.known.some((one) => one.words === words)),
      ],
    });
  }
  return [...all.values()];
}

/** What has made it known that a call is done: the first word of it, and what has confirmed that. */
function knownOf(
  { knownBy, finishedAt: at, reference, verdict }: PhaseView,
  heard: readonly KeyEvent[],
  verdicts: readonly KeyEvent[],
): Known[] {
  if (knownBy === null) return [{ words: 'done', at }];
  if (knownBy === 'answer') return [{ words: 'answered by the provider', at }];
  const isOfPerson = verdict === 'succeeded';
  const said = isOfPerson
    ? verdicts.at(-1)
    : heard.find(({ detail }) => reference === null || detail?.reference === reference);
  if (!said) return [{ words: 'found by asking the provider', at }];
  return [
    { words: `said by ${said.actor}`, at: said.at },
    { words: 'confirmed by the provider', at },
  ];
}

function reasonOf({ answer }: Key): string {
  return answer?.kind === 'refusal' ? ` (${answer.reason})` : '';
}

/** How often, in a word. */
export const times = (count: number) => ['not', 'once', 'twice'][count] ?? `${count} times`;
