/**
 * The template database: migrated once per server, and copied for every test database. Its name contains a digest of its
 * sources. On a server that outlives the run, the next run uses it again.
 *
 * @module
 */
import { join } from "node:path";
import { MIGRATIONS } from "../../src/db/migrations/mod.ts";
import { DIGEST } from "../../src/db/migrations/state.ts";

/** The administrator of a server: runs statements, and returns the rows of one. */
export type Root = { message: (text: string) => Promise<readonly unknown[]> };

/** Sources of a template's contents, in addition to the migrations: logins and their rights. */
const SOURCES = [
  join(import.meta.dirname, "cluster.ts"),
  join(import.meta.dirname, "../../deploy/superuser.sql"),
  join(import.meta.dirname, "../../src/db/migrations/grant_login.ts"),
];

/**
 * Returns the name of this server's template. If it does not exist, `make` creates and fills a database with the given name,
 * which becomes the template.
 */
export async function findTemplate(
  root: Root,
  make: (name: string) => Promise<void>,
): Promise<string> {
  const template = `rowhouse_template_${await readDigest()}`;
  const [found] = await root.message(
    `select from pg_catalog.pg_database where datname = '${template}'`,
  );
  if (found !== undefined) return template;
  const making = `rowhouse_making_${crypto.randomUUID().replaceAll("-", "")}`;
  await make(making);
  await rejectSessions(root, making);
  await endSessions(root, making);
  // Another process may have created the same template first.
  await root.message(`do $$ begin
    alter database ${making} rename to ${template};
  exception when duplicate_database then null; end $$; select 1`);
  await root.message(`drop database if exists ${making}`);
  return template;
}

async function readDigest(): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256").update(JSON.stringify([MIGRATIONS, DIGEST]));
  for (const path of SOURCES) hasher.update(await Bun.file(path).text());
  return hasher.digest("hex").slice(0, 16);
}

/** Copies a database, including rights on the database and settings of roles in it, which PostgreSQL does not copy. */
export async function copyDatabase(
  root: Root,
  { template, name }: { template: string; name: string },
): Promise<void> {
  // Copies the cache of the catalogs too, which the first connection would build.
  await root.message(`create database ${name} template ${template} strategy file_copy`);
  await root.message(`update pg_database set datacl = (select datacl from pg_database where datname = '${template}')
      where datname = '${name}';
    insert into pg_db_role_setting (setdatabase, setrole, setconfig)
      select (select oid from pg_database where datname = '${name}'), setrole, setconfig from pg_db_role_setting
      where setdatabase = (select oid from pg_database where datname = '${template}');
    select 1`);
}

/** Makes the server reject new connections to a database, because PostgreSQL cannot copy a database with connections. */
export async function rejectSessions(root: Root, name: string): Promise<void> {
  await root.message(
    `update pg_database set datallowconn = false where datname = '${name}'; select 1`,
  );
}

export async function endSessions(root: Root, name: string): Promise<void> {
  await root.message(
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`,
  );
}
