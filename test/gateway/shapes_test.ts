/** Callers get the same responses from a single process and from a gateway with separate services. @module */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import SCHEMA from "../../schema/mod.ts";
import { FAILURES_PER_MINUTE } from "../../src/gateway/authenticate.ts";
import {
  GRACES,
  type Grace,
  issueKey,
  revokeKey,
  rollKey,
  setLimit,
} from "../../src/records/apps/mod.ts";
import { toBase62 } from "../../src/std/base62.ts";
import { testDeps } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { limitHeaders } from "../support/limit_headers.ts";
import { listKeys } from "../support/lists.ts";
import { sendRaw, writeRequest } from "../support/raw_http.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { SHAPES } from "../support/shape.ts";

const LIST = "/v1/data/db/todos";
const ORIGIN = "https://wiki.example.org";

for (const shape of SHAPES) {
  describe(`a service of the shape "${shape}"`, () => {
    let service: TestService;
    let app: TestApp;
    beforeAll(async () => {
      service = await openTestService({
        shape,
        identity: () => ({ identityUrl: "http://id.example.org" }),
      });
      app = await service.makeApp(SCHEMA, { origins: [ORIGIN] });
    });
    afterAll(() => service.close());

    /** Issues a key that reads, by default for the app of all tests. */
    const issue = ({ expiresAt, of = app }: { expiresAt?: Date; of?: TestApp } = {}) =>
      issueKey(testDeps(service.service), {
        ...{ slug: of.slug, name: "a name", scopes: ["data:read"], expiresAt },
      });

    const list = (key: string) => service.call(app, LIST, { key });

    test("a row is created, read, updated and deleted", async () => {
      const created = await service.call(app, LIST, { method: "POST", json: { title: "Milk é" } });
      expect([created.status, created.json]).toMatchObject([
        201,
        { title: "Milk é", app_id: app.id },
      ]);
      const at = created.headers.get("location") ?? "";
      expect((await service.call(app, at)).text).toBe(created.text);
      const { status, text, headers } = await service.call(app, at, { method: "HEAD" });
      expect([status, text]).toEqual([200, ""]);
      expect(headers.get("content-length")).toBe(String(Buffer.byteLength(created.text)));
      const changed = await service.call(app, at, { method: "PATCH", json: { title: "Silk" } });
      expect(changed.json).toMatchObject({ title: "Silk" });
      expect((await service.call(app, at, { method: "DELETE" })).status).toBe(204);
      expect((await service.call(app, at)).status).toBe(404);
    });

    test("a list of several megabytes is returned completely", async () => {
      const title = "x".repeat(90_000);
      const sent = { method: "POST", json: { title } };
      const creating = Array.from({ length: 40 }, () => service.call(app, LIST, sent));
      const created = await Promise.all(creating);
      expect(created.map(({ status }) => status)).toEqual(created.map(() => 201));
      const { json } = await service.call(app, LIST);
      const { rows } = json as { rows: { id: string; title: string }[] };
      expect(rows.map((row) => row.title)).toEqual(rows.map(() => title));
      const headers = { "accept-encoding": "identity" };
      const head = await service.call(app, LIST, { method: "HEAD", headers });
      expect([head.status, head.text, head.headers.get("content-length")]).toEqual([200, "", null]);
      await Promise.all(
        rows.map(({ id }) => service.call(app, `${LIST}/${id}`, { method: "DELETE" })),
      );
    });

    test("error responses contain the request id of their header", async () => {
      const { status, headers, json } = await service.call(app, `${LIST}/nothing`);
      expect([status, json]).toMatchObject([
        400,
        { error: "invalid_id", requestId: headers.get("x-request-id") },
      ]);
    });

    test("a key without the scope gets 403 before the table is checked", async () => {
      const { text } = await issue();
      expect((await list(text)).status).toBe(200);
      const sent = { method: "POST", json: {}, key: text };
      const response = await service.call(app, "/v1/data/db/nothing", sent);
      expect([response.status, response.json]).toMatchObject([403, { error: "forbidden" }]);
    });

    test("a cached key still expires", async () => {
      const { text, keyId } = await issue({ expiresAt: new Date(Date.now() + 3_600_000) });
      expect((await list(text)).status).toBe(200);
      // Simulate the end of the hour: the service does not read the key again.
      await service.service.admin.message(`update rowhouse.proofs
        set expires_at = now() - interval '1 second'
        where digest = (select digest from rowhouse.api_keys where key_id = '${keyId}'); select 1`);
      expect((await list(text)).status).toBe(401);
    });

    test.each(Object.keys(GRACES) as Grace[])(
      "a key is rolled with a grace of %s",
      async (grace) => {
        const deps = testDeps(service.service);
        const old = await issue();
        expect((await list(old.text)).status).toBe(200);
        const rolled = await rollKey(deps, old.keyId, grace);
        expect((await list(rolled.text)).status).toBe(200);
        expect((await list(old.text)).status).toBe(grace === "0" ? 401 : 200);
        const keys = await listKeys(deps, app.slug);
        const of = (id: string) => keys.find(({ keyId }) => keyId === id);
        const [copy, source] = [of(rolled.keyId), of(old.keyId)];
        expect([copy, source]).toMatchObject([
          { name: "a name", scopes: ["data:read"], status: "active", expiresAt: null },
          { name: "a name", status: grace === "0" ? "expired" : "active" },
        ]);
        const left = (rolled.oldExpiresAt.getTime() - Date.now()) / 1000;
        expect(Math.abs(left - GRACES[grace])).toBeLessThan(60);
      },
    );

    test("a rolled key expires no later than before, and its copy has the same lifetime", async () => {
      const deps = testDeps(service.service);
      const expiresAt = new Date(Date.now() + 600_000);
      const old = await issue({ expiresAt });
      const rolled = await rollKey(deps, old.keyId, "24h");
      expect(rolled.oldExpiresAt).toEqual(expiresAt);
      const later = (rolled.expiresAt?.getTime() ?? 0) - expiresAt.getTime();
      expect(Math.abs(later)).toBeLessThan(60_000);
    });

    test.each(["revoked", "expired", "unknown"])(
      "a key that is %s cannot be rolled",
      async (state) => {
        const deps = testDeps(service.service);
        const expiresAt = new Date(Date.now() + (state === "expired" ? -1000 : 60_000));
        const key = await issue({ expiresAt });
        if (state === "revoked") await revokeKey(deps, key.keyId);
        const id = state === "unknown" ? "a".repeat(16) : key.keyId;
        await expect(rollKey(deps, id, "1h")).rejects.toThrow("no active key has this id");
      },
    );

    test("only a request with the full secret counts as the last use of a key", async () => {
      const key = await issue();
      const other = await issue();
      const lastUse = async () => {
        const keys = await listKeys({ admin: service.service.admin }, app.slug);
        return keys.find(({ keyId }) => keyId === key.keyId)?.lastUsedAt;
      };
      const start = `rh_${key.keyId}.${other.text.split(".")[1]?.slice(0, -6)}`;
      expect((await list(start + toBase62(Bun.hash.crc32(start), 6))).status).toBe(401);
      expect(await lastUse()).toBeNull();
      expect((await list(key.text)).status).toBe(200);
      expect(await lastUse()).toMatch(/^\d{4}-/);
    });

    describe("limits", () => {
      test("a response reports the remaining limit, and scripts can read it", async () => {
        const call = () => service.call(app, LIST, { headers: { origin: ORIGIN } });
        // A gateway learns the origins of an app within seconds.
        await eventually(async () => (await call()).headers.has("access-control-allow-origin"));
        const { headers } = await call();
        expect(headers.get("ratelimit-policy")).toBe('"app";q=600000;w=60, "key";q=600000;w=60');
        expect(headers.get("ratelimit")).toMatch(/^"(app|key)";r=\d+;t=\d+$/);
        expect(headers.get("access-control-expose-headers")).toContain(
          "RateLimit, RateLimit-Policy, Retry-After",
        );
      });

      test("all keys of an app share its limit, and a key's own limit is separate", async () => {
        const limited = await service.makeApp(SCHEMA);
        const admin = service.service.admin;
        const second = await issue({ of: limited });
        await setLimit({ admin }, { slug: limited.slug, perMinute: 5, perMinuteOfKey: 3 });
        const policy = async () =>
          (await service.call(limited, LIST)).headers.get("ratelimit-policy");
        await eventually(async () => (await policy())?.includes("q=5;") === true);
        const sendTimes = (length: number, call = {}) =>
          Promise.all(Array.from({ length }, () => service.call(limited, LIST, call)));
        const first = await sendTimes(4);
        const rejected = first.find(({ status }) => status === 429);
        expect(rejected?.json).toMatchObject({
          error: "rate_limited",
          message: "This key is limited to 3 requests per minute",
        });
        expect(Number(rejected?.headers.get("retry-after"))).toBeGreaterThan(0);
        expect(rejected?.headers.get("ratelimit")).toMatch(/^"key";r=0;t=\d+$/);
        const others = (await sendTimes(6, { key: second.text })).map(({ status }) => status);
        expect(others).toEqual(expect.arrayContaining([200, 429]));
        expect((await service.call(app, LIST)).status).toBe(200);
        expect((await service.call(undefined, "/live")).status).toBe(200);
      });

      test.each([0, -1, 1.5, Number.NaN, 2e9])("a limit of %p is rejected", async (perMinute) => {
        const deps = { admin: service.service.admin };
        await expect(
          setLimit(deps, { slug: app.slug, perMinute, perMinuteOfKey: undefined }),
        ).rejects.toThrow("must be a whole number");
      });
    });

    /** Sends one request on a separate connection. */
    const send = (path: string, headers: readonly string[], host?: string) =>
      sendRaw(
        service.url,
        writeRequest(`GET ${path}`, ["Connection: close", ...headers], host ? { host } : {}),
      );

    test("internal headers from outside have no effect", async () => {
      const plain = await service.call(app, LIST);
      const response = await send(LIST, [
        `Authorization: Bearer ${app.key}`,
        "Rowhouse-Context: e30",
        "Rowhouse_Context: e30",
        "Rowhouse-Signature: v1=00",
        "Rowhouse-Timestamp: 1",
        "X-Forwarded-Host: id.example.org",
        "X-App-Id: 0190a0a0-0000-7000-8000-000000000002",
        "Connection: close, Rowhouse-Context",
      ]);
      expect([response.status, response.body]).toEqual([200, plain.text]);
    });

    test("the host of the identity pages serves no rows", async () => {
      const response = await send(LIST, [`Authorization: Bearer ${app.key}`], "ID.example.org");
      expect([response.status, response.body]).toEqual([404, expect.stringContaining("<html")]);
      expect((await send("/live", [], "id.example.org")).status).toBe(200);
    });

    test("the service is ready", async () => {
      expect((await service.call(undefined, "/ready")).json).toEqual({ status: "ready" });
    });

    test("the log contains no key and no secret", () => {
      const text = service.log.join("\n");
      expect(text).not.toContain(app.key.split(".")[1] ?? "no key");
      expect(text).not.toContain("a secret of the tests");
    });
  });

  // A separate service, because the test exhausts the limit of this address.
  describe(`guessing keys of a service of the shape "${shape}"`, () => {
    test("ends in 429, but not for a recently valid key, even if the key must be looked up again", async () => {
      await using service = await openTestService({ shape });
      const app = await service.makeApp(SCHEMA);
      const other = await service.makeApp(SCHEMA);
      for (const user of [app, other]) expect((await service.call(user, LIST)).status).toBe(200);
      const guess = () => service.call(app, LIST, { key: "rh_guess" });
      const guesses = await Promise.all(Array.from({ length: FAILURES_PER_MINUTE + 50 }, guess));
      const statuses = new Set(guesses.map(({ status }) => status));
      expect([...statuses].sort()).toEqual([401, 429]);
      // Limits of a key apply only after the key is accepted.
      for (const { status, headers } of guesses)
        expect(limitHeaders(headers)).toEqual(
          status === 429 ? { "retry-after": expect.stringMatching(/^[1-9]\d*$/) } : {},
        );
      expect((await service.call(app, LIST)).status).toBe(200);
      expect((await service.call(undefined, "/live")).status).toBe(200);

      // A change of any key causes a new lookup of every key.
      await revokeKey({ admin: service.service.admin }, other.key.slice(3, 19));
      const known: number[] = [];
      let revoked: number;
      do {
        const guesses = Promise.all(Array.from({ length: 20 }, guess));
        known.push((await service.call(app, LIST)).status);
        revoked = (await service.call(other, LIST)).status;
        await guesses;
      } while (revoked !== 429);
      known.push((await service.call(app, LIST)).status);

      expect(new Set(known)).toEqual(new Set([200]));
      expect(revoked).toBe(429);
    });
  });
}
