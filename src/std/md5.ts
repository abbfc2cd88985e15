/** MD5, for browsers, which do not have it. Pure. @module */

const SHIFTS = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
] as const;
const SINES = Uint32Array.from({ length: 64 }, (_, step) => Math.abs(Math.sin(step + 1)) * 2 ** 32);
const BLOCK = 64;
const LENGTH_BYTES = 8;

/**
 * The MD5 of a text in UTF-8, in hexadecimal digits. It orders texts as PostgreSQL does, and protects nothing.
 *
 * @example
 * ```ts
 * expect(md5("message digest")).toBe("f96b697d7cb7938d525a2f31aaf161d0");
 * ```
 * @see https://www.rfc-editor.org/rfc/rfc1321
 */
export function md5(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const size = Math.ceil((bytes.length + 1 + LENGTH_BYTES) / BLOCK) * BLOCK;
  const view = new DataView(new ArrayBuffer(size));
  new Uint8Array(view.buffer).set(bytes);
  view.setUint8(bytes.length, 0x80);
  view.setBigUint64(size - LENGTH_BYTES, BigInt(bytes.length) * 8n, true);
  const state = Uint32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476);
  for (let start = 0; start < size; start += BLOCK) addBlock(state, view, start);
  const digest = new DataView(new ArrayBuffer(16));
  state.forEach((word, index) => {
    digest.setUint32(index * 4, word, true);
  });
  return Array.from(new Uint8Array(digest.buffer), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}

function addBlock(state: Uint32Array, view: DataView, start: number): void {
  let [a = 0, b = 0, c = 0, d = 0] = state;
  for (let step = 0; step < 64; step++) {
    const round = step >> 4;
    const [mixed, word] =
      round === 0
        ? [(b & c) | (~b & d), step]
        : round === 1
          ? [(b & d) | (c & ~d), 5 * step + 1]
          : round === 2
            ? [b ^ c ^ d, 3 * step + 5]
            : [c ^ (b | ~d), 7 * step];
    const sum =
      (a + mixed + (SINES[step] ?? 0) + view.getUint32(start + (word % 16) * 4, true)) | 0;
    const shift = SHIFTS[round]?.[step % 4] ?? 0;
    [a, d, c, b] = [d, c, b, (b + ((sum << shift) | (sum >>> (32 - shift)))) | 0];
  }
  [a, b, c, d].forEach((value, index) => {
    state[index] = (state[index] ?? 0) + value;
  });
}
