/** Commands that need more rights than the tests may have. @module */

/** The words of a command, with sudo before them where the tests do not run as root. */
export function asRoot(...words: readonly string[]): string[] {
  return [...(process.getuid?.() === 0 ? [] : ["sudo", "--non-interactive"]), ...words];
}
