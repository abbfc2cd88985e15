/**
 * For an app's own server, between its pages and Rowhouse: verifies the person's key of a request, and forwards the key, so that
 * the database applies the rules to the person. The server needs no API key for these calls.
 *
 * @example
 * ```ts
 * import { createServerClient, DataError } from "rowhouse/server";
 *
 * const people = createServerClient({ url: process.env["ROWHOUSE_URL"] ?? "", app: "wiki" });
 *
 * async function respond(request: Request): Promise<Response> {
 *   try {
 *     const { user } = await people.verify(request);
 *     return Response.json({ role: user.role });
 *   } catch (error) {
 *     if (error instanceof DataError) return new Response(null, { status: error.status || 502 });
 *     throw error;
 *   }
 * }
 * expect((await respond(new Request("http://localhost/"))).status).toBe(401);
 * ```
 * @module
 */

import type { Schema } from "../schema/mod.ts";
import { makeClient, makeConnection } from "./client.ts";
import type { DataClient, DataClientOptions } from "./data.ts";
import { fail, send, unreadable } from "./data_call.ts";
import { DataError } from "./data_error.ts";
import { type IdentityUser, isUser } from "./identity_client.ts";
import { explainMissing } from "./missing_preview.ts";
import { readServiceUrl } from "./service_url.ts";
import type { NoTables } from "./table_client.ts";

export { DataError, type DataErrorCode, type DataErrorDetail } from "./data_error.ts";
export type { IdentityUser } from "./identity_client.ts";

/** Settings of a client. */
export type ServerClientOptions = Pick<DataClientOptions, "timeoutMs" | "retries" | "strict"> & {
  /** The URL of the gateway, such as `https://api.example.org`. */
  readonly url: string;
  /** This app's slug. A key of another app is rejected. */
  readonly app: string;
};

/** The sender of a request: a person on a page of this app. */
export type Caller<S> = {
  /** The person, with the role on the app. */
  readonly user: IdentityUser & { readonly role: string };
  /** The tables, with the rights of this person. For this request only: the key ends within minutes. */
  readonly db: DataClient<S>;
};

/** A request of any server: of `fetch`, `node:http`, Express, Fastify or Hono. */
export type IncomingRequest = {
  readonly headers: Headers | { readonly [name: string]: string | readonly string[] | undefined };
};

/** Verifies the senders of requests. */
export type ServerClient<S> = {
  /**
   * The sender of a request with `authorization: Bearer <key>`, as `app.authorization()` of a page returns it.
   *
   * @throws {DataError} 401 `unauthenticated`: no key, or a key that has ended; 403 `forbidden`: not a key of a person on this app
   */
  readonly verify: (request: IncomingRequest) => Promise<Caller<S>>;
};

const CALL = { name: "verify", method: "GET" } as const;
const NO_KEY = "The request has no key: it must have the header authorization: Bearer <key>";
const BEARER = /^Bearer ([\x21-\x7e]+)$/i;

/** A client that verifies requests. Sends nothing until `verify` is called. @throws {TypeError} for an invalid `url` or number */
export function createServerClient<S = NoTables>(
  options: ServerClientOptions & { readonly schema?: S & Schema },
): ServerClient<S> {
  const { url, app, schema, ...given } = options;
  const baseUrl = readServiceUrl("url", url);
  const connect = (key: string) =>
    makeConnection({ ...given, baseUrl, authorize: () => key, explain });
  // Rejects wrong settings now, instead of at the first request.
  connect("");

  async function verify({ headers }: IncomingRequest): Promise<Caller<S>> {
    const key = readKey(headers);
    if (key === undefined) throw fail(CALL, NO_KEY, { status: 401, code: "unauthenticated" });
    const connection = connect(key);
    const path = `/v1/data/me?app=${encodeURIComponent(app)}`;
    const { body } = await send(connection, { ...CALL, path });
    if (!isUser(body) || typeof body.role !== "string") throw unreadable(CALL, 200, "url");
    const { role, ...person } = body;
    const db = makeClient(connection, schema) as DataClient<S>;
    return Object.freeze({ user: { ...person, role }, db });
  }

  return Object.freeze({ verify });
}

function explain(error: DataError): DataError {
  if (error.code !== "unknown_route") return explainMissing(error);
  return new DataError(
    `${error.message}; keys of people need PREVIEW=browser in the service`,
    error,
  );
}

function readKey(headers: IncomingRequest["headers"]): string | undefined {
  const sent = headers instanceof Headers ? headers.get("authorization") : headers["authorization"];
  return typeof sent === "string" ? BEARER.exec(sent)?.[1] : undefined;
}
