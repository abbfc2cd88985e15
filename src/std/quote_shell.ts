/**
 * Quotes text for a POSIX shell. Never lets a character of the text end its word, or reach a
 * terminal as a control character.
 *
 * @module
 */

const PLAIN = /^[A-Za-z0-9_./:@%+=,-]+$/;
const CONTROL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const ESCAPED = /[\\'\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * One word of a shell command. Text that needs no quotes stays as it is. Control characters are escaped as in bash and zsh.
 *
 * @example
 * ```ts
 * expect(quoteForShell("https://api.example.org")).toBe("https://api.example.org");
 * expect(quoteForShell("it's $(id)")).toBe("'it'\\''s $(id)'");
 * expect(quoteForShell("a\u001b[201~b")).toBe("$'a\\u001b[201~b'");
 * ```
 */
export function quoteForShell(text: string): string {
  if (PLAIN.test(text)) return text;
  if (!CONTROL.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  return `$'${text.replace(ESCAPED, toShellEscape)}'`;
}

function toShellEscape(character: string): string {
  if (character === "'" || character === "\\") return `\\${character}`;
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff
    ? `\\U${code.toString(16).padStart(8, "0")}`
    : `\\u${code.toString(16).padStart(4, "0")}`;
}
