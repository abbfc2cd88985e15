/** The people that a command names: several addresses, or a CSV file. @module */

import { resolve } from "node:path";
import type { Detail } from "../../problem.ts";
import type { ListedPerson } from "../../records/people/mod.ts";
import { decodeChunks } from "../../rows/mod.ts";
import { showCount } from "../../std/count.ts";
import { type CsvRecord, makeCsvReader } from "../../std/csv.ts";
import { MAX_PEOPLE } from "../../std/limits.ts";
import { type Arguments, EXIT, type Flags, RejectedError, UsageError } from "../command.ts";

export const FILE_FLAGS = {
  file: {
    value: "csv",
    replaces: ["email"],
    about: "reads the people from a CSV file; replaces <email>",
  },
} as const satisfies Flags;

/** For the help: the columns that the command reads. */
export function describeFile(columns: readonly string[]): string {
  const [email = "", ...others] = columns;
  const [optional, then] =
    others.length === 0
      ? ["", ""]
      : [`, and can have ${others.join(", ")}`, `, then ${others.join(", ")}`];
  return `Several addresses, or a --file, change together: all of them, or after an error none, and every error is listed.
The file is CSV with max ${MAX_PEOPLE} people. Its first line has the names of the columns: ${email}${optional}; other columns do not
matter. If the first line has an address, the file has no names: the address comes first${then}.`;
}

/** A list as the command names it, and the errors of its file. */
export type PeopleList = { file: string | undefined; people: ListedPerson[]; issues: Detail[] };

/** @throws {UsageError} too many people @throws {RejectedError} no such file */
export async function readPeople(folder: string, args: Arguments): Promise<PeopleList> {
  const file = args.text("file");
  const people = args.texts("email").map((email) => ({ email, path: "" }));
  const list = file === undefined ? { people, issues: [] } : await readFile(folder, file);
  if (list.people.length > MAX_PEOPLE)
    throw new UsageError(`Too many people: must be at most ${MAX_PEOPLE} at a time`);
  return { file, ...list };
}

/** @throws {RejectedError} there are issues; lists them all, with the lines of the file */
export function rejectList({ file }: PeopleList, issues: readonly Detail[]): void {
  if (issues.length === 0) return;
  const toLine = ({ path, message }: Detail) =>
    path === "" ? `  ${message}` : `  ${file}:${path.slice(1)}: ${message}`;
  const byLine = issues.toSorted((a, b) => Number(a.path.slice(1)) - Number(b.path.slice(1)));
  throw new RejectedError(
    [`Nothing was changed: ${showCount(issues.length, "error")}`, ...byLine.map(toLine)].join("\n"),
    EXIT.rejected,
    { code: "invalid_request", details: byLine },
  );
}

async function readFile(folder: string, file: string): Promise<Omit<PeopleList, "file">> {
  const stored = Bun.file(resolve(folder, file));
  if (!(await stored.exists())) throw new RejectedError(`File not found: ${file}`);
  const reader = makeCsvReader();
  const records: CsvRecord[] = [];
  for await (const decoded of decodeChunks(stored.stream())) {
    if ("issue" in decoded) throw new RejectedError(`Cannot read ${file}: ${decoded.issue}`);
    records.push(...reader.push(decoded.text));
  }
  records.push(...reader.end());
  return toPeople(records);
}

/** Only an address has an @, so its absence shows that the first line has names. */
function toPeople(records: readonly CsvRecord[]): Omit<PeopleList, "file"> {
  const [head, ...rest] = records;
  if (head === undefined) return { people: [], issues: [{ path: "/1", message: "Is empty" }] };
  const names = head.fields.map(({ text }) => text.trim().toLowerCase());
  const hasNames = !names.some((name) => name.includes("@"));
  const [email, name] = hasNames ? ["email", "name"].map((name) => names.indexOf(name)) : [0, 1];
  if (email === undefined || email === -1)
    return { people: [], issues: [{ path: `/${head.line}`, message: NO_EMAIL }] };
  const rows = hasNames ? rest : records;
  const broken = rows.flatMap(({ line, issues }) =>
    issues.map((message) => ({ path: `/${line}`, message })),
  );
  const people = rows
    .filter(({ issues }) => issues.length === 0)
    .map(({ line, fields }) => ({
      email: fields[email]?.text.trim() ?? "",
      name: fields[name ?? -1]?.text.trim(),
      path: `/${line}`,
    }));
  const none = people.length + broken.length === 0;
  return { people, issues: none ? [{ path: `/${head.line}`, message: "Lists no one" }] : broken };
}

const NO_EMAIL = 'The first line must have an address, or names of columns with "email"';
