/**
 * What the database says about itself by an SQLSTATE, such as a full disk: the log, doctor and commands get our sentence,
 * callers only that of a full disk, and none gets PostgreSQL's.
 */
import { afterAll, expect, test } from "bun:test";
import postgres from "postgres";
import { explainFailure } from "../../src/cli/database.ts";
import { Problem } from "../../src/problem.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { toFailedCheck } from "../../src/service/unavailable.ts";
import { eventually } from "../support/eventually.ts";
import { openTestService, UNGUARDED } from "../support/service.ts";

const LIST = "/v1/data/db/notes";
/** PostgreSQL's text, which quotes other apps' rows. */
const TEXT = "secret row of another app";

const service = await openTestService({ service: UNGUARDED });
const app = await service.makeApp(defineSchema({ notes: { title: t.string().required() } }));
const superuser = postgres(service.database.superuserUrl, { max: 1, onnotice: () => undefined });
await superuser.unsafe(`
    create function public.fail_as() returns trigger language plpgsql as $$
    begin
      raise exception '${TEXT}' using errcode = new.title;
    end $$;
    create trigger fail_as before insert on data.notes for each row
      when (new.title ~ '^[0-9][0-9A-Z]{4}$') execute function public.fail_as()`);
afterAll(async () => {
  await superuser.end();
  await service.close();
});

const CASES = [
  { state: "53100", says: "disk is full", advises: "disk space" },
  { state: "53200", says: "out of memory", advises: "memory" },
  { state: "53300", says: "no free connection", advises: "max_connections" },
  { state: "53400", says: "limit of its configuration", advises: "temp_file_limit" },
  { state: "58030", says: "read or write its files", advises: "disk" },
  { state: "25006", says: "accepts only reads", advises: "primary" },
  { state: "55000", says: "not ready", advises: "allow_connections" },
  { state: "57P04", says: "was dropped", advises: "restore" },
  { state: "57P03", says: "starting, stopping or recovering", advises: undefined },
  { state: "55P03", says: "waited too long for a lock", advises: undefined },
] as const;

test.each(CASES)("$state: $says", async ({ state, says, advises }) => {
  const start = service.log.length;
  for (let n = 0; n < 3; n++) {
    const { status, json, text, headers } = await service.call(app, LIST, {
      ...{ method: "POST", json: { title: state } },
    });
    expect(status).toBe(503);
    // How the service is operated is nothing for callers.
    expect(text.includes(says)).toBe(state === "53100");
    expect(json).toMatchObject({ error: "unavailable" });
    expect(text).toContain("nothing was written");
    expect(headers.has("retry-after")).toBe(true);
    expect(text).not.toContain(TEXT);
  }
  const lines = service.log.slice(start);
  expect(lines.join("\n")).not.toContain(TEXT);
  const events = lines.filter((line) => line.includes('"event":"database condition"'));
  expect(events).toHaveLength(advises === undefined ? 0 : 1);
  if (advises !== undefined)
    expect(JSON.parse(events[0] ?? "")).toMatchObject({
      level: "error",
      cause: state,
      message: expect.stringMatching(new RegExp(`${says}.*: .*${advises}`)),
    });
  const cause = Object.assign(new Error(TEXT), { code: state });
  const failed = new Problem("unavailable", { cause });
  const [result] = toFailedCheck("rows", "DATABASE_URL")(failed);
  expect(result?.message).toContain(says);
  expect(result?.remedy).toContain(advises ?? "doctor");
  const address = { url: service.database.adminUrl, variable: "ADMIN_DATABASE_URL" } as const;
  const explained = String(explainFailure(failed, address));
  if (state !== "25006" && state !== "55P03") expect(explained).toContain(says);
  expect(explained).not.toMatch(new RegExp(`start it|${TEXT}`));
});

test("an outage says why the database refuses connections", async () => {
  const start = service.log.length;
  const url = new URL(service.database.superuserUrl);
  const name = url.pathname.slice(1);
  url.pathname = "/postgres";
  const elsewhere = postgres(url.href, { max: 1 });
  await elsewhere.unsafe(`alter database ${name} allow_connections false`);
  await elsewhere`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`;
  await eventually(async () => (await service.call(app, LIST)).status === 503);
  await eventually(() =>
    service.log.slice(start).some((line) => line.includes('"event":"database unavailable"')),
  );
  const { text } = await service.call(app, LIST);
  expect(text).not.toMatch(/does not accept connections|pooler/);
  const line = service.log.find((each) => each.includes('"event":"database unavailable"'));
  // A pooler has one SQLSTATE for all rejections.
  expect(line).toMatch(/The database (does not accept connections.*allow_connections|is behind)/);
  await elsewhere.unsafe(`alter database ${name} allow_connections true`);
  await elsewhere.end();
  await eventually(async () => (await service.call(app, LIST)).status === 200);
});
