/**
 * How a function that a browser's visitor calls is made of its `.sql` text. There it is written without arguments for cookies,
 * without a language and without a grant, below a line that names who may call it:
 *
 * ```sql
 * -- proves: admin, recent sign-in
 * create function rowhouse.console_revoke_key(app_slug text, old_key_id text) returns boolean as $$
 * begin
 *   …
 * end
 * $$;
 * ```
 *
 * The definition gets what the browser presents as its first arguments and a proof as its first variables. So no body runs
 * before its proof, and PostgreSQL rejects a function of this form that has no such line.
 *
 * @module
 */

/** The presented sessions, as lists of `<id>.<proof>`; the idle limit in seconds; the client's address. */
const PRESENTED = "session_shown text, identity_shown text, idle_s integer, shown_from text";
const PRESENTED_NAMES = "session_shown, identity_shown, idle_s, shown_from";

type Proof = {
  /** Variables that raise an error unless the visitor may call the function; `who` is the visitor's id. */
  variables: string;
  logins: string;
};

/** By the words of the line `-- proves:`. The Console's need the role; a super_admin has every one. */
const PROOFS: Readonly<Record<string, Proof>> = {
  /** `own` is the session, `who` its owner, whose row the action holds. */
  owner: {
    variables: `own text := rowhouse.find_visitor_session(${PRESENTED_NAMES});
  who uuid := rowhouse.hold_visitor(own);`,
    logins: "rowhouse_service, rowhouse_identity",
  },
  admin: proveConsole("admin", false),
  "admin, recent sign-in": proveConsole("admin", true),
  super_admin: proveConsole("super_admin", false),
  "super_admin, recent sign-in": proveConsole("super_admin", true),
};

function proveConsole(role: string, isSensitive: boolean): Proof {
  return {
    variables: `who uuid := rowhouse.check_console(
    ${PRESENTED_NAMES}, '${role}', ${isSensitive});`,
    logins: "rowhouse_console",
  };
}

type Parts = Readonly<Record<string, string | undefined>>;

const BODY = String.raw`(?:(?!\$\$)[\s\S])+?`;
const FORM = new RegExp(
  [
    String.raw`^-- proves: (?<proves>.+)\ncreate function rowhouse\.(?<name>\w+)\((?<takes>[^()]*)\)`,
    String.raw`\s+returns\s+(?<returns>${BODY}) as \$\$\n`,
    String.raw`(?:declare\n(?<declares>${BODY})\n)?begin\n(?<body>${BODY})\nend\n\$\$;$`,
  ].join(""),
  "gm",
);

/**
 * The text with every function of the form written out.
 *
 * @throws {Error} a line `-- proves:` is not followed by a function of the form, or names an unknown proof
 */
export function defineVisitorFunctions(sql: string): string {
  const written = sql.replace(FORM, (...match) => writeOut(match.at(-1)));
  const [left] = /^-- proves: .*\n.*/m.exec(written) ?? [];
  if (left !== undefined) throw new Error(`Cannot read the function below this line: ${left}`);
  return written;
}

function writeOut({ proves = "", name, takes, returns, declares = "", body }: Parts): string {
  const proof = PROOFS[proves];
  if (proof === undefined) throw new Error(`rowhouse.${name}: unknown proof "${proves}"`);
  const signature = `rowhouse.${name}(${[PRESENTED, takes].filter(Boolean).join(", ")})`;
  return `create function ${signature} returns ${returns}
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  ${proof.variables}
${declares}
begin
${body}
end
$$;
grant execute on function ${signature} to ${proof.logins};`;
}
