/** Rows in a new user's files: texts that need escaping in a CSV, missing values, and references by name. @module */

export type Todo = {
  title: string;
  status: "open" | "doing" | "done";
  project: string;
  estimate_hours: string | null;
  checklist: unknown;
  noted_at: string;
};

export const PROJECTS = Array.from({ length: 5000 }, (_, index) => ({ name: `Project ${index}` }));

const STATUSES = ["open", "doing", "done"] as const;
const TITLES = ["Plain", 'A "quote", a comma', "Two\nlines", "=1+1", "Grüße 👋 ", "null", "'; --"];
const START_MS = Date.UTC(2026, 0, 2);

/** Returns todos with distinct titles. */
export function makeTodos(count: number): Todo[] {
  return Array.from({ length: count }, (_, index) => ({
    title: `${TITLES[index % TITLES.length]}${index}`,
    status: STATUSES[index % STATUSES.length] ?? "open",
    project: `Project ${index % PROJECTS.length}`,
    estimate_hours: index % 4 === 0 ? null : `${index}.${index % 10}0`,
    checklist: index % 5 === 0 ? { items: [{ done: index % 2 === 0, text: `"${index}"` }] } : null,
    noted_at: new Date(START_MS + index * 1001).toISOString(),
  }));
}

/** Renders rows with the same columns as a CSV. Every field is quoted, except missing values. */
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
