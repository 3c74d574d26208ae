import type { Overview } from 'oncekit/admin';
import { Detail, Details } from '../../ui/details.tsx';
import { TitledPanel } from '../../ui/titled-panel.tsx';

interface Props {
  storage: NonNullable<Overview['storage']>;
  isEstimated: boolean;
  /** In hours, as the app has set them. */
  windowHours: number;
  keptHours: number;
  paidKeptHours: number;
}

/** The size of the key table, and how long it keeps its rows. */
export function StorageCard({ storage, isEstimated, windowHours, keptHours, paidKeptHours }: Props) {
  const { rows, bytes } = storage;
  return (
    <TitledPanel title="Storage">
      <div className="mt-3">
        <Details>
          <Detail name="Rows">
            {isEstimated ? 'about ' : ''}
            {rows.toLocaleString('en-US')}
          </Detail>
          <Detail name="Size">{sizeOf(bytes)} with indexes</Detail>
          <Detail name="Bytes per key">{rows > 0 ? Math.round(bytes / rows).toLocaleString('en-US') : '–'}</Detail>
          <Detail name="Window">A key may be used first for {windowHours} hours</Detail>
          <Detail name="Retention">
            Its row is kept for {keptHours} hours, for {paidKeptHours} where money moves
          </Detail>
        </Details>
      </div>
      {rows > 0 && rows < 1000 ? (
        <p className="mt-3 text-sm text-muted">With so few rows, empty pages make most of the size.</p>
      ) : null}
    </TitledPanel>
  );
}

const units = ['kB', 'MB', 'GB', 'TB'];

function sizeOf(bytes: number): string {
  let [size, unit] = [bytes / 1000, 0];
  for (; size >= 1000 && unit < units.length - 1; unit++) size /= 1000;
  return `${size.toLocaleString('en-US', { maximumFractionDigits: size < 10 ? 1 : 0 })} ${units[unit]}`;
}
