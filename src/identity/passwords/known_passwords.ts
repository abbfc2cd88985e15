/**
 * Leaked passwords of 15 or more characters, as digests. `tools/generate_passwords.ts` generates the file, which is loaded
 * with the first new password.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { foldText } from "../../std/text.ts";

// A large set of texts as a small file: sorted 45-bit digests, each stored as its difference from
// the previous digest. False positives have a probability of size ÷ 2⁴⁵. A password has up to six
// look-ups: with 384,773 digests, less than one good password of 10⁷ is rejected.

export const DIGEST_BITS = 45;

const PAYLOAD_BITS = 7;
const HAS_MORE = 1 << PAYLOAD_BITS;

/**
 * The bytes that {@linkcode readDigestSet} reads.
 *
 * @example
 * ```ts
 * const set = readDigestSet(encodeDigestSet(["one", "two", "two"]));
 * expect([set.size, set.has("two"), set.has("three")]).toEqual([2, true, false]);
 * ```
 */
export function encodeDigestSet(texts: Iterable<string>): Uint8Array {
  const digests = Float64Array.from(new Set([...texts].map(toDigest))).sort();
  const bytes = Array.from(digests).flatMap((digest, index) =>
    encodeNumber(digest - (digests[index - 1] ?? 0)),
  );
  return Uint8Array.from(bytes);
}

type DigestSet = { readonly size: number; readonly has: (text: string) => boolean };

/** The set that {@linkcode encodeDigestSet} wrote. */
export function readDigestSet(bytes: Uint8Array): DigestSet {
  // A digest has at least one byte: the unused end is cut off below.
  const digests = new Float64Array(bytes.length);
  let size = 0;
  let digest = 0;
  let factor = 1;
  // Indexed: an iterator is five times slower and blocks the process.
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] ?? 0;
    digest += (byte % HAS_MORE) * factor;
    factor *= HAS_MORE;
    if (byte >= HAS_MORE) continue;
    digests[size++] = digest;
    factor = 1;
  }
  const sorted = digests.slice(0, size);
  return { size, has: (text) => includesSorted(sorted, toDigest(text)) };
}

function toDigest(text: string): number {
  const first = createHash("sha256").update(text).digest().readUIntBE(0, 6);
  return Math.floor(first / 2 ** (48 - DIGEST_BITS));
}

/** Lowest bits first; every byte but the last has its highest bit set. */
function encodeNumber(value: number): number[] {
  if (value < HAS_MORE) return [value];
  return [(value % HAS_MORE) + HAS_MORE, ...encodeNumber(Math.floor(value / HAS_MORE))];
}

function includesSorted(sorted: Float64Array, wanted: number): boolean {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === wanted;
}

export const KNOWN_PASSWORDS_FILE = join(import.meta.dirname, "leaked_passwords.bin");
/** Min length of a password, in code points. */
export const MIN_CODE_POINTS = 15;
/** Min length of a folded password that is also compared. */
const MIN_FOLDED = 12;

let known: DigestSet | undefined;

/** Whether the list has the text, as typed or without its punctuation. */
export function isKnownPassword(text: string): boolean {
  known ??= readDigestSet(readFileSync(KNOWN_PASSWORDS_FILE));
  return known.has(text.toLowerCase()) || known.has(foldText(text));
}

/** The variants of a password in the list; empty if it is too short. */
export function toPasswordVariants(password: string): string[] {
  const lower = password.toLowerCase();
  if ([...lower].length < MIN_CODE_POINTS) return [];
  return [lower, foldText(lower)].filter(({ length }) => length >= MIN_FOLDED);
}
