/**
 * Generates the functions that a browser's visitor calls from their `.sql` text.
 *
 * An action, which operators also call, has only a line above its own function:
 *
 * ```sql
 * -- action: admin, recent sign-in
 * --   old_key_id = rowhouse.key_of(app_slug text, old_key_id text)
 * create function rowhouse.revoke_key(old_key_id text, actor text) returns boolean …
 * ```
 *
 * The Console's function `rowhouse.console_revoke_key` is derived from it: it verifies the user and passes that user as
 * `actor`. Another line replaces an argument by an expression over the visitor `who` and other arguments, with their
 * types.
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
 * Functions of both forms get the `visitor` as their first argument and a proof as their first variables. So no
 * body runs before its proof. PostgreSQL rejects a function of the second form without such a line.
 *
 * @module
 */

/** The credentials of the browser (`visitor.sql`). */
const VISITOR = "visitor rowhouse.visitor";

type Proof = {
  /** Variables that raise an error unless the visitor may call the function; `who` is the visitor's id. */
  variables: string;
  logins: string;
};

/** By the text of the line `-- proves:`. Functions of the Console require the role; a super_admin has every role. */
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
  admin: proveConsole("admin", false),
  "admin, recent sign-in": proveConsole("admin", true),
  super_admin: proveConsole("super_admin", false),
  "super_admin, recent sign-in": proveConsole("super_admin", true),
};

function proveConsole(role: string, isSensitive: boolean): Proof {
  return {
    variables: `who uuid := rowhouse.check_console(visitor, '${role}', ${isSensitive});`,
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

/**
 * The text with the Console's function of every action, and every function of the second form completed.
 *
 * @throws {Error} a line `-- action:` or `-- proves:` is not followed by a function of its form, or names an unknown proof or
 *   argument
 */
export function defineVisitorFunctions(sql: string): string {
  const written = sql
    .replace(ACTION, (...match) => addConsoleFunction(match.at(-1)))
    .replace(FORM, (...match) => writeOut(match.at(-1)));
  const [left] = /^-- (?:action|proves): .*\n.*/m.exec(written) ?? [];
  if (left !== undefined) throw new Error(`Cannot read the function below this line: ${left}`);
  return written;
}

/** The argument of the Console's function, and the value that it passes on. */
type Passed = { parameters: string; passes: string };

function addConsoleFunction({
  proves = "",
  replaced = "",
  definition = "",
  name = "",
  parameters = "",
  returns = "",
  comment,
}: Parts): string {
  const replacements = new Map(replaced.split("\n").filter(Boolean).map(readReplacement));
  const own = new Map(parameters.trim().split(/,\s+/).map(readArgument));
  for (const argument of replacements.keys())
    if (!own.has(argument)) throw new Error(`rowhouse.${name} has no parameter "${argument}"`);
  const passed = [...new Map([...own, ...replacements]).values()];
  const called = `rowhouse.${name}(${passed.map(({ passes }) => passes).join(", ")})`;
  const written = writeOut({
    proves,
    name: `console_${name}`,
    parameters: passed
      .map((argument) => argument.parameters)
      .filter(Boolean)
      .join(", "),
    returns,
    body: `  ${toVerb(returns)} ${called};`,
    comment,
  });
  return `${definition}\n${written}`;
}

function readArgument(argument: string): [string, Passed] {
  const [name = ""] = argument.split(" ");
  if (name === "actor") return [name, { parameters: "", passes: "who::text" }];
  return [name, { parameters: argument, passes: name }];
}

/** By the argument's name: `mail = rowhouse.email_of(person uuid)` accepts a person and passes on the expression's value. */
function readReplacement(line: string): [string, Passed] {
  const [argument = "", expression = ""] = line.replace(/^-- +/, "").split(" = ");
  const typed = /(\w+) (?:uuid|text)\b/g;
  const parameters = expression.match(typed)?.join(", ") ?? "";
  return [argument, { parameters, passes: expression.replaceAll(typed, "$1") }];
}

function toVerb(returns: string): string {
  if (returns === "void") return "perform";
  return /^(?:table|setof)\b/.test(returns) ? "return query select * from" : "return";
}

function writeOut({ proves = "", declares = "", comment, ...parts }: Parts): string {
  const { name, parameters, returns, body } = parts;
  const proof = PROOFS[proves];
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
