/**
 * With Cache Components: this app has no static shell, not even a header. Every page is made for one visitor.
 *
 * In a file of its own, and re-exported by the root layout with a star: while Cache Components are off, Next refuses to
 * build a layout that says this itself.
 */
export const instant = false;
