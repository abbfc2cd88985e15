/** Commands that need root. @module */

/** Returns the command, with sudo in front if the tests do not run as root. */
export function asRoot(...command: readonly string[]): string[] {
  return [...(process.getuid?.() === 0 ? [] : ["sudo", "--non-interactive"]), ...command];
}
