/** Times in SQL results, in a form for people and programs. @module */

/** SQL for a column's time in UTC, to the second: `2030-01-31T12:00:00Z`. `column` is a constant in the code. */
export function toUtcText(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
}
