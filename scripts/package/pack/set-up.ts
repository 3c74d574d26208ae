import type { Context } from './context.ts';
import { addPackages, npmInstall, writeFiles } from './fixture.ts';
import { linkInstalledPackages } from './package-links.ts';
import { ownPackage, type Tarball } from './tarball.ts';

export interface SetUp {
  /** By path. */
  files: Record<string, string>;
  dependencies: readonly string[];
  devDependencies: readonly string[];
}

/** An app as its people have it, with what we have installed ourselves, into which npm then installs the tarball. */
export async function setUp({ report, signal }: Context, app: string, tarball: Tarball, what: SetUp): Promise<void> {
  await writeFiles(app, what.files);
  await addPackages(app, what);
  await linkInstalledPackages(app, (await ownPackage()).dependencies);
  await report.check('npm installs the tarball', () => npmInstall(app, [tarball.file], signal));
}
