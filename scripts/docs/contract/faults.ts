import { type Fault, lineAt } from '../fault.ts';
import { type Files, isTest } from '../repository-files.ts';
import { type SourceText, sourceTexts } from '../source-texts.ts';
import { CONTRACT, codeFinder, type FindCodes, readRules } from './rules.ts';

/** A code where it stands. */
interface Citation {
  code: string;
  file: string;
  line: number;
  kind: 'comment' | 'title' | 'docstring' | 'message' | 'text';
}

/** A text with the codes that it may cite. */
type CitingText = Omit<SourceText, 'kind'> & { kind: Citation['kind'] };

/** Their strings are shown to people. Those of other files are test data, or for people who work on the kit. */
const SHOWN = /^(lib|app|components)\//;
/** All that the conformance suite says is read by those who run it. */
const CONFORMANCE = /^lib\/testing\//;
/** Pages for people who work on the kit. All other pages are for its users. */
const PAGES_OF_THE_CODE = /^(docs\/(adr|internals)\/|ARCHITECTURE\.md$|CONTRIBUTING\.md$)/;
/** Written from docstrings, which are looked at where they stand. */
const REFERENCE = /^docs\/reference\//;
/** Two words and more. A path of SVG and a class name are none. */
const PROSE = /[a-z]{3,}\W+\w*[a-z]{2,}/i;

const IN_WORDS = 'Say the rule in words: codes are for the code.';
const ADVICE: Partial<Record<Citation['kind'], string>> = {
  docstring: `stands in a docstring of the public API. ${IN_WORDS}`,
  message: `stands in the message of an error. ${IN_WORDS}`,
  text: `stands in a text for users. ${IN_WORDS}`,
};

/**
 * Finds the codes that docs/contract.md does not have, the rules there that no test's title cites, and the codes in what
 * users read. `reference`: the pages of docs/reference as the docstrings would make them now.
 */
export function contractFaults(files: Files, reference: string): Fault[] {
  const rules = readRules(files.get(CONTRACT) ?? '');
  if (rules.length === 0)
    return [{ file: CONTRACT, line: 1, advice: 'has no rules. Write each as `- **K1** sentence`.' }];
  const citations = citationsIn(files, reference, codeFinder(rules));
  const known = new Set(rules.map(({ code }) => code));
  const tested = new Set(
    citations.filter(({ kind, file }) => kind === 'title' && isTest(file)).map(({ code }) => code),
  );

  const missing = citations
    .filter(({ code }) => !known.has(code))
    .map(({ code, file, line }) => ({
      file,
      line,
      advice: `${code} is not in ${CONTRACT}. Correct the code, or add the rule there.`,
    }));
  const untested = rules
    .filter(({ code }) => !tested.has(code))
    .map(({ code, line }) => ({
      file: CONTRACT,
      line,
      advice: `no test cites ${code}. Begin the title of a test that holds the rule with it.`,
    }));
  const shown = citations.flatMap(({ code, file, line, kind }) =>
    known.has(code) && ADVICE[kind] ? [{ file, line, advice: `${code} ${ADVICE[kind]}` }] : [],
  );
  return [...missing, ...untested, ...shown];
}

function citationsIn(files: Files, reference: string, find: FindCodes): Citation[] {
  const published = asOneLine(reference);
  return [...files].flatMap(([file, content]) =>
    textsOf(file, content).flatMap(({ kind, text, position }) =>
      find(text).map(({ code, index }) => {
        const isDocstring =
          text.startsWith('/**') && published.includes(asOneLine(text.slice(0, index)).slice(-60) + code);
        const line = lineAt(content, position + index);
        return { code, file, line, kind: isDocstring ? 'docstring' : kind };
      }),
    ),
  );
}

/** Without the marks of comments and tables, so that a docstring compares with the page that is made of it. */
function asOneLine(text: string): string {
  return text.replaceAll(/(\s|\\|\/?\*+)+/g, ' ');
}

function textsOf(file: string, content: string): CitingText[] {
  if (file === CONTRACT || REFERENCE.test(file)) return [];
  if (file.endsWith('.md')) {
    return [{ kind: PAGES_OF_THE_CODE.test(file) ? 'comment' : 'text', text: content, position: 0 }];
  }
  if (/\.tsx?$/.test(file)) {
    const isShown = SHOWN.test(file) && !isTest(file);
    return sourceTexts(file, content).flatMap(({ kind, ...text }): CitingText[] => {
      if (kind === 'comment' || kind === 'title') return [{ kind, ...text }];
      if (!isShown || !(CONFORMANCE.test(file) || PROSE.test(text.text))) return [];
      return [{ kind: kind === 'string' ? 'text' : kind, ...text }];
    });
  }
  const comments = file.endsWith('.sql') ? /--.*/g : /\/\/.*|\/\*[\s\S]*?\*\//g;
  return [...content.matchAll(comments)].map(({ 0: text, index }) => ({ kind: 'comment', text, position: index }));
}
