/** The command of a declared action: its arguments, flags, help, lines and `--json`. @module */
import {
  type Action,
  type Columns,
  record,
  type Subject,
  text,
} from "../../records/actions/mod.ts";
import type { KeySubject, TableSubject } from "../../records/apps/mod.ts";
import {
  type PersonSubject,
  type RoleSubject,
  toCanonicalEmail,
} from "../../records/people/mod.ts";
import { isIdText } from "../../records/secrets/mod.ts";
import { isObject } from "../../std/json.ts";
import { type Arguments, RejectedError, UsageError } from "../command.ts";
import { confirm, YES } from "../terminal.ts";
import { describeJson, readTyped, toFlag } from "./command.ts";
import { type Chosen, forSeveral } from "./several.ts";
import { type AdminDeps, type AdminRow, confirmNewRole, NEW_ROLE } from "./task.ts";

type Texts = Readonly<Record<string, string>>;

/** How commands name a kind of record. */
type SubjectArguments<Of extends Subject> = {
  /** The arguments, each with an example. */
  args: Texts;
  /** As in documents. */
  toNamed: (args: Texts) => Of["named"];
  toRef: (named: Of["named"]) => Of["ref"];
  columns: Columns;
};

export const ON_PERSON: SubjectArguments<PersonSubject> = {
  args: { email: "ada@example.org" },
  toNamed: ({ email = "" }) => ({ email: toCanonicalEmail(email) }),
  toRef: ({ email }) => email,
  columns: { email: text() },
};

export const ON_ROLE: SubjectArguments<RoleSubject> = {
  args: { email: "ada@example.org", app: "wiki" },
  toNamed: ({ email = "", app = "" }) => ({ email: toCanonicalEmail(email), app }),
  toRef: (named) => named,
  columns: { email: text(), app: text() },
};

export const ON_KEY: SubjectArguments<KeySubject> = {
  args: { key_id: "k3x9q0m2w8z5t1ab" },
  toNamed: ({ key_id = "" }) => ({ keyId: readKeyId(key_id) }),
  toRef: (named) => named,
  columns: { keyId: text() },
};

/** The error does not repeat the text: it can be a whole key, typed by mistake. */
function readKeyId(text: string): string {
  if (isIdText(text)) return text;
  throw new UsageError(
    "Cannot read the key's id: must be the 16 characters between the first _ and the dot of a key",
  );
}

export const ON_TABLE: SubjectArguments<TableSubject> = {
  args: { table: "todos" },
  toNamed: ({ table = "" }) => ({ table }),
  toRef: ({ table }) => table,
  columns: { table: text() },
};

/** The document and the lines of a result that no line describes. */
type Print = (deps: AdminDeps, result: never) => Promise<{ document: object; lines: string[] }>;

/** The commands of the actions that have one, by name. */
export function makeActionCommands<Of extends Subject>(
  subject: SubjectArguments<Of>,
  actions: Readonly<Record<string, Action<Of>>>,
  print: Readonly<Record<string, Print>> = {},
): Record<string, AdminRow> {
  return Object.fromEntries(
    Object.entries(actions).flatMap(([name, action]) => {
      const { command } = action;
      return command ? [[command, makeActionCommand(subject, action, print[name])]] : [];
    }),
  );
}

export function makeActionCommand<Of extends Subject>(
  subject: SubjectArguments<Of>,
  action: Action<Of>,
  print?: Print,
): AdminRow {
  const { run, says, newRole, command = "", summary = "", about, confirm: ask } = action;
  const inputs = Object.entries(action.inputs ?? {});
  const ofInputs = inputs.flatMap(([, { argument, example }]) => (argument && example) || []);
  const examples = [...Object.values(subject.args), ...ofInputs];
  const flags = inputs.filter(([, { argument }]) => argument === undefined);
  const columns = { ...subject.columns, ...action.json };
  const single: AdminRow = {
    summary,
    example: action.example ?? ["rowhouse admin", command, ...examples].join(" "),
    about: describeJson(record(columns), about),
    positionals: listPositionals(subject, action),
    flags: {
      ...Object.fromEntries(flags.map(([name, input]) => [name, toFlag(input)])),
      ...(newRole && NEW_ROLE),
      ...(ask && YES),
    },
    task: async (deps, args) => {
      const { named, ref, values } = readGiven(subject, action, args);
      if (newRole) await confirmNewRole(deps, args.has("new-role"), newRole(ref, values));
      if (ask) {
        const { message, what, typed } = await ask(deps, ref);
        const isYes = (reply: string) => reply.toLowerCase() === typed;
        const question = `Type ${what} to continue:`;
        await confirm(deps, args.has("yes"), { message, question, isYes });
      }
      const result = await run(deps, ref, values);
      if (result === false) throw new RejectedError(says.none?.(named) ?? "Nothing was changed");
      const { document, lines = [] } = (await print?.(deps, result as never)) ?? {};
      const all = { ...named, ...values, ...(isObject(result) && result), ...document };
      const shown = show(columns, action, all);
      return { ...shown, lines: [...shown.lines, ...lines] };
    },
  };
  return action.several === undefined
    ? single
    : forSeveral(single, {
        people: "known",
        ...(action.canDryRun === false && { canDryRun: false }),
        json: columns,
        run: (deps, chosen) => runOnSeveral(deps, { subject, action, columns }, chosen),
      });
}

async function runOnSeveral<Of extends Subject>(
  deps: AdminDeps,
  { subject, action, columns }: Several<Of>,
  { people, args, terms, isDryRun, reject }: Chosen,
) {
  const { newRole, says, several } = action;
  const emails = people.map(({ email }) => email);
  const { text } = args;
  const all = emails.map((email) =>
    readGiven(subject, action, { positionals: [email, ...terms], text }),
  );
  const [{ named, ref, values } = readGiven(subject, action, args)] = all;
  if (newRole && !isDryRun) await confirmNewRole(deps, args.has("new-role"), newRole(ref, values));
  const none = await several?.(deps, emails, { named, values, isDryRun });
  reject(none ?? [], (email) => says.none?.({ ...named, email }) ?? "");
  const shown = all.map((given) =>
    show(columns, action, { ...given.named, ...given.values }, isDryRun),
  );
  return {
    people: shown.map(({ document }) => document),
    lines: shown.flatMap(({ lines }) => lines),
  };
}

type Several<Of extends Subject> = {
  subject: SubjectArguments<Of>;
  action: Action<Of>;
  columns: Columns;
};

function listPositionals<Of extends Subject>(
  { args }: SubjectArguments<Of>,
  { inputs }: Action<Of>,
) {
  const ofInputs = Object.values(inputs ?? {}).flatMap(({ argument }) => argument ?? []);
  return [...Object.keys(args), ...ofInputs];
}

/** @throws {UsageError} a value breaks the rule of its input */
function readGiven<Of extends Subject>(
  subject: SubjectArguments<Of>,
  action: Action<Of>,
  { positionals, text }: Pick<Arguments, "positionals" | "text">,
) {
  const names = listPositionals(subject, action);
  const typed = Object.fromEntries(names.map((name, index) => [name, positionals[index] ?? ""]));
  const values = Object.entries(action.inputs ?? {}).map(([name, input]) => {
    const { argument } = input;
    const value = argument === undefined ? (text(name) ?? input.default) : (typed[argument] ?? "");
    return [
      name,
      value === undefined ? undefined : readTyped(input, argument ?? `--${name}`, value),
    ];
  });
  const named = subject.toNamed(typed);
  return { named, ref: subject.toRef(named), values: Object.fromEntries(values) };
}

/** The document, whose columns the help has, and its lines. */
function show<Of extends Subject>(
  columns: Columns,
  { says }: Action<Of>,
  given: Readonly<Record<string, unknown>>,
  isDryRun = false,
) {
  const values = Object.entries(columns).map(([name, { fixed }]) => [
    name,
    fixed ?? given[name] ?? null,
  ]);
  // A test compares the documents with their columns.
  const document = Object.fromEntries(values) as never;
  return {
    document,
    lines: says.line === undefined ? [] : [says.line(document, isDryRun)],
    notes: says.note === undefined ? [] : [says.note(document)],
  };
}
