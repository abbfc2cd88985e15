/**
 * What each kind of column says about a value in statements, for functions of all tables, which know the names and the kinds of the
 * columns of a set. The value is "$value", which no name contains.
 *
 * @module
 */

import { isReference, KINDS, type Kind, SQL } from "../../kinds/mod.ts";

const VALUE = '"$value"';

export const KIND_TERMS = Object.fromEntries(KINDS.map((kind) => [kind, toTerms(kind)]));

function toTerms(kind: Kind) {
  const { compared, parts, size, isSentAsText } = SQL[kind];
  return {
    /** As it is compared and sorted. */
    value: compared?.(VALUE) ?? VALUE,
    /** The parts by which an index is searched and sorted. */
    start: parts?.start.render(VALUE),
    rest: parts?.rest?.render(VALUE),
    /** The id of the row to which it refers. */
    reference: isReference({ kind }) ? VALUE : undefined,
    /** As a response contains it. */
    sent: isSentAsText === true ? `${VALUE}::text` : VALUE,
    /** The bytes of an unbounded value, without decompression. */
    size: size && `${size}(${VALUE})`,
  };
}
