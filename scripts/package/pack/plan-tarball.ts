import { hasNoSideEffects, holdsOnlyWhatIsNeeded, isSmall } from './contents.ts';
import type { Context } from './context.ts';
import { lintPackage, resolvesEverywhere } from './lint.ts';
import { packKit, type Tarball } from './tarball.ts';

/** Builds, packs and looks at what is in the tarball. Undefined where there is none. */
export async function checkTarball({ report, signal, isThorough }: Context): Promise<Tarball | undefined> {
  let tarball: Tarball | undefined;
  await report.section('The package', async () => {
    const packed = await report.check('the kit is built and packed', () => packKit(signal, { isChecked: !isThorough }));
    tarball = packed;
    await report.alone('holds what is needed, and nothing of the demo or the tests', () =>
      holdsOnlyWhatIsNeeded(packed),
    );
    await report.alone(`is small (${kB(packed.packed)} packed, ${kB(packed.unpacked)} unpacked)`, () =>
      isSmall(packed),
    );
    await report.alone('no file of it has side effects', () => hasNoSideEffects(packed));
    if (!isThorough) return;
    await report.alone('publint has nothing against it', () => lintPackage(packed));
    await report.alone('its types resolve (arethetypeswrong)', () => resolvesEverywhere(packed, signal));
  });
  return tarball;
}

const kB = (bytes: number) => `${Math.round(bytes / 1000)} kB`;
