/** Finds API keys in texts that people paste into fields whose content is sent in an address. Also used in browsers. @module */

/** A whole or truncated key: `<prefix>_<id>.<secret>`. A file's name can end with an id and an extension. */
const KEY = /[A-Za-z0-9-]{1,16}_([a-z0-9]{16})\s*\.\s*[0-9A-Za-z]{8,}/;
/**
 * A secret without its key: 49 characters of every class. Never a part of a cursor in an address: these are base64url, which
 * has no text of 49 characters.
 */
const SECRET = /(?<![\w-])(?=[a-z]*[0-9A-Z])(?=[A-Z]*[0-9a-z])(?=\D*\d)[0-9A-Za-z]{49}(?![\w-])/g;

/**
 * The id of the key in a text, such as a line of a `.env` file; otherwise the text without secrets.
 *
 * @example
 * ```ts
 * const key = `rh_0123456789abcdef.${"aB3".repeat(16)}x`;
 * expect(withoutKeySecrets(`ROWHOUSE_API_KEY=${key}`)).toBe("0123456789abcdef");
 * expect(withoutKeySecrets(`secret ${"aB3".repeat(16)}x`)).toBe("secret ");
 * expect(withoutKeySecrets(`A-${"aB3".repeat(16)}x_Z`)).toBe(`A-${"aB3".repeat(16)}x_Z`);
 * expect(withoutKeySecrets("photo_0123456789abcdef.jpeg")).toBe("photo_0123456789abcdef.jpeg");
 * expect(withoutKeySecrets("0123456789abcdef.example.org")).toBe("0123456789abcdef.example.org");
 * ```
 */
export function withoutKeySecrets(text: string): string {
  return KEY.exec(text)?.[1] ?? text.replace(SECRET, "");
}

/** The id in a text that is a key without its secret, such as `rh_0123456789abcdef`; other texts are unchanged. */
export function toKeyId(text: string): string {
  return /(?:^|[=\s"'])[A-Za-z0-9-]{1,16}_([a-z0-9]{16})\W*$/.exec(text)?.[1] ?? text;
}
