/** No modal is open where no link has led to one. */
export default function NoModal() {
  return null;
}
