/** The beginnings of names. A page that was made steady before stays as it is. */
const ID = '019ab6c2-5b1e-7';
const CODE = 'q3Zt0V9mT2uXc7LkR5s';
const REFERENCE = '3PqT8w2eZvKYlo2C';

const known = new Map<string, string>();

/** The name that something random goes by in all pictures: numbered in the order in which it was first seen. */
function named(random: string, make: (n: string) => string): string {
  const name = known.get(random) ?? make(String(known.size + 1).padStart(3, '0'));
  known.set(random, name);
  return name;
}

/** The same text in each run: ids are numbered, clocks stand still. */
export function steady(text: string): string {
  return (
    text
      .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, (id) =>
        id.startsWith(ID) ? id : named(id, (n) => `${ID}${n}-8a4d-6f0c2e91b7d4`),
      )
      .replace(/(?<=-[0-9a-f]{12}\.)[\w-]{22}/g, (code) =>
        code.startsWith(CODE) ? code : named(code, (n) => `${CODE}${n}`),
      )
      .replace(/\b(pi|re|ch)_[0-9a-zA-Z]{8,}\b/g, (id, kind) =>
        id.includes(REFERENCE) ? id : named(id, (n) => `${kind}_${REFERENCE}${n}`),
      )
      .replace(
        /\b\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?(\.\d{3})?\b/g,
        (_, seconds, ms) => `2026-11-22 09:41${seconds ? ':07' : ''}${ms ? '.000' : ''}`,
      )
      .replace(/(?<![\d:]|-\d\d )\d{1,2}:\d\d(:\d\d)?(\.\d+)?(?= ?(AM|PM|UTC|Z))/g, '9:41')
      .replace(/\b[A-Z][a-z]+ \d{1,2}, 2\d{3}\b/g, 'November 22, 2026')
      .replace(/^\d{6,}$/, '897039300')
      .replace(/^[0-9a-f]{64}$/, '7c1f0e5b'.repeat(8))
      .replace(/^[0-9a-f]{12}…$/, 'a3ba59efd819…')
      // Which order the page has heard of when it asks for the stock is a matter of milliseconds.
      .replace(/\b4,\d{3} left\b/g, '4,990 left')
      .replace(/\b\d+ (seconds?|minutes?) ago\b/g, '3 seconds ago')
      .replace(/^now$/, '3 seconds ago')
  );
}
