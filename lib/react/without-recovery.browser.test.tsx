import { startTransition, useState } from 'react';
import { expect, test, vi } from 'vitest';
import { userEvent } from 'vitest/browser';
import { render } from 'vitest-browser-react';
import { newIntent } from './form.fixture.tsx';
import { IdempotentForm } from './index.ts';

/** A page for which the part of the script that goes on after a loss cannot be had. */
vi.mock('./submission/recovery-loader.ts', () => ({ recoveryModule: undefined, loadRecovery: async () => {} }));

test('a first attempt that hangs holds up no navigation', async () => {
  function Page() {
    const [intent] = useState(() => newIntent('like'));
    const [page, setPage] = useState('here');
    return (
      <>
        <IdempotentForm action={() => new Promise<never>(() => {})} intent={intent} initialKey="k">
          <button type="submit">Like</button>
        </IdempotentForm>
        <button type="button" onClick={() => startTransition(() => setPage('there'))}>
          Go
        </button>
        <p>{page}</p>
      </>
    );
  }
  const screen = await render(<Page />);
  await userEvent.click(screen.getByRole('button', { name: 'Like' }));
  await expect.element(screen.getByRole('status')).toHaveAttribute('data-state', 'executing');
  await userEvent.click(screen.getByRole('button', { name: 'Go' }));
  await expect.element(screen.getByText('there')).toBeVisible();
});
