/**
 * How a function of the Console is made: it takes what a browser shows before anything else, proves who asks before it does
 * anything else, and is the Console's login's to call.
 *
 * @module
 */

/** The presented sessions, as lists of `<id>.<proof>`; the idle limit in seconds; the client's address. */
export const SHOWN = "session_shown text, identity_shown text, idle_s integer, shown_from text";

export type ConsoleFunction = {
  /** Without its schema. */
  name: string;
  /** What it takes after that, such as `app_slug text, most integer`. */
  takes?: string;
  /** Such as `jsonb`; nothing, if it is left out. */
  returns?: string;
  /** The Console role that it needs; a super_admin always has it. */
  needs?: "admin" | "super_admin";
  /** Whether it asks for a sign-in of the last ten minutes. */
  isSensitive?: boolean;
  /** Further variables, each with its semicolon; `who` is the user who asks. */
  declares?: string;
  /** Statements between `begin` and `end`. */
  body: string;
};

/** Its definition and its grant. */
export function defineConsoleFunction({
  name,
  takes,
  returns = "void",
  needs = "admin",
  isSensitive = false,
  declares = "",
  body,
}: ConsoleFunction): string {
  const signature = `rowhouse.${name}(${SHOWN}${takes === undefined ? "" : `, ${takes}`})`;
  return `
create function ${signature} returns ${returns}
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  who uuid := rowhouse.check_console(session_shown, identity_shown, idle_s, shown_from, '${needs}', ${isSensitive});
  ${declares}
begin
  ${body}
end
$$;
grant execute on function ${signature} to rowhouse_console;
`;
}
