/**
 * What each kind of column says about a value in statements, for functions of all tables, which know the names and the kinds of the
 * columns of a set. The value is "$value", which no name contains.
 *
 * @module
 */

import { isReference, isSorted, KINDS, type Kind, SQL, VALUES } from "../../kinds/mod.ts";

const VALUE = '"$value"';

export const KIND_TERMS = Object.fromEntries(KINDS.map((kind) => [kind, toTerms(kind)]));

function toTerms(kind: Kind) {
  const { compared, comparedType, cursor, parts, size, type, width, isSentAsText } = SQL[kind];
  return {
    /** As it is compared and sorted. */
    value: compared?.(VALUE) ?? VALUE,
    /** The parts by which an index is searched and sorted. */
    start: parts?.start.render(VALUE),
    rest: parts?.rest?.render(VALUE),
    /** The types of these. */
    type: comparedType ?? type?.name,
    startType: parts?.start.type,
    restType: parts?.rest?.type,
    /** The id of the row to which it refers. */
    reference: isReference({ kind }) ? VALUE : undefined,
    /** As a response contains it. */
    sent: isSentAsText === true ? `${VALUE}::text` : VALUE,
    /** As a cursor contains it. */
    cursor: cursor?.(VALUE) ?? `${VALUE}::text`,
    /** As the key, the lowest or the highest value of a group. */
    shown: toShown(kind),
    /** As the sum of a group: a text, because a JSON number would lose digits. */
    summed: toSummed(kind),
    /** Whether a value can be longer than the key of a group. */
    isUnbounded: width === undefined || undefined,
    /** The bytes of an unbounded value, without decompression. */
    size: size && `${size}(${VALUE})`,
  };
}

/** Numbers lose zeros at their end, and decimals have `"$scale"` digits. */
function toShown(kind: Kind): string | undefined {
  const { type, isSentAsText } = SQL[kind];
  if (!isSorted({ kind })) return undefined;
  if (type?.printed !== "numeric") return VALUE;
  return isSentAsText === true
    ? `round(${VALUE}, coalesce("$scale", 0))::text`
    : `trim_scale(${VALUE})`;
}

function toSummed(kind: Kind): string | undefined {
  if (VALUES[kind].aggregates?.includes("sum") !== true) return undefined;
  return SQL[kind].isSentAsText === true ? `${VALUE}::text` : `trim_scale(${VALUE})::text`;
}
