/** Attempts for an API key, a session cookie and a dump. The keys are the sentences of docs/security.md. @module */
import { expect } from "bun:test";
import { SESSION_COOKIE } from "../../../src/identity/mod.ts";
import { revokeKey, toProof } from "../../../src/records/apps/mod.ts";
import { makePasswordLink } from "../../../src/records/people/mod.ts";
import { defineSchema, t } from "../../../src/schema/mod.ts";
import { testDeps } from "../../support/deps.ts";
import { makeHistory, postMigrations } from "../../support/history.ts";
import { type Jar, PASSWORD, sharedCookie, signInAs, visit } from "../../support/people.ts";
import { freshName } from "../../support/push.ts";
import { keepsCodes } from "./factors.ts";
import { dumpsNoPasskey } from "./passkeys.ts";
import { opensNoRows } from "./person_keys.ts";
import { hidesValues, keepsRules, keepsValues } from "./schema_keys.ts";
import { digestOf, guesses, HISTORY, LIST, makeKey, me, type Page, type World } from "./world.ts";

export const CREDENTIALS: Page = {
  "An API key": {
    Can: {
      "do what its scopes allow with the rows and tables of its app, until it expires or is revoked.":
        async (world) => {
          expect(
            (
              await world.service.call(world.mine, LIST, {
                method: "POST",
                json: { title: "made" },
              })
            ).status,
          ).toBe(201);
          expect((await world.service.call(world.mine, "/v1/data/schema")).status).toBe(200);
          const key = await makeKey(world, world.mine, new Date(Date.now() - 1000));
          expect((await world.service.call(world.mine, LIST, { key })).status).toBe(401);
        },
    },
    Cannot: {
      "reach a row of another app, or learn whether it exists.": async (world) => {
        const responses = await Promise.all(
          [world.otherRow, Bun.randomUUIDv7()].map((id) =>
            world.service.call(world.mine, `${LIST}/${id}`),
          ),
        );
        expect(
          responses.map(
            ({ status, text }) => `${status} ${text.replaceAll(/[0-9a-f-]{36}/g, "id")}`,
          ),
        ).toEqual(Array(2).fill(expect.stringMatching(/^404 /)));
        expect(
          new Set(responses.map(({ text }) => text.replaceAll(/[0-9a-f-]{36}/g, "id"))).size,
        ).toBe(1);
        expect((await world.service.call(world.mine, LIST)).text).not.toContain("theirs");
      },
      "push, without the scope `schema:push`, or delete values by a push, without `schema:drop`. The database checks both.":
        keepsValues,
      "give people more rights on rows by [rules](push.md#wider-rules), without `schema:rules`.":
        keepsRules,
      "learn how many rows or which values exist from a plan, without `data:read`.": hidesValues,
      "run the SQL in a migration: a service reads only the definition from its text.": async (
        world,
      ) => {
        const { service } = world;
        const app = await service.makeApp();
        const name = freshName();
        const schema = defineSchema({ [name]: { title: t.string() } });
        const texts = makeHistory([schema], {
          sql: `drop table data.${LIST.split("/").at(-1)} cascade;\n`,
        });
        const response = await postMigrations({ service, app }, texts, schema);
        expect(response.json).toMatchObject({ status: "applied", steps: [`create table ${name}`] });
        expect((await service.call(world.mine, LIST)).status).toBe(200);
      },
      "be used after it is revoked, even in a process that has cached it.": async (world) => {
        const key = await makeKey(world, world.mine);
        expect((await world.service.call(world.mine, LIST, { key })).status).toBe(200);
        await revokeKey({ admin: world.service.service.admin }, key.split(/[_.]/)[1] ?? "");
        expect((await world.service.call(world.mine, LIST, { key })).status).toBe(401);
      },
      "read the history of rows, or choose the id of a new row.": async (world) => {
        await world.rejects("all", HISTORY);
        const id = Bun.randomUUIDv7();
        const { json, text } = await world.service.call(world.mine, LIST, {
          method: "POST",
          json: { id, title: "x" },
          headers: { prefer: "ids=sent" },
        });
        expect({ text, ...(json as { id: string }) }).not.toMatchObject({ id });
      },
    },
  },
  "A session's cookie": {
    Can: {
      "act as the person in every app until the session ends, and end it.": async (world) => {
        const own = await signInAs(world.service, world.victim);
        expect((await me(world, sharedCookie(own))).json).toMatchObject({ id: world.victim.id });
        const headers = { cookie: sharedCookie(own) };
        expect(
          (await world.service.call(undefined, "/v1/auth/logout", { method: "POST", headers }))
            .status,
        ).toBe(204);
        expect((await me(world, sharedCookie(own))).status).toBe(401);
      },
    },
    Cannot: {
      "open the identity pages, which require a second cookie that no other host receives.": async (
        world,
      ) => {
        const page = await visit(
          world.service,
          new Map([[SESSION_COOKIE, world.jar.get(SESSION_COOKIE) ?? ""]]),
          "/login",
        );
        expect(page.text).toContain('name="password"');
        const both = await visit(world.service, new Map(world.jar), "/login");
        expect(both.text).toContain(world.victim.email);
      },
      "get a person's key, or open a row: the exchange needs the second cookie, and data routes ignore cookies.":
        opensNoRows,
      "end the person's other sessions, or set a password.": async (world) => {
        const second = await signInAs(world.service, world.victim);
        const thief: Jar = new Map([[SESSION_COOKIE, world.jar.get(SESSION_COOKIE) ?? ""]]);
        await visit(world.service, thief, "/sign-out", {
          fields: { everywhere: "yes", form_token: "" },
        });
        expect((await me(world, sharedCookie(second))).status).toBe(200);
        expect((await visit(world.service, thief, "/set-password")).status).toBe(404);
      },
    },
  },
  "A dump of the database": {
    Can: {
      "read every row, person, role and definition in it.": async (world) => {
        const dump = await dumpAll(world);
        for (const text of ["theirs", world.victim.email, "super_admin", world.other.slug])
          expect(dump).toContain(text);
      },
    },
    Cannot: {
      "present a key, a session or a link: it contains only their digests.": async (world) => {
        const { linkText } = await makePasswordLink(
          testDeps(world.service.service),
          world.victim.email,
        );
        const dump = await dumpAll(world);
        const secretOf = (text: string) => text.slice(text.indexOf(".") + 1);
        const proof = toProof(secretOf(world.other.key));
        for (const secret of [
          secretOf(world.other.key),
          secretOf(linkText),
          Buffer.from(proof).toString("hex"),
          ...[...world.jar.values()].map(secretOf),
        ])
          expect([secret.length > 20, dump.includes(secret)]).toEqual([true, false]);
        const digest = digestOf(proof);
        expect(dump).toContain(digest);
        const id = world.other.key.split(".")[0];
        expect(
          (await world.service.call(world.other, LIST, { key: `${id}.${digest}` })).status,
        ).toBe(401);
      },
      "generate a code of an authenticator app, or use a recovery code.": (world) =>
        keepsCodes(world, () => dumpAll(world)),
      "sign in with a passkey: it contains only the public key.": dumpsNoPasskey,
      "check a guessed password, without `IDENTITY_SECRET`.": async (world) => {
        expect(await guesses(world, PASSWORD)).toEqual({ withSecret: true, without: false });
        expect(await guesses(world, "not the password")).toEqual({
          withSecret: false,
          without: false,
        });
      },
    },
  },
};

async function dumpAll(world: World): Promise<string> {
  const { rows } = await world.tryAs(
    "admin",
    "select relnamespace::regnamespace || '.' || quote_ident(relname) as name from pg_class where relkind = 'r' and relnamespace in ('rowhouse'::regnamespace, 'data'::regnamespace)",
  );
  const texts = await Promise.all(
    rows.map(async ({ name }) =>
      JSON.stringify(
        (await world.tryAs("admin", `select row_to_json(t)::text as row from ${name} as t`)).rows,
      ),
    ),
  );
  return texts.join("\n");
}
