import { PRESETS } from '../../shop/lab/presets.ts';
import { LabPage } from './lab-page.tsx';

export const metadata = { title: 'Lab' };

export default function Lab() {
  return <LabPage preset={PRESETS[0]} path="/lab" />;
}
