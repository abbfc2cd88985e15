/**
 * Fills a database with a few rows of everything, in the tree of an older revision: `freeze_older.ts` copies this file there and
 * runs it. Uses only what the tests' helpers have had since 54a9feb9.
 *
 * @module
 */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import example from "../../schema/mod.ts";
import { DEBIAN_BIN, runTool } from "../support/debian_cluster.ts";
import { makeHolder, toNamed } from "../support/passkeys.ts";
import { makePerson, PASSWORD, signInAs } from "../support/people.ts";
import { enrol } from "../support/second_factor.ts";
import { openTestService } from "../support/service.ts";

/** The file to write. */
const file = process.env["OLDER_FILE"];

/** What no command of the tests creates: a row for each table that the test of the move reads. */
const MORE = `
do $$ begin
  if to_regprocedure('rowhouse.set_app_live(text, boolean, text)') is not null then
    perform rowhouse.set_app_live('alpha', true, 'operator');
    perform rowhouse.set_people_list('alpha', true, 'operator');
    perform rowhouse.set_app_disabled('gamma', true, 'operator');
  elsif to_regprocedure('rowhouse.set_app_switch(text, text, boolean, text)') is not null then
    perform rowhouse.set_app_switch('alpha', 'live', true, 'operator');
    perform rowhouse.set_app_switch('alpha', 'people_list', true, 'operator');
    perform rowhouse.set_app_switch('gamma', 'disabled', true, 'operator');
  end if;
end $$;
insert into rowhouse.provider_links (issuer, subject, user_id, digest, secret_id)
select 'https://login.example.org', 'subject-1', id, sha256('x'), 'one' from rowhouse.users order by email limit 1;
insert into rowhouse.invitations (user_id, invited_by) select id, 'operator' from rowhouse.users order by email limit 1;
insert into rowhouse.mails (template, user_id, details) select 'invitation', id, '{"a": null}' from rowhouse.users order by email limit 1;
insert into rowhouse.throttle (key, attempts, ends_at) values ('somewhere', 3, '2031-01-01 00:00:00.123456+00');
insert into rowhouse.statistics (app_id, span, at, requests, errors, rejections, latencies)
values ('00000000-0000-0000-0000-000000000000', 'hour', '2026-01-01', 5, 1, 1, array_fill(1::bigint, array[12]));
insert into rowhouse.stored_requests (id, app_id, at, method, route, status, code, ms, table_name, paths)
values ('01890000-0000-7000-8000-000000000001', null, '2026-01-01', 'GET', '/v1/data/db/:table', 500, 'internal', 12, 'todos', '{/title}');
update rowhouse.processes set ended_at = now();
select 1`;

test("fills a database of this revision", async () => {
  const { defineSchema, t } = await importLanguage();
  const service = toNamed(
    await openTestService({
      service: { previews: ["live"] },
      identity: (port) => ({
        publicUrl: `http://localhost:${port}`,
        identityUrl: `http://localhost:${port}`,
      }),
    }),
  );
  const { admin } = service.service;
  const origins = ["https://alpha.example.org"];
  const alpha = await service.makeApp(example, {
    slug: "alpha",
    origins,
    redirects: ["https://alpha.example.org/back"],
  });
  const beta = await service.makeApp(undefined, { slug: "beta" });
  await service.makeApp(undefined, { slug: "gamma" });
  await service.pushSchema(
    alpha,
    defineSchema({
      projects: {
        name: t.string().required().unique(),
        archived: t.boolean().required().default(false),
      },
      todos: t
        .model({
          title: t.string().required(),
          status: t
            .enum(["open", "doing", "done", "lost \\ 'n' \"found\""])
            .required()
            .default("open"),
          project: t.ref("projects", { onDelete: "cascade" }),
          position: t.number(),
          estimate_hours: t.decimal(),
          checklist: t.json(),
          due_at: t.timestamp(),
          noted_at: t.timestamp().required().default("now"),
          other: t.uuid(),
          parent: t.ref("todos"),
        })
        .index("status", "due_at")
        .unique("project", "title"),
    }),
  );
  await service.pushSchema(
    beta,
    defineSchema({
      projects: { name: t.string().required().unique() },
      only_beta: { note: t.string() },
    }),
  );
  const create = async (
    app: typeof alpha,
    table: string,
    json: Record<string, unknown>,
    key?: string,
  ) => {
    const response = await service.call(app, `/v1/data/db/${table}`, {
      ...{ method: "POST", json },
      ...(key === undefined ? {} : { headers: { "idempotency-key": key } }),
    });
    expect(response.status).toBe(201);
    return response.json as { id: string };
  };
  const project = await create(
    alpha,
    "projects",
    { name: 'Home ünï\u2028\\x "q"' },
    "first-project",
  );
  const todo = await create(alpha, "todos", {
    ...{ title: "Milk", status: "lost \\ 'n' \"found\"", project: project.id, position: 0.1 },
    ...{
      estimate_hours: "123456789012345678901234567890.123456789",
      due_at: "2031-02-03T04:05:06.123456Z",
    },
    ...{
      checklist: { items: [{ text: "a\\b", done: null }], n: 1e21 },
      other: Bun.randomUUIDv7(),
    },
  });
  await create(alpha, "todos", { title: "Bread", parent: todo.id, checklist: [] });
  for (let index = 0; index < 5; index++)
    await create(beta, index % 2 === 0 ? "projects" : "only_beta", {
      [index % 2 === 0 ? "name" : "note"]: `n${index}`,
    });
  const lists = await Promise.all(
    [
      [alpha, "projects"],
      [alpha, "todos"],
      [beta, "projects"],
      [beta, "only_beta"],
    ].map(async ([app, table]) => {
      const { text } = await service.call(app as typeof alpha, `/v1/data/db/${table}?limit=100`);
      return { app: (app as typeof alpha).slug, table, text };
    }),
  );
  const administrator = await makePerson(service, { consoleRole: "super_admin", name: "Ada" });
  const member = await makePerson(service, { app: alpha, role: "editor" });
  const session = await signInAs(service, member);
  const withApp = await makePerson(service, { app: beta });
  const { key: totp, codes } = await enrol(service, await signInAs(service, withApp));
  await makeHolder(service);
  await admin.message(MORE);
  const facts = {
    keys: { alpha: alpha.key, beta: beta.key },
    people: { administrator, member, withApp },
    ...{ password: PASSWORD, session: [...session], totp, codes, lists, project },
  };
  const url = new URL(service.database.adminUrl);
  const dump = runTool("pg_dump", ["--inserts", "--rows-per-insert=100", url.href]);
  expect(existsSync(join(DEBIAN_BIN, "pg_dump"))).toBe(true);
  await Bun.write(file ?? "", JSON.stringify({ facts, dump }));
  await service.close();
}, 120_000);

/** The schema language was in another folder. */
async function importLanguage(): Promise<typeof import("../../src/schema/mod.ts")> {
  const path = ["dsl", "schema"]
    .map((name) => join(import.meta.dirname, `../../src/${name}/mod.ts`))
    .find(existsSync);
  return await import(path ?? "");
}
