/** Color on terminals, unless it is disabled. Color is never the only sign. @module */
import type { Environment } from "../settings/mod.ts";

const CODES = { green: 32, yellow: 33, red: 31, dim: 2 } as const;
export type Color = keyof typeof CODES;
export type Paint = (color: Color, text: string) => string;

/** @see https://no-color.org */
export function makePaint(env: Environment, isTerminal: boolean): Paint {
  const isPlain = !isTerminal || !isColorful(env);
  return (color, text) => (isPlain ? text : `${toSequence(CODES[color])}${text}${toSequence(0)}`);
}

const SEQUENCES: ReadonlySet<string> = new Set([0, ...Object.values(CODES)].map(toSequence));

function toSequence(code: number): string {
  return `\u001B[${code}m`;
}

/** Whether a control sequence is a color, or its end. */
export function isColor(sequence: string): boolean {
  return SEQUENCES.has(sequence);
}

/** Whether the environment allows color and redrawing. */
export function isColorful(env: Environment): boolean {
  return !env["NO_COLOR"] && env["TERM"] !== "dumb";
}
