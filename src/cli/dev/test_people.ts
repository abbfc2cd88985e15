/**
 * People for tests of an app's rules, created by a running `dev` for `rowhouse/testing`: with a role, a session and a key of the
 * app, as after a sign-in on a page. Only this command has these addresses, only for the token in the developer's own
 * `.rowhouse/dev.json`, and only in a database that `dev` created. Never part of a service.
 *
 * @module
 */
import { timingSafeEqual } from "node:crypto";
import * as v from "valibot";
import { type Database, startDevSession } from "../../db/mod.ts";
import { Problem } from "../../problem.ts";
import { createUser, grantRole, runOnPerson } from "../../records/people/mod.ts";
import {
  makeIdentitySecrets,
  makeSecret,
  makeSession,
  toPresented,
} from "../../records/secrets/mod.ts";
import { openPersonKey } from "../../records/sessions/mod.ts";
import type { Config } from "../../settings/mod.ts";
import { tryParseJson } from "../../std/json.ts";
import { systemRandomBytes } from "../../std/random_text.ts";
import { DEV_COOKIE_DOMAIN } from "../admin/task.ts";
import { withDatabase } from "../database.ts";
import type { Address } from "../settings.ts";

const TEST_PEOPLE_PATH = "/rowhouse-dev/people";

type TestPeopleOptions = {
  readonly config: Config;
  readonly admin: Address;
  /** The slug of the app. */
  readonly app: string;
  readonly origin: string;
};

type TestPerson = { id: string; email: string; cookies: { session: string; identity: string } };

export type TestPeople = {
  readonly token: string;
  /** Whether a path is one of their addresses. */
  readonly serves: (path: string) => boolean;
  /** Whether a request has the token of this app. */
  readonly owns: (request: Request) => boolean;
  readonly respond: (request: Request, path: string) => Promise<Response>;
  /** Deletes the people that tests left. */
  readonly removeAll: () => Promise<void>;
};

const NewPerson = v.object({ role: v.string(), displayName: v.optional(v.string()) });

export function makeTestPeople(options: TestPeopleOptions): TestPeople {
  const token = makeSecret(systemRandomBytes);
  const people = new Map<string, TestPerson>();
  const identitySecrets = makeIdentitySecrets(options.config.IDENTITY_SECRET ?? []);
  const withAdmin = <Result>(task: (admin: Database) => Promise<Result>) =>
    withDatabase(options.admin, options.config, task);

  async function create(text: string): Promise<object> {
    const { role, displayName } = readNewPerson(text);
    return await withAdmin(async (admin) => {
      const deps = {
        admin,
        identitySecrets,
        randomBytes: systemRandomBytes,
        now: () => new Date(),
      };
      const email = `test-${crypto.randomUUID()}@${DEV_COOKIE_DOMAIN}`;
      const { id } = await createUser(
        { ...deps, makeId: () => Bun.randomUUIDv7() },
        { email, displayName, consoleRole: undefined },
      );
      const session = makeSession(deps, id);
      const cookies = {
        session: toPresented(identitySecrets, "session", [session.sessionText]),
        identity: toPresented(identitySecrets, "identity", [session.identityText]),
      };
      people.set(id, { id, email, cookies });
      await grantRole(deps, { email, slug: options.app, role });
      await startDevSession(admin, {
        userId: id,
        ...session,
        maxS: options.config.SESSION_MAX,
      });
      return { id, email, role, app: options.app, ...(await openKey(admin, { cookies })) };
    });
  }

  async function openKey(admin: Database, { cookies }: Pick<TestPerson, "cookies">) {
    const opened = await openPersonKey(
      {
        db: admin,
        identitySecrets,
        sessionIdleS: options.config.SESSION_IDLE,
        hasProvider: () => false,
        randomBytes: systemRandomBytes,
        keyPrefix: options.config.API_KEY_PREFIX,
      },
      {
        cookies: { ...cookies, from: "127.0.0.1" },
        slug: options.app,
        origin: options.origin,
        demandsFactor: false,
      },
    );
    if (opened.waitS !== undefined)
      throw new Problem("rate_limited", { retryAfterS: opened.waitS });
    if (opened.key === undefined)
      throw new Problem("unauthenticated", {
        message:
          "Cannot open a key: the person is disabled, signed out or without a role on the app",
      });
    return { key: opened.key.text, expiresInS: opened.key.expiresInS };
  }

  async function remove(person: TestPerson): Promise<object> {
    await withAdmin((admin) => runOnPerson({ admin }, "delete_user", person.email));
    people.delete(person.id);
    return {};
  }

  async function respond(request: Request, path: string): Promise<object> {
    if (!hasToken(request, token))
      throw new Problem("unauthenticated", { message: "The token is that of another run of dev" });
    if (!options.config.PREVIEW.includes("browser"))
      throw new Problem("not_implemented", {
        message: "Rules for people need the preview: start rowhouse dev --preview browser",
      });
    const id = path.slice(TEST_PEOPLE_PATH.length + 1);
    if (id === "" && request.method === "POST") return await create(await request.text());
    const person = people.get(id);
    if (person === undefined)
      throw new Problem("not_found", { message: "No test person has this id" });
    if (request.method === "POST") return await withAdmin((admin) => openKey(admin, person));
    if (request.method === "DELETE") return await remove(person);
    throw new Problem("method_not_allowed");
  }

  return {
    token,
    serves: (path) => path === TEST_PEOPLE_PATH || path.startsWith(`${TEST_PEOPLE_PATH}/`),
    owns: (request) => hasToken(request, token),
    respond: (request, path) =>
      respond(request, path).then((body) => Response.json(body), respondWithError),
    removeAll: async () => {
      for (const person of [...people.values()]) await remove(person);
    },
  };
}

/** @throws {Problem} invalid_request */
function readNewPerson(text: string): v.InferOutput<typeof NewPerson> {
  const read = v.safeParse(NewPerson, tryParseJson(text));
  if (read.success) return read.output;
  throw new Problem("invalid_request", {
    message: 'Cannot create a person: must be an object with a role, such as { "role": "member" }',
  });
}

function hasToken(request: Request, token: string): boolean {
  const sent = Buffer.from(request.headers.get("authorization") ?? "");
  const wanted = Buffer.from(`Bearer ${token}`);
  return sent.length === wanted.length && timingSafeEqual(sent, wanted);
}

/** @throws anything but a rejection */
function respondWithError(error: unknown): Response {
  if (!(error instanceof Problem)) throw error;
  return Response.json({ error: error.code, message: error.message }, { status: error.status });
}
