'use client';

import { Button } from '../../ui/button.tsx';

/** Does to the page what a browser’s translator does, but for the language: each text into two elements, also what comes later. */
export function TranslateButton() {
  return (
    <Button type="button" variant="quiet" onClick={translatePage}>
      Translate the page
    </Button>
  );
}

function translatePage(): void {
  wrapTexts(document.body);
  const later = new MutationObserver((changes) => {
    for (const { addedNodes, target } of changes) {
      for (const node of addedNodes.length > 0 ? addedNodes : [target]) wrapTexts(node);
    }
  });
  later.observe(document.body, { childList: true, characterData: true, subtree: true });
}

function wrapTexts(root: Node): void {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const texts: Node[] = root.nodeType === Node.TEXT_NODE ? [root] : [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts) {
    const { parentElement } = text;
    if (!text.textContent?.trim() || !parentElement || parentElement.closest('font, script, style, textarea')) continue;
    const [outer, inner] = [document.createElement('font'), document.createElement('font')];
    inner.textContent = text.textContent;
    outer.append(inner);
    parentElement.replaceChild(outer, text);
  }
}
