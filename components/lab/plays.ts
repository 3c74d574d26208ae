import type { Play } from '../../shop/lab/presets.ts';

/** One column, as a person handles it. */
export interface Actor {
  click(): void;
  edit(quantity: number): void;
  /** No answer yet, an answer that names an order, or anything else that a person sees. */
  state(): 'idle' | 'waiting' | 'done' | 'failed';
}

export interface Cast {
  kit: Actor & {
    /** An attempt has ended without an answer. */
    isInDoubt(): boolean;
    /** Asks again what became of it. */
    check(): void;
  };
  plain: Actor;
  session(is: 'expired' | 'restored'): Promise<void>;
  /** Aborted when the page goes, or another play begins. */
  signal: AbortSignal;
}

/** A quick second click. */
const QUICK_MS = 80;
/** How soon people try again after an error, and how soon they lose patience with a form that says nothing. */
const AGAIN_MS = 700;
const IMPATIENCE_MS = 900;
const MOST_CLICKS = 15;

/** Plays both columns as one person would, at the same moment. The clicks are real ones, on the real buttons. */
export async function play(which: Play, cast: Cast): Promise<void> {
  await PLAYS[which](cast);
}

const PLAYS: Record<Play, (cast: Cast) => Promise<void>> = {
  none: async () => {},

  once: async (cast) => clickBoth(cast),

  async twice(cast) {
    clickBoth(cast);
    await pause(QUICK_MS, cast);
    clickBoth(cast);
  },

  async impatient(cast) {
    clickBoth(cast);
    for (let more = 0; more < 2; more++) {
      await pause(IMPATIENCE_MS, cast);
      clickBoth(cast);
    }
  },

  async insist(cast) {
    clickBoth(cast);
    await insist(cast);
  },

  async edit(cast) {
    const { kit, plain } = cast;
    clickBoth(cast);
    const editKit = until(kit.isInDoubt, cast).then(() => kit.edit(2));
    await until(() => plain.state() !== 'waiting', cast);
    plain.edit(2);
    await insist(cast);
    await editKit;
  },

  async session(cast) {
    const { kit, plain, session } = cast;
    clickBoth(cast);
    await pause(QUICK_MS, cast);
    await session('expired');
    await until(() => plain.state() !== 'waiting', cast);
    await pause(AGAIN_MS, cast);
    // The browser itself may have sent it again, and heard that it is done.
    if (plain.state() === 'failed') plain.click();
    await until(() => plain.state() !== 'waiting' && kit.state() !== 'waiting', cast);
    await session('restored');
    kit.check();
    await pause(AGAIN_MS, cast);
    await insist(cast);
  },
};

function clickBoth({ kit, plain }: Cast): void {
  plain.click();
  kit.click();
}

/** Without the kit the person has to: each error is answered by another click. */
async function insist(cast: Cast): Promise<void> {
  const { plain } = cast;
  for (let clicks = 1; clicks < MOST_CLICKS; clicks++) {
    await until(() => plain.state() !== 'waiting', cast);
    if (plain.state() === 'done') return;
    await pause(AGAIN_MS, cast);
    plain.click();
  }
}

async function until(holds: () => boolean, cast: Cast): Promise<void> {
  do await pause(30, cast);
  while (!holds());
}

async function pause(ms: number, { signal }: Cast): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  signal.throwIfAborted();
}
