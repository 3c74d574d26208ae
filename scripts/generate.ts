/** The first half of `npm run generate`: Prisma's client and docs/reference, each where what it is made from has changed. */
import { generateSources } from './services/build-app.ts';

await generateSources();
