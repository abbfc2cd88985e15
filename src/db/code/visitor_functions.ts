/**
 * Generates the functions that a browser's visitor calls from their `.sql` text.
 *
 * An action, which operators also call, has only a line above its own function:
 *
 * ```sql
 * -- action: admin, recent sign-in; logs "revoked a key", a change
 * --   old_key_id = rowhouse.key_of(app_slug text, old_key_id text)
 * create function rowhouse.revoke_key(old_key_id text, actor text) returns boolean …
 * ```
 *
 * In the Console, `rowhouse.console_act` runs it. This dispatcher has a branch for each action: it verifies the user as the
 * line requires, and passes that user as `actor`. The line also has the label of the action in the audit log, under the
 * function's name or as in `logs grant = "granted a role"`. Another line replaces an argument by an expression over the visitor
 * `who` and other arguments, with their types.
 *
 * A read that operators also call has a line `-- read: admin`. Its Console function, which is derived from it, verifies the user
 * and returns the read's object with the user as `me`.
 *
 * Any other function is written without the argument `visitor`, without a language and without a grant, below a line with
 * its required visitor and, after a semicolon, its comment:
 *
 * ```sql
 * -- proves: admin; idempotent
 * create function rowhouse.console_show_table(wanted text) returns jsonb as $$
 * begin
 *   …
 * end
 * $$;
 * ```
 *
 * It gets the `visitor` as its first argument and a proof as its first variables. So no such body, and no action, runs before
 * the proof. PostgreSQL rejects a function of the second form without such a line.
 *
 * @module
 */

import type { AuditAction } from "../switches.ts";

/** The credentials of the browser (`visitor.sql`). */
const VISITOR = "visitor rowhouse.visitor";

type Proof = {
  /** Variables that raise an error unless the visitor may call the function; `who` is the visitor's id. */
  variables: string;
  logins: string;
};

/** By the text of the line `-- proves:`. A super_admin is also an admin. */
const PROOFS: Readonly<Record<string, Proof>> = {
  /** `own` is the session, `who` its owner, whose row the action locks. */
  owner: {
    variables: `own text := rowhouse.find_visitor_session(visitor);
  who uuid := rowhouse.hold_visitor(own);`,
    logins: "rowhouse_service, rowhouse_identity",
  },
  /** Anyone with a live session, in the Console. */
  person: {
    variables: "who uuid := rowhouse.hold_visitor(rowhouse.find_visitor_session(visitor));",
    logins: "rowhouse_console",
  },
  admin: proveConsole("false"),
  "admin, recent sign-in": proveConsole("true"),
};

/** An administrator, who needs a recent sign-in if the expression is true. */
function proveConsole(isSensitive: string): Proof {
  return {
    variables: `who uuid := rowhouse.check_console(visitor, 'admin', ${isSensitive});`,
    logins: "rowhouse_console",
  };
}

type Parts = Readonly<Record<string, string | undefined>>;

const BODY = String.raw`(?:(?!\$\$)[\s\S])+?`;
const FORM = new RegExp(
  [
    String.raw`^-- proves: (?<proves>[^;\n]+)(?:; (?<comment>.+))?\ncreate function rowhouse\.(?<name>\w+)\((?<parameters>[^()]*)\)`,
    String.raw`\s+returns\s+(?<returns>${BODY}) as \$\$\n`,
    String.raw`(?:declare\n(?<declares>${BODY})\n)?begin\n(?<body>${BODY})\nend\n\$\$;$`,
  ].join(""),
  "gm",
);

const ACTION = new RegExp(
  [
    String.raw`^-- action: (?<proves>.+)\n(?<replaced>(?:--   .+\n)*)`,
    String.raw`(?<definition>create function rowhouse\.(?<name>\w+)\((?<parameters>[^()]*)\)`,
    String.raw`\s+returns\s+(?<returns>${BODY})\s+language\s${BODY}\$\$\n${BODY}\n\$\$;`,
    String.raw`(?:\ncomment on function rowhouse\.\w+ is '(?<comment>.+)';)?)$`,
  ].join(""),
  "gm",
);

const READ = new RegExp(
  [
    String.raw`^-- read: (?<proves>.+)\n(?<definition>create function rowhouse\.(?<name>\w+)\((?<parameters>[^()]*)\)`,
    String.raw`\s+returns\s+jsonb\s+language\s${BODY}\$\$\n${BODY}\n\$\$;)$`,
  ].join(""),
  "gm",
);

/**
 * The text with the Console's function of every read, and every function of the last form completed.
 *
 * @throws {Error} a line `-- action:`, `-- read:` or `-- proves:` is not followed by a function of its form, or names an unknown
 *   proof
 */
export function defineVisitorFunctions(sql: string): string {
  const written = sql
    // A label can change without another checksum.
    .replace(/^(-- action: .*); logs .*$/gm, "$1")
    .replace(READ, (...match) => addConsoleRead(match.at(-1)))
    .replace(FORM, (...match) => writeOut(match.at(-1)));
  const [left] = /^-- (?:action|read|proves): .*\n.*/m.exec(written.replace(ACTION, "")) ?? [];
  if (left !== undefined) throw new Error(`Cannot read the function below this line: ${left}`);
  return written;
}

function addConsoleRead({ definition, proves, name, parameters = "" }: Parts): string {
  const passed = parameters
    .trim()
    .split(/,\s+/)
    .map((parameter) => parameter.split(" ")[0]);
  const read = writeOut({
    proves,
    name: `console_${name}`,
    parameters,
    returns: "jsonb",
    body: `  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor))
    || rowhouse.${name}(${passed.join(", ")});`,
    comment: "idempotent",
  });
  return `${definition}\n${read}`;
}

type ConsoleAction = {
  name: string;
  needsRecentSignIn: boolean;
  /** The name and the label of its entry in the audit log, if the function has one entry. */
  logged: [string, AuditAction][];
  /** The types of the values that a caller in the Console passes, as SQL. */
  input: Readonly<Record<string, string>>;
  branch: string;
};

/** The actions in a text. @throws {Error} a line names an unknown proof or argument */
export function readActions(sql: string): ConsoleAction[] {
  return [...sql.matchAll(ACTION)].map(({ groups = {} }) => readAction(groups));
}

const LINE = /^admin(, recent sign-in)?(?:; logs (?:(\w+) = )?"(.+)"(, a change)?)?$/;

/** The argument that a caller in the Console passes, and the value that the action gets. */
type Passed = { input: Readonly<Record<string, string>>; passes: string };

function readAction({
  proves = "",
  replaced = "",
  name = "",
  parameters = "",
  returns = "",
}: Parts): ConsoleAction {
  const needed = LINE.exec(proves);
  if (needed === null) throw new Error(`rowhouse.${name}: unknown proof "${proves}"`);
  const [, recent, logged = name, label, change] = needed;
  const replacements = new Map(replaced.split("\n").filter(Boolean).map(readReplacement));
  const own = new Map(parameters.trim().split(/,\s+/).map(readArgument));
  for (const argument of replacements.keys())
    if (!own.has(argument)) throw new Error(`rowhouse.${name} has no parameter "${argument}"`);
  const passed = [...new Map([...own, ...replacements]).values()];
  const called = `rowhouse.${name}(${passed.map(({ passes }) => passes).join(", ")})`;
  return {
    name,
    needsRecentSignIn: recent !== undefined,
    logged: label === undefined ? [] : [[logged, { label, ...(change && { isChange: true }) }]],
    input: Object.assign({}, ...passed.map(({ input }) => input)),
    branch: `  when '${name}' then\n    ${renderBranch(called, returns)};`,
  };
}

function readArgument(argument: string): [string, Passed] {
  const [name = "", ...type] = argument.split(" ");
  if (name === "actor") return [name, { input: {}, passes: "who::text" }];
  const typed = type.join(" ");
  return [name, { input: { [name]: typed }, passes: renderValue(name, typed) }];
}

/** By the argument's name: `mail = rowhouse.email_of(person uuid)` accepts a person and passes on the expression's value. */
function readReplacement(line: string): [string, Passed] {
  const [argument = "", expression = ""] = line.replace(/^-- +/, "").split(" = ");
  const input: Record<string, string> = {};
  const passes = expression.replaceAll(/(\w+) (uuid|text)\b/g, (_, name: string, type: string) => {
    input[name] = type;
    return renderValue(name, type);
  });
  return [argument, { input, passes }];
}

/** A value of the argument `input`, which has the text of each value; a missing value is null. */
function renderValue(name: string, type: string): string {
  return type === "jsonb" ? `input -> '${name}'` : `(input ->> '${name}')::${type}`;
}

function renderBranch(called: string, returns: string): string {
  if (returns === "void") return `perform ${called}`;
  if (!/^(?:table|setof)\b/.test(returns)) return `result := to_jsonb(${called})`;
  return `result := (select coalesce(jsonb_agg(to_jsonb(called)), '[]') from ${called} as called)`;
}

/** The function that runs every action of an administrator. An action without a requirement of its own needs a recent sign-in. */
export function renderDispatcher(actions: readonly ConsoleAction[]): string {
  const lasting = actions.filter(({ needsRecentSignIn }) => !needsRecentSignIn);
  return writeOut({
    isSensitive: `action not in (${lasting.map(({ name }) => `'${name}'`).join(", ")})`,
    name: "console_act",
    parameters: "action text, input jsonb",
    returns: "jsonb",
    declares: "  result jsonb;",
    body: `  case action\n${actions.map(({ branch }) => branch).join("\n")}\n  end case;\n  return result;`,
    comment: "null result",
  });
}

function writeOut({ proves = "", isSensitive, declares = "", comment, ...parts }: Parts): string {
  const { name, parameters, returns, body } = parts;
  const proof = isSensitive === undefined ? PROOFS[proves] : proveConsole(isSensitive);
  if (proof === undefined) throw new Error(`rowhouse.${name}: unknown proof "${proves}"`);
  const comments =
    comment === undefined ? "" : `\ncomment on function rowhouse.${name} is '${comment}';`;
  const signature = `rowhouse.${name}(${[VISITOR, parameters].filter(Boolean).join(", ")})`;
  return `create function ${signature} returns ${returns}
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  ${proof.variables}
${declares}
begin
${body}
end
$$;
grant execute on function ${signature} to ${proof.logins};${comments}`;
}
