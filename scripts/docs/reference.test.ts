import { describe, expect, test } from 'vitest';
import { publicEntries } from '../package/public-exports.ts';
import { referencePages } from './reference.ts';

describe('docs/reference', () => {
  // It throws for an export that has no docstring, and names it.
  const pages = referencePages();

  test('has a page for each entry, and on it what matters of an export', () => {
    expect(pages.size).toBe(publicEntries().size);
    const page = pages.get('oncekit.md') ?? '';
    expect(page).toContain('### createIdempotency\n\n```\nfunction createIdempotency<');
    expect(page).toMatch(/\*\*Throws\*\* ConfigurationError/);
    expect(page).toMatch(/^\| `window\?` \| `Duration` \| .*Default 24 h\. \|$/m);
    // Members that an interface takes from one that is not public are on the page too.
    expect(pages.get('admin.md')).toMatch(/### Admin\n[\s\S]*?^\| `retryNow` \|/m);
  });
});
