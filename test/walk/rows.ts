/** The rows that a newcomer has in files: texts that need care in a CSV, missing values, and references by name. @module */

export type Todo = {
  title: string;
  status: "open" | "doing" | "done";
  project: string;
  estimate_hours: string | null;
  checklist: unknown;
  noted_at: string;
};

export const PROJECTS = Array.from({ length: 5000 }, (_, at) => ({ name: `Project ${at}` }));

const STATUSES = ["open", "doing", "done"] as const;
const TITLES = ["Plain", 'A "quote", a comma', "Two\nlines", "=1+1", "Grüße 👋 ", "null", "'; --"];
const START_MS = Date.UTC(2026, 0, 2);

/** Todos, each with its own title. */
export function makeTodos(count: number): Todo[] {
  return Array.from({ length: count }, (_, at) => ({
    title: `${TITLES[at % TITLES.length]}${at}`,
    status: STATUSES[at % STATUSES.length] ?? "open",
    project: `Project ${at % PROJECTS.length}`,
    estimate_hours: at % 4 === 0 ? null : `${at}.${at % 10}0`,
    checklist: at % 5 === 0 ? { items: [{ done: at % 2 === 0, text: `"${at}"` }] } : null,
    noted_at: new Date(START_MS + at * 1001).toISOString(),
  }));
}

/** Rows of equal columns as a CSV; every field is quoted, except a missing value. */
export function toCsv(rows: readonly object[]): string {
  const names = Object.keys(rows[0] ?? {});
  const lines = rows.map((row) => Object.values(row).map(toField).join(","));
  return `${[names.join(","), ...lines].join("\n")}\n`;
}

function toField(value: unknown): string {
  if (value === null) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return `"${text.replaceAll('"', '""')}"`;
}
