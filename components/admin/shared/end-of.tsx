/**
 * As much of the end of a text as there is room for: keys begin alike, with the time at which they were minted. The whole
 * text is there, cut by its width alone: selecting it copies all of it.
 */
export function EndOf({ text }: { text: string }) {
  return (
    <span dir="rtl" className="block truncate text-left">
      <bdi dir="ltr">{text}</bdi>
    </span>
  );
}
