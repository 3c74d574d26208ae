/** Where the kit refuses what a developer's machine may have, and where errors tell less. */
export function isProduction(): boolean {
  return process.env.NODE_ENV === 'production';
}
