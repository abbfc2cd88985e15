/**
 * How a function is made that a browser's visitor calls: it takes what the browser shows before anything else, and proves
 * who asks before it does anything else.
 *
 * @module
 */

/** The presented sessions, as lists of `<id>.<proof>`; the idle limit in seconds; the client's address. */
export const SHOWN = "session_shown text, identity_shown text, idle_s integer, shown_from text";

/** The id of the one live session that these prove. */
export const SHOWN_SESSION =
  "rowhouse.find_visitor_session(session_shown, identity_shown, idle_s, shown_from)";

export type ShownFunction = {
  /** Without its schema. */
  name: string;
  /** What it takes after what the browser shows, such as `app_slug text, most integer`. */
  takes?: string;
  /** Such as `jsonb`; nothing, if it is left out. */
  returns?: string;
  /** Further variables, each with its semicolon. */
  declares?: string;
  /** Statements between `begin` and `end`. */
  body: string;
};

/** The SQL that defines the function, with the variables that prove who asks, and its grant. */
export function defineShownFunction(
  { name, takes, returns = "void", declares = "", body }: ShownFunction,
  { proves, logins }: { proves: string; logins: string },
): string {
  const signature = `rowhouse.${name}(${SHOWN}${takes === undefined ? "" : `, ${takes}`})`;
  return `
create function ${signature} returns ${returns}
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  ${proves}
  ${declares}
begin
  ${body}
end
$$;
grant execute on function ${signature} to ${logins};
`;
}
