import { notFound } from 'next/navigation';
import { findPreset } from '../../../shop/lab/presets.ts';
import { LabPage } from '../lab-page.tsx';

type Props = { params: Promise<{ preset: string }> };

export async function generateMetadata({ params }: Props) {
  return { title: `${findPreset((await params).preset)?.name ?? 'Not found'} · Lab` };
}

export default async function PresetPage({ params }: Props) {
  const preset = findPreset((await params).preset);
  if (!preset) notFound();
  return <LabPage preset={preset} path={`/lab/${preset.slug}`} />;
}
