/** Without JavaScript: opens the address, or this page, in five seconds, where something is still being found out. */
export function RefreshPlain({ href }: { href?: string }) {
  return (
    <noscript>
      <meta httpEquiv="refresh" content={href ? `5;url=${href}` : '5'} />
    </noscript>
  );
}
