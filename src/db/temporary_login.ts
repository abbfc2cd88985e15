/**
 * A temporary login for one task, with only one role. If an app's tables contain injected code, the
 * code runs with the rights of this task, never in an administrator's session.
 *
 * @module
 */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import { quoteLiteral, quoteName } from "../std/quote.ts";
import type { Database } from "./pool/mod.ts";

/**
 * A killed process leaves its login behind. After this time the login cannot sign in, and the next command that needs a
 * temporary login drops it.
 */
const LIFETIME_HOURS = 13;

/**
 * Disables logins that this command cannot drop, because they own objects or have a session: planted code can create objects and
 * set a password. Skips those of another administrator.
 */
const DROP_EXPIRED = `do $$
declare
  expired pg_catalog.name;
begin
  for expired in
    select rolname from pg_catalog.pg_roles
    where rolname ~ '^rowhouse_(rows|tables)_[0-9a-f]{16}$' and rolvaliduntil < pg_catalog.now()
  loop
    begin
      execute pg_catalog.format('alter role %I nologin password null', expired);
      begin
        if not exists (select from pg_catalog.pg_stat_activity where usename = expired) then
          execute pg_catalog.format('drop role %I', expired);
        end if;
      exception
        when dependent_objects_still_exist then null;
      end;
    exception
      when insufficient_privilege then null;
      when undefined_object or internal_error then null; -- another command has just dropped it
    end;
  end loop;
end $$;`;

/**
 * Runs `use` with the connection string of a new login in `group`, then drops the login.
 *
 * @throws the error of `use`, even if the login cannot be dropped
 */
export async function withTemporaryLogin<Result>(
  admin: Database,
  { url, group }: { url: string; group: "rowhouse_rows" | "rowhouse_tables" },
  use: (url: string) => Promise<Result>,
): Promise<Result> {
  const name = `${group}_${randomBytes(8).toString("hex")}`;
  const password = randomBytes(24).toString("hex");
  const until = new Date(Date.now() + LIFETIME_HOURS * 3_600_000).toISOString();
  await admin.message(
    `${DROP_EXPIRED}
    create role ${quoteName(name)} login password ${quoteLiteral(toVerifier(password))}
      valid until ${quoteLiteral(until)} in role ${group}`,
  );
  const own = new URL(url);
  own.username = name;
  own.password = password;
  const drop = async () => {
    // The login owns objects if planted code ran in its session: then it cannot be dropped, and could have another password.
    await admin.message(`alter role ${quoteName(name)} nologin password null`);
    await admin.message(`drop role ${quoteName(name)}`);
  };
  let result: Result;
  try {
    result = await use(own.href);
  } catch (error) {
    // A remaining login expires, and the next command drops it.
    await drop().catch(() => undefined);
    throw error;
  }
  await drop();
  return result;
}

const ITERATIONS = 4096;

/** The verifier that PostgreSQL stores for a password (RFC 5803), so that the server's log never contains the password. */
function toVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, "sha256");
  const sign = (text: string) => createHmac("sha256", salted).update(text).digest();
  const storedKey = createHash("sha256").update(sign("Client Key")).digest("base64");
  const serverKey = sign("Server Key").toString("base64");
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString("base64")}$${storedKey}:${serverKey}`;
}
