/** Databases of baselines before 0.1.0, with the facts that their apps, people and keys must keep. Written by `freeze_older.ts`. @module */
import { basename, join } from "node:path";
import { withDatabase } from "../support/cluster.ts";

const FOLDER = join(import.meta.dirname, "older");

/** The revisions, in the order of their names. */
export const OLDER: readonly string[] = [...new Bun.Glob("*.json.zst").scanSync(FOLDER)]
  .map((file) => basename(file, ".json.zst"))
  .sort();

export type OlderFacts = {
  keys: { alpha: string; beta: string };
  people: Record<"administrator" | "member" | "withApp", { id: string; email: string }>;
  password: string;
  /** The cookies of a signed-in browser. */
  session: [string, string][];
  totp: string;
  /** The responses of lists. */
  lists: { app: "alpha" | "beta"; table: string; text: string }[];
};

/** The roles of the cluster, which a dump of a database does not contain. */
const ROLES = `do $$
declare
  role_name text;
begin
  foreach role_name in array array['owner', 'tables', 'tenant', 'service', 'gateway', 'data', 'identity', 'console', 'rows'] loop
    if to_regrole('rowhouse_' || role_name) is null then
      execute format('create role %I', 'rowhouse_' || role_name);
    end if;
  end loop;
  grant rowhouse_tenant to rowhouse_tables;
  grant rowhouse_tables to rowhouse_owner, rowhouse_rows;
  grant rowhouse_rows to rowhouse_owner;
end $$`;

/** The service has just stopped: processes ended, sessions and stored responses are as old as they were then. */
const STOPPED = `update rowhouse.processes set ended_at = now();
update rowhouse.sessions set last_seen_at = now(), created_at = now(), proven_at = now(), expires_at = now() + interval '30 days';
update rowhouse.idempotency_keys set created_at = now();
select 1`;

/** Creates a database of an older revision; returns its administrator's URL. */
export async function loadOlder(
  clusterUrl: string,
  { revision, name }: { revision: string; name: string },
): Promise<{ url: string; facts: OlderFacts }> {
  const packed = await Bun.file(join(FOLDER, `${revision}.json.zst`)).bytes();
  const { facts, dump } = JSON.parse((await Bun.zstdDecompress(packed)).toString()) as {
    facts: OlderFacts;
    dump: string;
  };
  await withDatabase(clusterUrl, (root) =>
    root.message(`create database ${name} template template0`),
  );
  const url = new URL(clusterUrl);
  url.pathname = `/${name}`;
  // Meta-commands of psql.
  const text = dump.replace(/^\\(?:un)?restrict .*$/gm, "");
  await withDatabase(url.href, (admin) =>
    admin.message(
      [ROLES, `revoke temporary on database ${name} from public`, text, STOPPED].join(";\n"),
      { timeoutMs: 120_000 },
    ),
  );
  return { url: url.href, facts };
}
