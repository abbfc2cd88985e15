/** Echoes: a value that a statement repeats, so that a result can be compared with its request. @module */

const PROCESS = crypto.randomUUID();
let echoes = 0;

/** Makes an echo that no other call of any process has. */
export function makeEcho(): string {
  echoes++;
  return `${PROCESS}-${echoes}`;
}

/** The column that repeats the echo, by the position of the echo's parameter. */
export function echoColumn(position: number): string {
  return `$${position}::pg_catalog.text as echo`;
}
