/** Color on terminals, unless it is disabled. Color is never the only sign. @module */
import type { Environment } from "../../config/mod.ts";

const CODES = { green: 32, yellow: 33, red: 31, dim: 2 } as const;
export type Color = keyof typeof CODES;
export type Paint = (color: Color, text: string) => string;

/** @see https://no-color.org */
export function makePaint(env: Environment, isTerminal: boolean): Paint {
  const isPlain = !isTerminal || !isColorful(env);
  return (color, text) => (isPlain ? text : `\u001B[${CODES[color]}m${text}\u001B[0m`);
}

/** Whether the environment allows color and redrawing. */
export function isColorful(env: Environment): boolean {
  return !env["NO_COLOR"] && env["TERM"] !== "dumb";
}
