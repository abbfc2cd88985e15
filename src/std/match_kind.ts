/** Tables with a function for each kind of a union, which the compiler checks for completeness. @module */

type Kinded = { readonly kind: string };

/** The functions for all kinds of `Union`. Each also gets the arguments `More`. */
export type Cases<Union extends Kinded, Result, More extends readonly unknown[] = []> = {
  readonly [Kind in Union["kind"]]: (
    value: Extract<Union, { readonly kind: Kind }>,
    ...more: More
  ) => Result;
};

/**
 * The result of the function for the kind of a value.
 *
 * @example
 * ```ts
 * type Shape = { kind: "square"; side: number } | { kind: "circle"; radius: number };
 * const AREAS: Cases<Shape, number> = {
 *   square: ({ side }) => side * side,
 *   circle: ({ radius }) => Math.PI * radius * radius,
 * };
 * const square: Shape = { kind: "square", side: 3 };
 * expect(matchKind(AREAS, square)).toBe(9);
 * ```
 */
export function matchKind<Union extends Kinded, Result, More extends readonly unknown[]>(
  cases: Cases<Union, Result, More>,
  value: Union,
  ...more: More
): Result {
  // The compiler does not connect the kind of the value with the parameter of the function.
  const run = cases[value.kind as Union["kind"]] as (value: Union, ...more: More) => Result;
  return run(value, ...more);
}
