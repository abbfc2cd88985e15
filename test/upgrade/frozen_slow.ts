/**
 * The database of each packed version, upgraded by the working tree's `migrate`: every row is unchanged, and every key, session,
 * factor, link, idempotency key, cursor, project and archive of that version still does what it did. A reduced run upgrades only the
 * newest on both servers.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "../../src/db/mod.ts";
import { readRows } from "../../src/db/mod.ts";
import { makeAuthenticator } from "../support/authenticator.ts";
import { dumpCatalog } from "../support/catalog_dump.ts";
import { withDatabase } from "../support/cluster.ts";
import { ROOT, runCommand } from "../support/command.ts";
import { openEvents, type StreamEvent } from "../support/event_stream.ts";
import { submitPasskey } from "../support/passkeys.ts";
import {
  type Jar,
  PASSWORD,
  readHidden,
  submitSignIn,
  toCookieHeader,
  type VisitedService,
  visit,
} from "../support/people.ts";
import type { TestProvider } from "../support/provider.ts";
import { signInWith } from "../support/provider_people.ts";
import {
  enterFactor,
  makeAuthenticator as makeApp,
  passPassword,
} from "../support/second_factor.ts";
import { type Call, callService, type TestApp, type TestResponse } from "../support/service.ts";
import { isFull } from "../support/tier.ts";
import { finishDatabase, LOGINS, migrateAll, toOperator } from "./database.ts";
import { type Contents, moveLinks, readContents } from "./frozen.ts";
import { PREVIOUS, VERSIONS } from "./packed.ts";
import { startOurs, toProviderSettings } from "./provider.ts";
import { type Serving, startServing } from "./serving.ts";
import { isInstalled, openStage, type Stage } from "./stage.ts";
import { CARDS, call, type KeyName, openPersonKey, restoreProject, type World } from "./world.ts";

/** What `migrate` itself writes: facts of the program. */
const FACTS = [
  ...["service_migrations", "code", "release", "isolation_checks", "versions"],
  ...["verified_sets", "body_digests", "kept_bodies"],
  // The builds of indexes in their new form.
  "deferred_steps",
];
const DECLARED = ["audit_actions", "app_switches", "account_actions"];
const isOfProgram = (table: string) =>
  [...FACTS, ...DECLARED].some((name) => table === `rowhouse.${name}`);

/** The lines of objects of apps. */
const OF_APPS =
  /^(CREATE (UNIQUE )?INDEX \S+ ON |[OD]; CREATE .* ON |[a-z ]+ )?(data\.|api\.|find\.\w+__finder\()/;

const COMBINATIONS = VERSIONS.flatMap((version) =>
  (["18", "15"] as const)
    .filter((server) => isInstalled[server])
    .filter((server) => isFull() || version === PREVIOUS || server === "18")
    .map((server) => ({ version, server })),
);

describe.each(COMBINATIONS)(
  "a database of $version, upgraded on $server",
  ({ version, server }) => {
    let stage: Stage;
    let world: World;
    let provider: TestProvider;
    let serving: Serving;
    let service: VisitedService;
    let before: Contents;
    let after: Contents;
    const callable: Record<"before" | "after", string[]> = { before: [], after: [] };
    /** The first event of a stream that continues one of the previous version, and the row that it missed. */
    let continued: StreamEvent | undefined;
    let missed: unknown;
    const changes = "/v1/data/db/pages/changes";
    beforeAll(async () => {
      stage = await openStage(version, server);
      world = stage.frozen.world;
      provider = await startOurs();
      provider.accounts.set("provided", { email: "provided@example.org", email_verified: true });
      const { addresses, program, frozen } = stage;
      await withDatabase(addresses.admin, (admin) =>
        moveLinks(admin, frozen.issuer, provider.settings.issuer),
      );
      const settings = toProviderSettings(provider);
      const one = { addresses, settings, shape: "one", workers: 1 } as const;
      serving = await startServing({ ...one, program });
      const events = await openEvents(serving.url + changes, { key: world.keys.wiki });
      const since = (await events.next())?.id;
      await events.close();
      missed = await call(serving, world.keys.wiki, "/v1/data/db/pages", { title: "missed" });
      await serving.stop();

      await withDatabase(addresses.admin, async (admin) => {
        [before, callable.before] = [await readContents(admin), await readCallable(admin)];
        await migrateAll(addresses, ROOT);
        [after, callable.after] = [await readContents(admin, before), await readCallable(admin)];
      });
      serving = await startServing({ ...one, program: ROOT });
      provider.register(`${serving.url}/oidc/ours/callback`);
      service = {
        url: serving.url,
        call: (app, path, sent) => callService(serving, app, path, sent),
      };
      const again = await openEvents(serving.url + changes, { key: world.keys.wiki, since });
      continued = await again.next();
      await again.close();
      const { id } = missed as { id: string };
      await ask("wiki", `/v1/data/db/pages/${id}`, { method: "DELETE" });
    }, 300_000);
    afterAll(async () => {
      await serving.stop();
      await provider.stop();
      await stage.close();
    });

    const asApp = (key: KeyName): TestApp => ({ id: "", slug: "", key: world.keys[key] });
    const ask = (key: KeyName, path: string, sent?: Call): Promise<TestResponse> =>
      callService(serving, asApp(key), path, sent);
    const run = (argv: readonly string[], env = {}) =>
      runCommand(argv, { folder: stage.folder, env: { ...toOperator(stage.addresses), ...env } });
    const me = (cookie: string) =>
      callService(serving, undefined, "/v1/auth/me?app=wiki", { headers: { cookie } });

    test("was loaded exactly", () => {
      expect(stage.loaded).toEqual(stage.frozen.contents);
    });

    test("has the same rows, digests, keys, sessions and migrations", () => {
      const names = Object.keys(before).filter((table) => !isOfProgram(table));
      expect(names.length).toBeGreaterThan(40);
      for (const name of names) expect([name, after[name]]).toEqual([name, before[name]]);
    });

    test("knows the last sign-in of its people, and the issuers of its keys", async () => {
      const [found] = await withDatabase(stage.addresses.admin, (admin) =>
        readRows<{ known: boolean; issued: boolean }>(
          admin,
          `select bool_or(signed.at is not null) and bool_and(last_sign_in_at is not distinct from signed.at
              or last_sign_in_at > signed.at) as known,
            (select bool_and(issued_by is not null) from rowhouse.api_keys) as issued
          from rowhouse.users left join lateral (select max(at) as at from rowhouse.audit
            where user_id = users.id and action = 'sign_in') as signed on true`,
        ),
      );
      expect(found).toEqual({ known: true, issued: true });
    });

    test("has the definitions of a new database, after the second step of the upgrade", async () => {
      const { admin } = stage.addresses;
      const contract = () => run(["migrate", "--contract", "--yes"]);
      expect(await contract()).toMatchObject({ code: 1, err: expect.stringContaining(version) });
      await withDatabase(admin, (superuser) =>
        superuser.message(
          "update rowhouse.processes set seen_at = seen_at - interval '1 hour'; select 1",
        ),
      );
      expect(await contract()).toMatchObject({ code: 0, err: "" });
      await withDatabase(admin, (superuser) => superuser.message("create database fresh"));
      const fresh = atDatabase(stage, "fresh");
      await migrateAll(fresh, ROOT);
      await finishDatabase(fresh, ROOT);
      const dumpService = async (url: string) => {
        const dump = await withDatabase(url, dumpCatalog);
        return Object.fromEntries(
          Object.entries(dump).map(([kind, lines]) => [
            kind,
            lines.filter((line) => !OF_APPS.test(line)),
          ]),
        );
      };
      expect(await dumpService(admin)).toEqual(await dumpService(fresh.admin));
    }, 300_000);

    if (version === PREVIOUS)
      test("keeps every function that the previous version can call", () => {
        expect(callable.before.length).toBeGreaterThan(200);
        const names = readNames(stage.program);
        const called = callable.before.filter((line) => names.has(line.split(" ")[1] ?? ""));
        expect(called.length).toBeGreaterThan(200);
        expect(called.filter((line) => !callable.after.includes(line))).toEqual([]);
      });

    test("answers every read of the previous version with the same bytes", async () => {
      expect(world.reads.length).toBeGreaterThan(20);
      for (const { key, path, text } of world.reads)
        expect([key, path, (await ask(key, path)).text]).toEqual([key, path, text]);
    });

    test("continues an event stream", () => {
      expect(continued).toMatchObject({ kind: "changes", data: [{ put: missed }] });
    });

    test("resets a stream of the cluster from which it was restored", async () => {
      await using events = await openEvents(serving.url + changes, {
        ...{ key: world.keys.wiki, since: world.cursor },
      });
      expect(await events.next()).toMatchObject({ kind: "reset" });
    });

    test("accepts its keys, and no ended key", async () => {
      const statuses: Record<string, number> = {};
      for (const key of Object.keys(world.keys) as KeyName[])
        statuses[key] = (await ask(key, "/v1/data/db/pages?limit=1")).status;
      const ended = { revoked: 401, expired: 401, disabled: 401 };
      const live = { wiki: 200, shop: 200, old: 200, next: 200, frozen: 200 };
      // The app "diverged" has no such table.
      expect(statuses).toEqual({ ...live, diverged: 404, ...ended });
      const row = { method: "POST", json: { title: "x" } };
      expect(await ask("frozen", "/v1/data/db/pages", row)).toMatchObject({ status: 503 });
      expect(await ask("old", "/v1/data/db/pages", row)).toMatchObject({ status: 403 });
    });

    test("accepts its sessions, and no ended session", async () => {
      const { live, administrator, ended } = world.sessions;
      expect(await me(live)).toMatchObject({ status: 200 });
      expect(await me(ended)).toMatchObject({ status: 401 });
      const headers = { cookie: administrator };
      const page = await callService(serving, undefined, "/console/activity", { headers });
      expect(page.status).toBe(200);
      expect(page.text).toContain("shop");
    });

    test("lets the person of a session continue in a browser, and shows the history of the row", async () => {
      const { card, sessions } = world;
      const key = await openPersonKey(serving, sessions.live);
      const path = `/v1/data/db/${CARDS}`;
      expect(await call(serving, key, path)).toMatchObject({
        rows: [{ id: card.id, title: card.after }],
      });
      await call(serving, key, `${path}/${card.id}`, { title: "Changed again" }, "PATCH");
      const history = `/console/apps/wiki/tables/${CARDS}/rows/${card.id}/history`;
      const headers = { cookie: sessions.administrator };
      const page = await callService(serving, undefined, history, { headers });
      expect(page.status).toBe(200);
      for (const title of [card.before, card.after, "Changed again"])
        expect(page.text).toContain(title);
    });

    test("signs people in by each factor", async () => {
      const { password, totp, passkey, provided } = world.people;
      const signedIn = async (jar: Jar) => (await me(toCookieHeader(jar))).status;
      const [plain, wrong]: [Jar, Jar] = [new Map(), new Map()];
      expect((await submitSignIn(service, plain, { email: password })).status).toBe(303);
      expect(await signedIn(plain)).toBe(200);
      const rejected = await submitSignIn(service, wrong, {
        email: password,
        password: `${PASSWORD}s`,
      });
      expect(rejected.status).not.toBe(303);

      const [code, recovery] = [makeApp(totp.key).code(), totp.codes[0] ?? ""];
      for (const [typed, status] of [
        [{ code }, 303],
        [{ recovery }, 303],
        [{ recovery }, 422],
      ] as const) {
        const { jar } = await passPassword(service, totp);
        expect((await enterFactor(service, jar, typed)).status).toBe(status);
        if (status === 303) expect(await signedIn(jar)).toBe(200);
      }

      const holder: Jar = new Map();
      const authenticator = makeAuthenticator(serving.url, passkey.saved);
      expect((await submitPasskey(service, holder, { authenticator })).status).toBe(303);
      expect(await signedIn(holder)).toBe(200);

      const guest: Jar = new Map();
      expect((await signInWith(service, guest, { login: provided })).status).toBe(303);
      expect((await visit(service, guest, "/account")).status).toBe(200);
      const { ["rowhouse.provider_links"]: links } = await withDatabase(
        stage.addresses.admin,
        (admin) => readContents(admin, before),
      );
      expect(links).toEqual(before["rowhouse.provider_links"]);
    });

    test("accepts its links once", async () => {
      for (const link of world.people.links) {
        const jar: Jar = new Map();
        const page = await visit(service, jar, link);
        expect(page.status).toBe(200);
        const typed = {
          password: "seven slow green boats",
          password_again: "seven slow green boats",
        };
        const fields = { ...readHidden(page.text), ...typed };
        const path = link.split("?")[0] ?? "";
        expect((await visit(service, jar, path, { fields })).status).toBeLessThan(400);
        expect((await visit(service, new Map(), link)).status).toBeGreaterThanOrEqual(400);
      }
    });

    test("repeats the response of an idempotency key", async () => {
      const { key, path, json, response } = world.idempotent;
      const headers = { "idempotency-key": key };
      const again = await ask("shop", path, { method: "POST", json, headers });
      expect(again).toMatchObject({ status: 201, text: response });
      expect(again.headers.get("idempotency-replayed")).toBe("true");
      const other = await ask("shop", path, { method: "POST", json: { name: "other" }, headers });
      expect(other.status).toBe(422);
    });

    test("gets the next migration of a project, and its undoing", async () => {
      restoreProject(world, stage.folder, ROOT);
      const path = join(stage.folder, "schema/mod.ts");
      const original = readFileSync(path, "utf8");
      const db = async (...argv: string[]) => {
        const env = { ROWHOUSE_URL: serving.url, ROWHOUSE_API_KEY: world.keys.wiki };
        const { code, out, err } = await run(["db", ...argv], env);
        expect([code, err]).toEqual([0, ""]);
        return out;
      };
      await db("check");
      writeFileSync(path, original.replace("drafts: {", "drafts: { added: t.integer().index(),"));
      await db("push", "--yes");
      const row = { method: "POST", json: { text: "new", added: 7 } };
      expect(await ask("wiki", "/v1/data/db/drafts", row)).toMatchObject({ json: { added: 7 } });
      writeFileSync(path, original);
      await db("drop", "drafts.added", "--yes");
      await db("check");
      const { json } = await ask("wiki", "/v1/data/db/drafts?limit=1000");
      expect((json as { rows: object[] }).rows.filter((one) => "added" in one)).toEqual([]);
    }, 300_000);

    test("imports its archive", async () => {
      const archive = join(stage.folder, "shop.archive");
      writeFileSync(archive, Buffer.from(world.archive, "base64"));
      const { code, err } = await run(["admin", "import-app", archive, "--as", "copied"]);
      expect(code === 0 ? "" : err).toBe("");
      const after = await withDatabase(stage.addresses.admin, (admin) => readContents(admin));
      const orders = after["data.orders"]?.rows.length ?? 0;
      expect(orders).toBe(2 * (stage.loaded["data.orders"]?.rows.length ?? 0));
    }, 300_000);

    test("is sound for the doctor", async () => {
      const { code, out } = await run(["doctor", "--operator"]);
      expect(out.match(/^.*FAIL.*$/gm)).toBeNull();
      expect(code).toBe(0);
    }, 300_000);
  },
);

/** The functions of the service that each login can call, with the names of their arguments. */
async function readCallable(admin: Database): Promise<string[]> {
  const rows = await readRows<{ line: string }>(
    admin,
    `select concat_ws(' ', login, proname, pg_get_function_arguments(oid), pg_get_function_result(oid)) as line
      from pg_proc cross join unnest(string_to_array($1, ' ')) as logins (login)
      where pronamespace = 'rowhouse'::regnamespace and has_function_privilege(login, oid, 'execute')`,
    [LOGINS.join(" ")],
  );
  return rows.map(({ line }) => line);
}

/** A comment that fills its lines: it calls nothing. */
const COMMENT = /^ *\/\*\*[\s\S]*?\*\/$|^ *\/\/.*$/gm;

/**
 * The words of a program's TypeScript, which has all SQL of requests and of apps' functions. The service's functions that only its
 * SQL names are called by functions that the same transaction replaces.
 */
function readNames(program: string): Set<string> {
  const paths = Array.from(new Bun.Glob("src/**/*.{ts,tsx}").scanSync(program));
  const words = paths.flatMap(
    (path) => readFileSync(join(program, path), "utf8").replace(COMMENT, "").match(/\w+/g) ?? [],
  );
  return new Set(words);
}

/** The stage's addresses in another database. */
function atDatabase({ addresses }: Stage, name: string): Stage["addresses"] {
  const moved = Object.entries(addresses).map(([login, url]) => {
    if (typeof url !== "string" || login === "preview") return [login, url];
    return [login, Object.assign(new URL(url), { pathname: `/${name}` }).href];
  });
  return Object.fromEntries(moved) as Stage["addresses"];
}
