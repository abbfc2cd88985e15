/** A session without a sign-in, for tests of rules: only in a database of `rowhouse dev`. @module */
import { type Database, SERVICE_QUEUE } from "./pool/mod.ts";
import { readDevState } from "./provision.ts";

type DevSession = {
  readonly userId: string;
  readonly id: string;
  readonly secretId: string;
  readonly sessionDigest: string;
  readonly identityDigest: string;
  readonly maxS: number;
};

/** @throws {Error} `dev` did not create the database: no other one gets a session without a password */
export async function startDevSession(admin: Database, session: DevSession): Promise<void> {
  const { isMarked } = await readDevState(admin);
  if (!isMarked) throw new Error("Cannot start a session: this is not a database of rowhouse dev");
  await admin.query(
    `select rowhouse.start_session($1::pg_catalog.uuid, '', $2, pg_catalog.decode($3, 'hex'),
      pg_catalog.decode($4, 'hex'), $5, $6::pg_catalog.int4, pg_catalog.now(), null, '127.0.0.1', 'rowhouse dev', true)`,
    [
      session.userId,
      session.id,
      session.sessionDigest,
      session.identityDigest,
      session.secretId,
      session.maxS,
    ],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
}
