import type { Shape } from 'oncekit/admin';

/** The names and types of what is not shown. */
export function ShapeText({ shape }: { shape: Shape }) {
  return (
    <pre className="mt-3 overflow-x-auto rounded-lg bg-sunken p-4 font-mono text-sm">
      {JSON.stringify(shape, null, 2)}
    </pre>
  );
}
