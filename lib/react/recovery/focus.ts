/**
 * A button that goes leaves the focus where it stood (B7), on nothing: on the words, they would be read out twice; on
 * another button, a key that is still held down would press it.
 */
export const leaveFocus = (button: HTMLButtonElement) => () => {
  if (button !== document.activeElement) return;
  const place = document.createElement('span');
  place.tabIndex = -1;
  place.onblur = place.remove;
  button.before(place);
  place.focus();
};
