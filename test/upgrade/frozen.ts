/** A database that a released version filled, as its dump and what the version answered; and loading it into a new cluster. @module */
import { type Database, readRows, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { makeIdentitySecrets, toStoredDigest } from "../../src/records/secrets/identity_secrets.ts";
import { withDatabase } from "../support/cluster.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { DATABASE } from "./database.ts";
import { toPath } from "./packed.ts";
import type { World } from "./world.ts";

export type Frozen = {
  /** ISO 8601. */
  madeAt: string;
  issuer: string;
  /** The previews with which it was filled. */
  preview: string;
  world: World;
  /** Output of `pg_dumpall --roles-only`. */
  roles: string;
  /** Plain output of `pg_dump --create`, with an INSERT for each row. */
  dump: string;
  contents: Contents;
};

/** The rows of each table as sorted texts, by table. */
export type Contents = Readonly<Record<string, { columns: string[]; rows: string[] }>>;

export async function readFrozen(version: string): Promise<Frozen> {
  const bytes = await Bun.zstdDecompress(await Bun.file(toPath(version, "database")).bytes());
  return JSON.parse(new TextDecoder().decode(bytes)) as Frozen;
}

/** Loads the roles and the database into a new cluster, as a superuser who restores a backup. */
export async function loadFrozen({ roles, dump }: Frozen, clusterUrl: string): Promise<void> {
  const { username } = new URL(clusterUrl);
  const isOwn = (line: string) => new RegExp(`^(CREATE|ALTER) ROLE ${username}\\b`).test(line);
  const [head = "", ...rest] = toStatements(dump).split(/^\\connect .*\n/m);
  await withDatabase(clusterUrl, async (superuser) => {
    const statements = toStatements(roles)
      .split("\n")
      .filter((line) => !isOwn(line));
    await superuser.message(`${statements.join("\n")}; select 1`);
    // CREATE DATABASE must be alone.
    for (const statement of head.split(/;\n/)) {
      const text = statement.replaceAll(/^(--.*)?\n/gm, "").trim();
      if (text !== "" && !text.startsWith("SET ")) await superuser.message(text);
    }
  });
  const url = new URL(clusterUrl);
  url.pathname = `/${DATABASE}`;
  await withDatabase(url.href, (superuser) => superuser.message(`${rest.join("")}; select 1`));
}

/** Without the commands of psql that newer releases of pg_dump add. */
function toStatements(text: string): string {
  return text.replaceAll(/^\\(un)?restrict .*\n/gm, "");
}

/**
 * Moves the times of the service's records, as if the database had just been filled. Otherwise sessions, links and idempotency keys
 * would have expired, and column sets without a use would go.
 */
export async function renewTimes(admin: Database, { madeAt, world }: Frozen): Promise<void> {
  const seconds = Math.floor((Date.now() - Date.parse(madeAt)) / 1000);
  const columns = await readRows<{ table: string; name: string }>(
    admin,
    `select table_name as "table", column_name as name from information_schema.columns
      join information_schema.tables using (table_schema, table_name)
      where table_schema = 'rowhouse' and data_type = 'timestamp with time zone' and table_type = 'BASE TABLE'`,
  );
  const updates = columns.map(
    ({ table, name }) =>
      `update rowhouse.${table} set ${name} = ${name} + interval '${seconds} seconds' where isfinite(${name});`,
  );
  await admin.message(
    `set local session_replication_role = replica; ${updates.join("\n")} select 1`,
  );
  for (const link of world.people.links) await renewLink(admin, link);
}

/** The digest of a link covers the time when it expires. */
async function renewLink(admin: Database, link: string): Promise<void> {
  const [id = "", secret = ""] = (link.split("token=")[1] ?? "").split(".");
  const options = { retry: "safe", queue: SERVICE_QUEUE } as const;
  const [row] = await admin.query<{ user: string; expires: string }>(
    `select user_id as user, extract(epoch from expires_at)::bigint::text as expires
      from rowhouse.password_links where id = $1`,
    [id],
    options,
  );
  if (row === undefined) throw new Error(`The frozen database lacks the link ${id}`);
  const { current } = makeIdentitySecrets([TEST_IDENTITY_SECRET]);
  const proof = current.prove("set-password link", id, secret, row.expires);
  await admin.query(
    "update rowhouse.password_links set digest = decode($2, 'hex') where id = $1",
    [id, toStoredDigest(proof, row.user)],
    options,
  );
}

/**
 * Moves the links of people to another issuer: the provider of a test is at a free port. The digests of the earlier version must be
 * those of this release, because the moved ones are made by it.
 *
 * @throws {Error} a digest differs
 */
export async function moveLinks(admin: Database, from: string, to: string): Promise<void> {
  const { current } = makeIdentitySecrets([TEST_IDENTITY_SECRET]);
  const links = await readRows<{ subject: string; user: string; digest: string }>(
    admin,
    `select subject, user_id as user, encode(digest, 'hex') as digest from rowhouse.provider_links where issuer = $1`,
    [from],
  );
  if (links.length === 0) throw new Error(`The frozen database has no link of ${from}`);
  for (const { subject, user, digest } of links) {
    const digestOf = (issuer: string) =>
      toStoredDigest(current.prove("provider link", issuer, subject, user), user);
    if (digestOf(from) !== digest) throw new Error(`The link of ${subject} has another digest`);
    await admin.query(
      "update rowhouse.provider_links set issuer = $2, digest = decode($3, 'hex') where issuer = $4 and subject = $1",
      [subject, to, digestOf(to), from],
      { retry: "safe", queue: SERVICE_QUEUE },
    );
  }
}

/** Reads all rows of the service and of apps; `only`: the columns that these contents have. */
export async function readContents(admin: Database, only?: Contents): Promise<Contents> {
  const tables = await readRows<{ name: string; columns: string }>(
    admin,
    `select attrelid::regclass::text as name, string_agg(attname, ' ' order by attnum) as columns
      from pg_attribute join pg_class on pg_class.oid = attrelid
      where relnamespace in ('rowhouse'::regnamespace, 'data'::regnamespace) and relkind = 'r'
        and attnum > 0 and not attisdropped group by attrelid order by 1`,
  );
  const contents: Record<string, Contents[string]> = {};
  for (const { name, columns: text } of tables) {
    const columns = text.split(" ");
    const known = only?.[name]?.columns;
    if (only !== undefined && known === undefined) continue;
    const wanted = known?.filter((column) => columns.includes(column)) ?? columns;
    const names = wanted.map((column) => `"${column}"`).join(", ");
    const rows = await readRows<{ row: string }>(
      admin,
      `select t::text as row from (select ${names} from ${name}) as t order by t::text collate "C"`,
    );
    contents[name] = { columns: wanted, rows: rows.map(({ row }) => row) };
  }
  return contents;
}
