/** The list has no modal over it: without this page, Next would keep the one that is open. */
export default function ClosedModal() {
  return null;
}
