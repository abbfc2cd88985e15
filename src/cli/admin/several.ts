/** A command for one person that also changes several, whom it reads from addresses or a file. @module */
import { resolve } from "node:path";
import type { Detail } from "../../problem.ts";
import { type Columns, flag, many, type Row, record } from "../../records/actions/mod.ts";
import { type ChosenPerson, type ListedPerson, readPeopleList } from "../../records/people/mod.ts";
import { decodeChunks } from "../../rows/mod.ts";
import { showCount } from "../../std/count.ts";
import { type CsvRecord, makeCsvReader } from "../../std/csv.ts";
import { MAX_PEOPLE } from "../../std/limits.ts";
import {
  type Arguments,
  type CommandResult,
  EXIT,
  type Flags,
  RejectedError,
  UsageError,
} from "../command.ts";
import { describeJson } from "./command.ts";
import type { AdminDeps, AdminRow } from "./task.ts";

const DRY_RUN = {
  "dry-run": { about: "checks the people, and changes nothing" },
} as const satisfies Flags;

/** What the command does with several people. */
type ForSeveral<Json extends Columns> = {
  /** Whether the people must exist. */
  people: "known" | "new" | "any";
  /** Whether there is `--dry-run`. */
  canDryRun?: false;
  /** The flags that only one person can have. */
  onlyForOne?: readonly string[];
  /** The columns of the JSON document's list `people`. */
  json: Json;
  /** Runs the action, or only checks it. The lines say what a dry run would do. */
  run: (deps: AdminDeps, chosen: Chosen) => Promise<{ people: Row<Json>[]; lines: string[] }>;
};
export type Chosen = {
  people: readonly ChosenPerson[];
  args: Arguments;
  /** The arguments after the addresses. */
  terms: readonly string[];
  isDryRun: boolean;
  /** @throws {RejectedError} the line of each of these people, with the message */
  reject: (emails: readonly string[], toMessage: (email: string) => string) => void;
};

/** @throws {RejectedError} in the command: lists every error of the people, and changes no one */
export function forSeveral<Json extends Columns>(
  single: AdminRow,
  { people: wanted, canDryRun, onlyForOne = [], json, run }: ForSeveral<Json>,
): AdminRow {
  const columns = wanted === "known" ? ["email"] : ["email", "name"];
  const document = record({
    people: many(record(json)),
    ...(canDryRun !== false && { dryRun: flag() }),
  });
  const about = [single.about, describeFile(columns), describeJson(document, "", " then")];
  return {
    ...single,
    about: about.join("\n\n"),
    isForSeveral: true,
    flags: { ...single.flags, ...FILE_FLAGS, ...(canDryRun !== false && DRY_RUN) },
    task: async (deps, args): Promise<CommandResult> => {
      const isDryRun = args.has("dry-run");
      if (!isDryRun && !args.has("file") && args.texts("email").length < 2)
        return await single.task(deps, args);
      for (const name of onlyForOne)
        if (args.has(name)) throw new UsageError(`Flag --${name} is for one person only`);
      const list = await readPeople(deps.folder, args);
      const [, ...terms] = args.positionals;
      const [slug, role] = terms;
      const checked = await readPeopleList(deps, list.people, {
        people: wanted,
        ...(slug !== undefined && { slug }),
        ...(role !== undefined && { role }),
      });
      rejectList(list, [...list.issues, ...checked.issues]);
      const { people } = checked;
      const reject: Chosen["reject"] = (emails, toMessage) =>
        rejectList(
          list,
          list.people.flatMap(({ path }, index) => {
            const { email = "" } = people[index] ?? {};
            return emails.includes(email) ? [{ path, message: toMessage(email) }] : [];
          }),
        );
      const result = await run(deps, { people, args, terms, isDryRun, reject });
      const closing = isDryRun ? ["Nothing was changed"] : [];
      return {
        document: { people: result.people, ...(canDryRun !== false && { dryRun: isDryRun }) },
        lines: [...result.lines, ...closing],
      };
    },
  };
}

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
