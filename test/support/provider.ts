/** A real OpenID Connect provider in the test's process, which can return wrong responses. @module */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type OidcProvider from "oidc-provider";
import type { Configuration } from "oidc-provider";
import type { ProviderSettings } from "../../src/identity/mod.ts";
import { type Jar, toCookieHeader } from "./people.ts";

const { default: Provider }: typeof import("oidc-provider") = withoutWarnings(() =>
  import.meta.require("oidc-provider"),
);

/** The claims of an account. Its name is the text typed into the provider's sign-in form. */
export type Account = { email?: string; email_verified?: unknown; name?: string; groups?: unknown };
export type Claims = Record<string, unknown>;
type Key = { kid: string; jwk: JsonWebKey; key: CryptoKey };

/** Changes to the provider's responses. A change applies until the test removes it. */
export type Wrong = {
  /** Changes the claims of the ID token, which is then signed again. */
  claims?: (claims: Claims) => Claims;
  /** Signs with a key that the provider does not publish, or not at all. */
  signature?: "unknown key" | "same id, other key" | "none";
  /** Overrides members of the discovery document. */
  metadata?: Claims;
  /** Responds to the path with this last segment with this status, or never. */
  endpoint?: { path: string; status: number | "never" };
};

export type TestProvider = AsyncDisposable & {
  settings: ProviderSettings;
  accounts: Map<string, Account>;
  wrong: Wrong | undefined;
  /** The number of requests by the last segment of the path. */
  asked: Map<string, number>;
  /** Sets the redirect URI of the client. */
  register: (callback: string) => void;
  /** Replaces the signing key. The provider no longer publishes the previous key. */
  rotateKey: () => Promise<void>;
  stop: () => Promise<void>;
};

export async function startProvider(
  options: Partial<ProviderSettings> & { name: string },
): Promise<TestProvider> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  const settings: ProviderSettings = {
    issuer: `http://localhost:${port}`,
    clientId: "rowhouse",
    clientSecret: `the secret of ${options.name}, which is in no response`,
    label: options.name,
    trustedDomains: [],
    creates: false,
    scopes: [],
    roles: [],
    ...options,
  };
  let current = await findKey();
  const started: TestProvider = {
    settings,
    accounts: new Map(),
    wrong: undefined,
    asked: new Map(),
    register: (callback) => {
      const provider = makeProvider(started, { callback, key: current });
      provider.use(async (ctx, next) => {
        const path = ctx.path.split("/").at(-1) ?? "";
        started.asked.set(path, (started.asked.get(path) ?? 0) + 1);
        const failing = started.wrong?.endpoint;
        if (failing?.path === path) {
          if (failing.status === "never") await new Promise(() => undefined);
          ctx.status = failing.status as number;
          ctx.body = {};
          return;
        }
        await next();
        const { kty, n, e } = current.jwk;
        if (path === "jwks")
          ctx.body = { keys: [{ kty, n, e, kid: current.kid, use: "sig", alg: "RS256" }] };
        if (path === "openid-configuration")
          ctx.body = { ...(ctx.body as Claims), ...started.wrong?.metadata };
        if (path === "token" && ctx.status === 200)
          ctx.body = await tamper(ctx.body as Claims, current, started.wrong ?? {});
      });
      const handle = provider.callback();
      server.removeAllListeners("request");
      server.on("request", (request, response) => void handle(request, response));
    },
    rotateKey: async () => {
      current = await findKey(current);
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
    [Symbol.asyncDispose]() {
      return this.stop();
    },
  };
  return started;
}

function makeProvider(
  { settings, accounts }: TestProvider,
  { callback, key }: { callback: string; key: Key },
): OidcProvider {
  const ttl = Object.fromEntries(
    ["AccessToken", "AuthorizationCode", "Grant", "IdToken", "Interaction", "Session"].map(
      (name) => [name, 600],
    ),
  );
  const configuration: Configuration = {
    clients: [
      {
        client_id: settings.clientId,
        client_secret: settings.clientSecret,
        redirect_uris: [callback],
        grant_types: ["authorization_code"],
        response_types: ["code"],
      },
    ],
    claims: {
      openid: ["sub"],
      email: ["email", "email_verified"],
      profile: ["name"],
      groups: ["groups"],
    },
    scopes: ["openid", "groups"],
    findAccount: (_, sub) => ({
      accountId: sub,
      claims: () => ({ sub, ...(accounts.get(sub) as Record<string, string>) }),
    }),
    jwks: { keys: [{ ...key.jwk, kid: key.kid }] as never },
    pkce: { required: () => true },
    ttl,
  };
  const provider = withoutWarnings(() => new Provider(settings.issuer, configuration));
  // The provider would print errors that a test causes.
  provider.silent = true;
  return provider;
}

/** The package warns about Bun, and about settings that only production needs. */
function withoutWarnings<Result>(use: () => Result): Result {
  const { warn } = console;
  console.warn = () => undefined;
  try {
    return use();
  } finally {
    console.warn = warn;
  }
}

/** A process makes few keys, because each takes as long as a test. Consecutive providers have different keys. */
const MAX_KEYS = 4;
const keys: Promise<Key>[] = [];
let findings = 0;

/** A key other than the given key. */
async function findKey(other?: Key): Promise<Key> {
  const index = findings++ % MAX_KEYS;
  keys[index] ??= makeKey();
  const key = await keys[index];
  return key === other ? await findKey(other) : key;
}

async function makeKey(): Promise<Key> {
  const pair = await crypto.subtle.generateKey(
    {
      name: "RSASSA-PKCS1-v1_5",
      modulusLength: 2048,
      publicExponent: new Uint8Array([1, 0, 1]),
      hash: "SHA-256",
    },
    true,
    ["sign", "verify"],
  );
  const kid = crypto.randomUUID();
  const jwk = await crypto.subtle.exportKey("jwk", pair.privateKey);
  return {
    kid,
    jwk: { ...jwk, kid, use: "sig", alg: "RS256" } as JsonWebKey,
    key: pair.privateKey,
  };
}

/** Applies the changes to the token and signs it with the published key, or as the test requests. */
async function tamper(body: Claims, current: Key, { claims, signature }: Wrong): Promise<Claims> {
  const [, payload = ""] = String(body["id_token"]).split(".");
  const original = JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as Claims;
  const key = signature === undefined || signature === "none" ? current : await findKey(current);
  const kid = signature === "same id, other key" ? current.kid : key.kid;
  const header = signature === "none" ? { alg: "none" } : { alg: "RS256", kid };
  const signed = [header, claims?.(original) ?? original].map(toPart).join(".");
  const signatureText =
    signature === "none"
      ? ""
      : Buffer.from(
          await crypto.subtle.sign("RSASSA-PKCS1-v1_5", key.key, Buffer.from(signed)),
        ).toString("base64url");
  return { ...body, id_token: `${signed}.${signatureText}` };
}

function toPart(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** Signs in on the provider's pages and returns the URL of its redirect to the client. */
export async function passProvider(
  start: string,
  { login, jar = new Map() }: { login: string; jar?: Jar },
): Promise<string> {
  const origin = new URL(start).origin;
  let response = await ask(jar, start);
  for (let step = 0; step < 12; step++) {
    const location = response.headers.get("location");
    if (location !== null && new URL(location, origin).origin !== origin) return location;
    if (location !== null) {
      response = await ask(jar, new URL(location, origin).href);
      continue;
    }
    const page = await response.text();
    const action = /action="([^"]+)"/.exec(page)?.[1];
    const prompt = /name="prompt" value="([^"]+)"/.exec(page)?.[1];
    if (action === undefined || prompt === undefined) throw new Error(`No form in: ${page}`);
    const fields = prompt === "login" ? { prompt, login, password: "any" } : { prompt };
    response = await ask(jar, new URL(action, origin).href, fields);
  }
  throw new Error("The provider did not redirect to the client");
}

async function ask(jar: Jar, url: string, fields?: Record<string, string>): Promise<Response> {
  const response = await fetch(url, {
    redirect: "manual",
    method: fields === undefined ? "GET" : "POST",
    headers: { cookie: toCookieHeader(jar) },
    ...(fields === undefined ? {} : { body: new URLSearchParams(fields) }),
  });
  for (const line of response.headers.getSetCookie()) {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (value === "") jar.delete(name);
    else jar.set(name, value);
  }
  return response;
}
