/**
 * Ids of the bench's apps and rows: counted, so that pgbench can make any of them from a number as the load does.
 * @module
 */

const APP = "01900000-0000-7000-8000-";
const ROW = "01900000-0000-7000-9000-";
/** Added to every number, so that its decimal digits are the last group of a uuid. */
const FIRST = 100_000_000_000;

/** How many apps there are and how many rows each has. */
export type Size = { apps: number; rows: number };

/** The id of an app, counted from 1. */
export function appId(app: number): string {
  return APP + (FIRST + app);
}

/** The id of a row of an app, both counted from 1. */
export function rowId(size: Size, app: number, row: number): string {
  return ROW + (FIRST + (app - 1) * size.rows + row);
}

/** The same in SQL, over an expression for the number. */
export function appIdSql(app: string): string {
  return `('${APP}' || (${FIRST} + ${app})::text)::uuid`;
}

export function rowIdSql(number: string): string {
  return `('${ROW}' || (${FIRST} + ${number})::text)::uuid`;
}

/** pgbench lines that draw an app and a row of it; {@linkcode DRAWN_APP} and {@linkcode DRAWN_ROW} read them. */
export function drawRow(size: Size): string {
  return drawRowOf(size, `random(1, ${size.apps})`);
}

/** The same for one app, or an expression for its number. */
export function drawRowOf(size: Size, app: number | string): string {
  return `\\set app ${app}
\\set row ${FIRST} + (:app - 1) * ${size.rows} + random(1, ${size.rows})
\\set app ${FIRST} + :app`;
}

export const DRAWN_APP = `('${APP}' || :app)::uuid`;
export const DRAWN_ROW = `('${ROW}' || :row)::uuid`;
