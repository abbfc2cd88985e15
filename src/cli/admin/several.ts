/** A command for one person that also changes several, whom it reads from addresses or a file. @module */
import { type Columns, flag, many, type Row, record } from "../../records/actions/mod.ts";
import { type ChosenPerson, readPeopleList } from "../../records/people/mod.ts";
import { type Arguments, type CommandResult, type Flags, UsageError } from "../command.ts";
import { describeJson } from "./command.ts";
import { describeFile, FILE_FLAGS, readPeople, rejectList } from "./people_file.ts";
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
type Chosen = {
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
