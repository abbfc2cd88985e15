/**
 * People for tests of an app's rules: each has a role on the app of a running `rowhouse dev`, and a typed client with their
 * rights. For any test runner, in Bun, Node or Deno. Refuses every database but that of `dev`.
 *
 * @example
 * ```ts
 * import { type TestPerson, person, removePeople } from "rowhouse/testing";
 * import { defineSchema, t } from "rowhouse/schema";
 *
 * const schema = defineSchema({ todos: { title: t.string().required() } });
 *
 * // In a test: it fails unless the rules of "member" allow a create, and no delete.
 * async function testMember() {
 *   const ada: TestPerson<typeof schema> = await person({ role: "member", schema });
 *   const todo = await ada.db.todos.create({ title: "Water the plants" });
 *   await expect(ada.db.todos.delete(todo.id)).rejects.toMatchObject({ code: "forbidden" });
 *   await removePeople();
 * }
 * expect(testMember).toBeFunction();
 * ```
 * @module
 */

import type { Schema } from "../schema/mod.ts";
import { makeClient, makeConnection } from "./client.ts";
import type { DataClient } from "./data.ts";
import { type Key, readObject } from "./data_call.ts";
import { DataError } from "./data_error.ts";
import { explainMissing } from "./missing_preview.ts";
import type { NoTables } from "./table_client.ts";

/** Who to create. */
export type PersonOptions = {
  /** The role on the app of `dev`. */
  readonly role: string;
  readonly displayName?: string | undefined;
  /** The project of the running `dev`. Default: the current folder, or the nearest one above it with a running `dev`. */
  readonly folder?: string | undefined;
};

/** A person with a role on the app of `dev`. */
export type TestPerson<S> = {
  readonly id: string;
  readonly email: string;
  readonly role: string;
  /** The tables, with the rights of this person. */
  readonly db: DataClient<S>;
  /** The person's key, for a request to your own server: `authorization: Bearer <key>`. */
  readonly key: () => Promise<string>;
  /** Deletes the person. Rows stay. */
  readonly remove: () => Promise<void>;
};

const people = new Set<Pick<TestPerson<unknown>, "remove">>();
/** Renews a key before its end. */
const MARGIN_MS = 30_000;

/**
 * Creates a person with a role, a session and a key in the database of the running `dev`. `dev` deletes people that tests left
 * when it stops.
 *
 * @throws {Error} no `dev` is running in this project, it runs without the preview `browser`, or the role is invalid
 */
export async function person<S = NoTables>(
  options: PersonOptions & { readonly schema?: S & Schema },
): Promise<TestPerson<S>> {
  const dev = await findDev(options.folder);
  const { role, displayName } = options;
  const created = await send(dev, "POST", "", { role, displayName });
  const { id, email } = created;
  if (typeof id !== "string" || typeof email !== "string") throw new Error(OTHER_RELEASE);
  let key = readKey(created);

  async function authorize(): Promise<Key> {
    if (performance.now() > key.renewAt) key = readKey(await send(dev, "POST", `/${id}`));
    return key.text;
  }
  const connection = makeConnection({
    baseUrl: dev.baseUrl,
    authorize,
    renew: (rejected) => {
      if (rejected === key.text) key = { ...key, renewAt: 0 };
    },
    explain: explainMissing,
  });
  const removable = {
    remove: async () => {
      people.delete(removable);
      await send(dev, "DELETE", `/${id}`);
    },
  };
  people.add(removable);
  return Object.freeze({
    id,
    email,
    role,
    db: makeClient(connection, options.schema) as DataClient<S>,
    key: async () => {
      const text = await authorize();
      if (text instanceof DataError) throw text;
      return text;
    },
    ...removable,
  });
}

/** Deletes all people that this program created and has not removed: for `afterAll`. */
export async function removePeople(): Promise<void> {
  for (const { remove } of [...people]) await remove();
}

type Dev = { readonly baseUrl: string; readonly testToken: string };

const FILE = ".rowhouse/dev.json";
const PATH = "/rowhouse-dev/people";
const LOOPBACK = /^https?:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/;

type Runtime = {
  readonly cwd: () => string;
  readonly getBuiltinModule: (name: string) => {
    readonly readFileSync: (path: string, encoding: "utf8") => string;
  };
};

/** The running `dev` of this project. @throws {Error} there is none */
async function findDev(folder: string | undefined): Promise<Dev> {
  // The clients compile without the types of a runtime.
  const { process } = globalThis as unknown as { process: Runtime };
  const { readFileSync } = process.getBuiltinModule("fs");
  for (let at = folder ?? process.cwd(); ; ) {
    const dev = readDev(() => readFileSync(`${at}/${FILE}`, "utf8"));
    if (dev !== undefined) return dev;
    const above = at.replace(/[\\/][^\\/]*$/, "");
    if (folder !== undefined || above === at || above === "") break;
    at = above;
  }
  throw new Error(
    "Cannot create a person: rowhouse dev does not run in this project. Start it, then run the tests. rowhouse/testing uses no other database",
  );
}

function readDev(read: () => string): Dev | undefined {
  let text: string;
  try {
    text = read();
  } catch {
    return undefined; // no dev here: the caller looks above
  }
  const { baseUrl, testToken } = readObject(text) ?? {};
  if (typeof baseUrl === "string" && !LOOPBACK.test(baseUrl))
    throw new Error(`Cannot use ${FILE}: ${baseUrl} is not an address of this machine`);
  if (typeof baseUrl === "string" && typeof testToken === "string") return { baseUrl, testToken };
  throw new Error(`Cannot use ${FILE}: it is of another release. Start rowhouse dev again`);
}

type Body = { readonly [name: string]: unknown };

async function send(
  { baseUrl, testToken }: Dev,
  method: "POST" | "DELETE",
  path: string,
  values: object = {},
): Promise<Body> {
  const response = await fetch(`${baseUrl}${PATH}${path}`, {
    method,
    headers: { authorization: `Bearer ${testToken}`, "content-type": "application/json" },
    body: JSON.stringify(values),
  }).catch((cause: unknown) => {
    throw new Error(`Cannot reach rowhouse dev at ${baseUrl}: start it again`, { cause });
  });
  const body = readObject(await response.text()) ?? {};
  if (response.ok) return body;
  throw new Error(`${body["message"] ?? `rowhouse dev responded with ${response.status}`}`);
}

const OTHER_RELEASE = "Cannot read the response of rowhouse dev: it is of another release";

function readKey({ key, expiresInS }: Body): { text: string; renewAt: number } {
  if (typeof key !== "string" || typeof expiresInS !== "number") throw new Error(OTHER_RELEASE);
  return { text: key, renewAt: performance.now() + expiresInS * 1000 - MARGIN_MS };
}
