/** `npm run build`: the demo shop's production build, when its sources have changed since the last one. */
import { buildApp } from './services/build-app.ts';

if (!(await buildApp())) console.error('The build is up to date');
