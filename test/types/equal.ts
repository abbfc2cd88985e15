/** Exact equality of types, for tests that the compiler runs. @module */

/** True only for the very same type: no `any`, no readonly, no optional key may differ. */
export type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles when the two types are equal. */
export function expectEqual<A, B>(_equal: Equal<A, B>): void {}
