// Declared by Next in an app with `typedRoutes`, and nowhere else. `Route` of 'next' would bring along types that do not compile
// without `skipLibCheck`.
// biome-ignore lint/suspicious/noTsIgnore: in an app with `typedRoutes` there is no error to expect.
/** @ts-ignore: unknown here */
type NextRoute<To> = __next_route_internal_types__.RouteImpl<To>;

/** An address of the app, as `typedRoutes` knows them; any text where it is not switched on. */
export type Address<To extends string> = [0] extends [NextRoute<To>] ? To : NextRoute<To>;
