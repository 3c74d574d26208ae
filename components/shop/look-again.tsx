/** Without JavaScript: a way to ask again, for what a person finds out, which may take hours. With it the page asks by itself. */
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
