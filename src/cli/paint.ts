/** Color on terminals, unless it is disabled. Color is never the only sign. @module */
import type { Environment } from "../settings/environment.ts";

const CODES = { green: 32, yellow: 33, red: 31, dim: 2 } as const;
type Color = keyof typeof CODES;
export type Paint = (color: Color, text: string) => string;

/** @see https://no-color.org */
export function makePaint(env: Environment, isTerminal: boolean): Paint {
  const isPlain = !isTerminal || !isColorful(env);
  return (color, text) => (isPlain ? text : `${toSequence(CODES[color])}${text}${toSequence(0)}`);
}

/** Those of colors, and their end. */
export const SEQUENCES: ReadonlySet<string> = new Set([0, ...Object.values(CODES)].map(toSequence));

function toSequence(code: number): string {
  return `\u001B[${code}m`;
}

/** Whether the environment allows color and redrawing. */
export function isColorful(env: Environment): boolean {
  return !env["NO_COLOR"] && env["TERM"] !== "dumb";
}
