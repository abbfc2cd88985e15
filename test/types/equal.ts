/** Exact equality of types, for type tests. @module */

/** True only for identical types: `any`, readonly and optional keys must match too. */
export type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles if the two types are equal. */
export function expectEqual<A, B>(_equal: Equal<A, B>): void {}
