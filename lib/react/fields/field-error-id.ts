/** The id of the element that says what was refused in a field. A name may have spaces, and an id in a list of ids may not. */
export function fieldErrorId(formId: string | undefined, name: string): string {
  return `${formId}-${encodeURIComponent(name)}-error`;
}
