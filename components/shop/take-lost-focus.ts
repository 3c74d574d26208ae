/** Takes the focus where what had it has gone from the page, or is hidden: else it would fall to the page's beginning. */
export function takeLostFocus(message: HTMLElement | null): void {
  const active = document.activeElement;
  if (active === document.body || active?.closest('[hidden]')) message?.focus();
}
