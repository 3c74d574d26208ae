/**
 * The shadcn command line. By npx, which takes an installed one of this version where there is one: it is needed to make
 * the registry and to try it out, and brings two hundred packages along.
 */
export const SHADCN = ['npx', '--yes', '--prefer-offline', 'shadcn@4.23.0'] as const;
