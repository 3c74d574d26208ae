/** Without JavaScript: a way to ask again, where no page is to open anew by itself. With it the page asks by itself. */
export function LookAgain() {
  return (
    <noscript>
      {/* biome-ignore lint/a11y/useValidAnchor: an empty address is that of this page */}
      <a href="" className="font-medium text-accent underline underline-offset-2">
        Check again
      </a>
    </noscript>
  );
}
