/** Echoes: a value that a statement repeats, so that a result can be compared with its request. @module */

const PROCESS = crypto.randomUUID();
let echoes = 0;

/** Makes an echo that no other call of any process has. */
export function makeEcho(): string {
  echoes++;
  return `${PROCESS}-${echoes}`;
}

/** The column that repeats the echo, by the position of the echo's parameter. It is the last one. */
export function echoColumn(position: number): string {
  return `$${position}::pg_catalog.text as echo`;
}

/** Whether every row of a result repeats the echo of its request; `false` without rows. */
export function hasEcho(rows: readonly unknown[], echo: string): boolean {
  return rows.length > 0 && rows.every((row) => readEcho(row) === echo);
}

/** The driver returns an object, or for raw results a list of bytes. */
function readEcho(row: unknown): string {
  const isObject = typeof row === "object" && row !== null;
  return String(Array.isArray(row) ? row.at(-1) : isObject && Reflect.get(row, "echo"));
}
