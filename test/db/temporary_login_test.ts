import { expect, test } from "bun:test";
import { readRows, withTemporaryLogin } from "../../src/db/mod.ts";
import { makeDatabase, withDatabase } from "../support/cluster.ts";
import { share } from "../support/share.ts";

const database = await share(makeDatabase());

const group = "rowhouse_rows";

test("a temporary login is dropped when its task fails", async () => {
  await withDatabase(database.adminUrl, async (admin) => {
    let name = "";
    const task = withTemporaryLogin(admin, { url: database.adminUrl, group }, async (url) => {
      name = new URL(url).username;
      expect(await findLogins([name])).toEqual([name]);
      throw new Error("the task failed");
    });
    await expect(task).rejects.toThrow("the task failed");
    expect(await findLogins([name])).toEqual([]);
  });
});

test("an error of a task is reported even if its login cannot be dropped", async () => {
  await withDatabase(database.adminUrl, async (admin) => {
    const task = withTemporaryLogin(admin, { url: database.adminUrl, group }, async (url) => {
      await admin.message(`drop role ${new URL(url).username}; select 1`);
      throw new Error("the task failed");
    });
    await expect(task).rejects.toThrow("the task failed");
  });
});

test("the next command drops the expired login of a killed command", async () => {
  const [expired, valid] = [toName(), toName()];
  await withDatabase(database.adminUrl, async (admin) => {
    await admin.message(`
      create role ${expired} login valid until '2020-01-01' in role ${group};
      create role ${valid} login valid until 'infinity' in role ${group}; select 1`);
    try {
      await withTemporaryLogin(admin, { url: database.adminUrl, group }, async () => undefined);
      expect(await findLogins([expired, valid])).toEqual([valid]);
    } finally {
      await admin.message(`drop role if exists ${expired}; drop role ${valid}; select 1`);
    }
  });
});

test("a login that planted code gave a password and an object is disabled at once", async () => {
  await withDatabase(database.adminUrl, async (admin) => {
    let name = "";
    const task = withTemporaryLogin(
      admin,
      { url: database.adminUrl, group: "rowhouse_tables" },
      async (url) => {
        name = new URL(url).username;
        await withDatabase(url, (own) =>
          own.message(
            `create table data.planted (); alter role ${name} password 'known'; select 1`,
          ),
        );
      },
    );
    await expect(task).rejects.toThrow("cannot be dropped");
    expect(await findUsable([name])).toEqual([]);
    await admin.message(`drop table data.planted; drop role ${name}; select 1`);
  });
});

test("the next command disables an expired login that it cannot drop", async () => {
  const expired = toName();
  await withDatabase(database.adminUrl, async (admin) => {
    await admin.message(`
      create role ${expired} login password 'known' valid until '2020-01-01' in role ${group};
      create table data.planted (); alter table data.planted owner to ${expired}; select 1`);
    await withTemporaryLogin(admin, { url: database.adminUrl, group }, async () => undefined);
    const usable = await findUsable([expired]);
    await admin.message(`drop table data.planted; drop role ${expired}; select 1`);
    expect(usable).toEqual([]);
  });
});

/** The logins that can sign in or have a password. */
async function findUsable(names: readonly string[]): Promise<string[]> {
  const rows = await withDatabase(database.adminUrl, (admin) =>
    admin.message<{ name: string }>(
      `select rolname as name from pg_catalog.pg_authid
      where rolname in (${names.map((name) => `'${name}'`).join()}) and (rolcanlogin or rolpassword is not null)`,
    ),
  );
  return rows.map(({ name }) => name);
}

function toName(): string {
  return `${group}_${crypto.randomUUID().replaceAll("-", "").slice(0, 16)}`;
}

async function findLogins(names: readonly string[]): Promise<string[]> {
  const rows = await withDatabase(database.adminUrl, (admin) =>
    readRows<{ name: string }>(
      admin,
      `select rolname as name from pg_catalog.pg_roles
      where rolname in (select value from pg_catalog.jsonb_array_elements_text($1::text::jsonb))`,
      [JSON.stringify(names)],
    ),
  );
  return rows.map(({ name }) => name);
}
