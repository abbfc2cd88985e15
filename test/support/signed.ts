/** Requests signed with the gateway's secret. @module */

import { type Audience, SIGNED_HEADERS, sign } from "../../src/gateway/signature.ts";
import { writeSignedContext } from "../../src/gateway/signed_context.ts";
import { makePrincipal, type Person as PersonOfKey, type Scope } from "../../src/principal.ts";
import { toProof } from "../../src/records/apps/mod.ts";
import type { TestApp } from "./service.ts";
import { TEST_SECRETS } from "./shape.ts";

/** Returns the context that a gateway signs for a request with a valid key of this app, or without a key if there is no app. */
export function contextOf(
  app: Pick<TestApp, "id" | "key"> | undefined,
  {
    scopes = ["data:read", "data:write"],
    address = "",
    host,
    keyId = "k".repeat(16),
    person,
  }: ContextOptions = {},
): string {
  const principal =
    app &&
    makePrincipal({
      appId: app.id,
      keyId,
      scopes,
      person,
      proof: toProof(app.key.slice(app.key.indexOf(".") + 1)),
    });
  const virtualHost = app === undefined ? "both" : "gateway";
  return writeSignedContext({
    requestId: "the-id",
    address,
    virtualHost,
    host,
    principal,
    oversize: false,
  });
}

type ContextOptions = {
  scopes?: readonly Scope[];
  /** The client's address, as the gateway reports it. */
  address?: string;
  host?: string;
  /** The claimed key and person, which only the proof can confirm. */
  keyId?: string;
  person?: PersonOfKey | undefined;
};

export type SignedCall = {
  audience: Audience;
  target: string;
  context: string;
  /** Sent as a POST: text as a form, other values as JSON. */
  body?: unknown;
  /** Sent instead of the signed body. */
  sentBody?: string;
  headers?: Record<string, string>;
  /** A secret other than the one that the gateway shares with the audience. */
  secret?: string;
};

type SignedResponse = { status: number; text: string; headers: Headers };

/** Signs a request for a service and sends it. */
export async function sendSigned(url: string, call: SignedCall): Promise<SignedResponse> {
  return await signCall(call)(url);
}

/** The headers of a signed request without a body. */
export function signHeaders(call: SignedCall): Record<string, string> {
  return signInit({ ...call, body: undefined }).headers;
}

/** Signs a request once and returns a function that sends it, any number of times: as a captured request. */
export function signCall(call: SignedCall): (url: string) => Promise<SignedResponse> {
  const init = signInit(call);
  return async (url) => {
    const response = await fetch(url + call.target, init);
    return { status: response.status, text: await response.text(), headers: response.headers };
  };
}

function signInit(call: SignedCall) {
  const { audience, target, context, body, secret = TEST_SECRETS[audience] } = call;
  const isForm = typeof body === "string";
  const text = body === undefined ? "" : isForm ? body : JSON.stringify(body);
  const signed = {
    audience,
    method: body === undefined ? "GET" : "POST",
    target,
    timestamp: String(Date.now()),
    nonce: body === undefined ? "" : crypto.randomUUID().replaceAll("-", "").slice(0, 22),
    body: new TextEncoder().encode(text),
    context,
  };
  return {
    method: signed.method,
    redirect: "manual" as const,
    headers: {
      [SIGNED_HEADERS.timestamp]: signed.timestamp,
      [SIGNED_HEADERS.nonce]: signed.nonce,
      [SIGNED_HEADERS.context]: context,
      [SIGNED_HEADERS.signature]: sign(secret, signed),
      ...(body === undefined
        ? {}
        : { "content-type": isForm ? "application/x-www-form-urlencoded" : "application/json" }),
      ...call.headers,
    },
    ...(body === undefined ? {} : { body: call.sentBody ?? text }),
  };
}
