/**
 * Ids of the bench's apps and rows: numbered, so that pgbench can compute any of them as the load does.
 * @module
 */

const APP = "01900000-0000-7000-8000-";
const ROW = "01900000-0000-7000-9000-";
/** Added to every number, so that its decimal digits fill the last group of a uuid. */
const FIRST = 100_000_000_000;

/** The number of apps, and of rows per app. */
export type Size = { apps: number; rows: number };

/** Returns the id of an app, counted from 1. */
export function appId(app: number): string {
  return APP + (FIRST + app);
}

/** Returns the id of a row of an app, both counted from 1. */
export function rowId(size: Size, app: number, row: number): string {
  return ROW + (FIRST + (app - 1) * size.rows + row);
}

/** Renders the id of an app in SQL, given an expression for its number. */
export function appIdSql(app: string): string {
  return `('${APP}' || (${FIRST} + ${app})::text)::uuid`;
}

export function rowIdSql(number: string): string {
  return `('${ROW}' || (${FIRST} + ${number})::text)::uuid`;
}

/** Renders pgbench's lines that draw an app and one of its rows, for {@linkcode DRAWN_APP} and {@linkcode DRAWN_ROW}. */
export function drawRow(size: Size): string {
  return drawRowOf(size, `random(1, ${size.apps})`);
}

/** As {@linkcode drawRow}, for one app or an expression for its number. */
export function drawRowOf(size: Size, app: number | string): string {
  return `\\set app ${app}
\\set row ${FIRST} + (:app - 1) * ${size.rows} + random(1, ${size.rows})
\\set app ${FIRST} + :app`;
}

export const DRAWN_APP = `('${APP}' || :app)::uuid`;
export const DRAWN_ROW = `('${ROW}' || :row)::uuid`;
