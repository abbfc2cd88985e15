/**
 * What a version's own commands and endpoints store in a database before it is frozen: apps with keys and migrations, tables that
 * they share, rows of every kind, people with every factor, sessions, invitations, and a log of all of it.
 *
 * @module
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { defineSchema, type Json, t } from "../../src/schema/mod.ts";
import { makeAuthenticator, type SavedAuthenticator } from "../support/authenticator.ts";
import { runCommand, type Settings } from "../support/command.ts";
import { openEvents } from "../support/event_stream.ts";
import { makeHistory } from "../support/history.ts";
import { KIND_CASES } from "../support/kinds.ts";
import { addPasskey } from "../support/passkeys.ts";
import {
  type Jar,
  PASSWORD,
  readHidden,
  submitForm,
  submitSignIn,
  toCookieHeader,
  type VisitedService,
  visit,
} from "../support/people.ts";
import type { TestProvider } from "../support/provider.ts";
import { signInWith } from "../support/provider_people.ts";
import { fillForm } from "../support/samples/forms.ts";
import { addAuthenticator } from "../support/second_factor.ts";
import { callService, definitionOf } from "../support/service.ts";

/** The credentials of people and programs, and what the version's endpoints answered. */
export type World = {
  /** `old` is replaced by `next`, and still works. */
  keys: Record<
    "wiki" | "shop" | "diverged" | "old" | "next" | "revoked" | "expired" | "disabled" | "frozen",
    string
  >;
  people: {
    password: string;
    /** Without a second factor, and a super administrator. */
    administrator: string;
    totp: { email: string; key: string; codes: string[] };
    passkey: { email: string; saved: SavedAuthenticator };
    /** The login at the provider. */
    provided: string;
    /** The links of pending invitations and of a forgotten password. */
    links: string[];
  };
  /** Cookies of browsers. */
  sessions: { live: string; administrator: string; ended: string };
  /** The row of the person with the session `live`, and its title before and after. */
  card: { id: string; before: string; after: string };
  idempotent: { key: string; path: string; json: Json; response: string };
  /** The id of the last event of a stream. */
  cursor: string;
  /** Answers to reads, by key and path. */
  reads: Read[];
  /** The files of the project "wiki", by path. */
  project: Record<string, string>;
  /** An archive of the app "shop", as base64. */
  archive: string;
};

export type KeyName = keyof World["keys"];
export type Read = { key: KeyName; path: string; text: string };

export type Source = VisitedService & {
  /** The environment of an operator. */
  operator: Settings;
  program: string;
  provider: TestProvider;
};

/** What a person of the app "wiki" can do in a browser, and where the history of rows is kept. */
export const CARDS = "cards";
const EDITED = { before: "Draft", after: "Final" };

/** The choices of the column of an enum, in schemas that are text. */
const ENUM = ["open", "closed", "it's", "Ü"];
const SAMPLES = Object.entries(KIND_CASES).filter(([kind]) => kind !== "ref" && kind !== "enum");

/** A table with a column of each kind, and tables whose other features a migration renews. */
const WIKI = {
  kinds: `{ ${SAMPLES.map(([kind]) => `of_${kind}: t.${kind}()`).join(", ")},
    of_enum: t.enum(${JSON.stringify(ENUM)}), of_ref: t.ref("pages", { onDelete: "set null" }) }`,
  pages: `{ title: t.string().required(), slug: t.string().unique(), rank: t.integer().required().default(3),
    parent: t.ref("pages", { onDelete: "cascade" }), price: t.decimal().index(), day: t.date().default("today") }`,
  drafts: `{ text: t.string().required(), at: t.timestamp().required().default("now"), meta: t.json() }`,
  [CARDS]: `t.model({ title: t.string().required(), author: t.uuid().required().owner() })
    .allow("editor", { read: true, create: true, update: { author: "me" } })`,
};
const FIRST = {
  ...WIKI,
  drafts: `{ txt: t.string().required(), at: t.timestamp().default("now") }`,
};
const SHOP = {
  pages: `{ title: t.string().required(), rank: t.integer().required().default(3) }`,
  orders: `{ name: t.string().required(), total: t.decimal().required().default("0.00") }`,
  left: `{ name: t.string() }`,
};

export async function fillWorld(source: Source): Promise<World> {
  const folder = join(source.program, "project");
  const ran = async (argv: string[], env: Settings = {}): Promise<string> => {
    const { code, out, err } = await runCommand(argv, {
      ...{ folder, program: source.program, env: { ...source.operator, ...env } },
    });
    if (code !== 0) throw new Error(`${argv.join(" ")}: ${out}${err}`);
    return out.trim();
  };
  const admin = (line: string) => ran(["admin", ...line.split(" ")]);
  const json = async (line: string) => JSON.parse(await admin(`${line} --json`));
  writeProject(folder, source.program, FIRST);

  // Apps and keys.
  for (const slug of ["wiki", "shop", "diverged", "museum", "closed", "gone", "renamed-later"])
    await admin(
      `create-app ${slug} --origin http://${slug}.rowhouse.localhost --redirect http://${slug}.rowhouse.localhost/in`,
    );
  await admin("rename-app renamed-later renamed");
  await admin("set-limit wiki --per-minute 600000 --per-key 500000");
  await admin("set-app wiki live on");
  for (const setting of ["people-list", "browser", "history"])
    await admin(`set-app wiki ${setting} on`);
  const all = "--scope data:read,data:write,schema:read,schema:push,schema:drop";
  const issue = async (slug: string, name: string, more = all) =>
    await json(`issue-key ${slug} --name ${name} ${more}`);
  const { key: wiki } = await issue("wiki", "server");
  const { key: shop } = await issue("shop", "server");
  const { key: diverged } = await issue("diverged", "server");
  const { key: frozen } = await issue("museum", "server");
  const { key: disabled } = await issue("closed", "server");
  const { key: old, keyId: rolled } = await issue("wiki", "rolled", "--scope data:read");
  const { key: next } = await json(`roll-key ${rolled} --grace 7d`);
  const { key: revoked, keyId } = await issue("wiki", "revoked");
  await admin(`revoke-key ${keyId}`);
  const { key: expired, keyId: replaced } = await issue("wiki", "expired", "--scope data:read");
  await json(`roll-key ${replaced} --grace 0`);
  const keys = { wiki, shop, diverged, old, next, revoked, expired, disabled, frozen };

  // Tables, changed by pushes, a rename, and a history that diverged.
  const push = (key: string, argv: string[] = ["push"]) =>
    ran(["db", ...argv, "--yes"], { ROWHOUSE_URL: source.url, ROWHOUSE_API_KEY: key });
  await push(wiki);
  writeProject(folder, source.program, { ...FIRST, drafts: FIRST.drafts.replace("txt", "text") });
  await push(wiki, ["rename", "drafts.txt", "text"]);
  writeProject(folder, source.program, WIKI);
  await push(wiki);
  const shopFolder = join(folder, "shop");
  writeProject(shopFolder, source.program, SHOP);
  await push(shop, ["push", "--schema", "shop/schema"]);
  await call(source, frozen, "/v1/data/schema", {
    steps: [
      {
        kind: "define",
        definition: definitionOf(
          defineSchema({
            pages: { title: t.string().required(), rank: t.integer().required().default(3) },
          }),
        ),
      },
    ],
  });
  await joinHistories(source, diverged);

  // Rows: of each kind every edge, created alone and together, changed and deleted.
  const pages = "/v1/data/db/pages";
  const created = await call(source, wiki, pages, [
    { title: "Home", slug: "home", price: "12.50" },
    { title: "Ünïcode 'quoted' \\ \n", slug: null, rank: 7, day: "2026-01-02" },
    { title: "Deleted" },
  ]);
  const [home, other, removed] = (created as { rows: { id: string }[] }).rows.map(({ id }) => id);
  await call(source, wiki, pages, { title: "Child", parent: home });
  await call(source, wiki, `${pages}/${other}`, { title: "Changed" }, "PATCH");
  await call(source, wiki, `${pages}/${removed}`, undefined, "DELETE");
  const most = Math.max(...SAMPLES.map(([, { edges }]) => edges.length));
  const rows = Array.from({ length: most }, (_, nth) => ({
    ...Object.fromEntries(
      SAMPLES.flatMap(([kind, { edges }]) =>
        edges[nth] === undefined ? [] : [[`of_${kind}`, edges[nth]]],
      ),
    ),
    of_enum: ENUM[nth % ENUM.length],
    of_ref: nth % 2 === 0 ? home : null,
  }));
  await call(source, wiki, "/v1/data/db/kinds", rows);
  for (const text of ["one", "two"])
    await call(source, wiki, "/v1/data/db/drafts", { text, meta: { words: [text, null, 1.5] } });
  for (const key of [shop, frozen])
    await call(source, key, pages, { title: `of ${key.slice(0, 8)}` });
  for (let nth = 0; nth < 40; nth++)
    await call(source, shop, "/v1/data/db/orders", { name: `order ${nth}`, total: `${nth}.50` });
  await call(source, shop, "/v1/data/db/left", { name: "left" });
  const idempotent = {
    key: crypto.randomUUID(),
    path: "/v1/data/db/orders",
    json: { name: "once" },
  };
  const response = await callService(source, { id: "", slug: "", key: shop }, idempotent.path, {
    ...{ method: "POST", json: idempotent.json, headers: { "idempotency-key": idempotent.key } },
  });
  // Requests that fail are stored.
  for (const json of [{ title: 7 }, { unknown: 1 }])
    await callService(source, { id: "", slug: "", key: wiki }, pages, { method: "POST", json });

  const people = await fillPeople(source, json);
  const person = await openPersonKey(source, people.sessions.live);
  const card = (await call(source, person, `/v1/data/db/${CARDS}`, { title: EDITED.before })) as {
    id: string;
  };
  await call(source, person, `/v1/data/db/${CARDS}/${card.id}`, { title: EDITED.after }, "PATCH");
  await tourConsole(source, people.administrator);
  await admin(`disable ${(await json("create-user locked@example.org")).email}`);
  await admin("end-registration shop left --yes");
  await admin("drop-table left --yes");
  await admin("delete-app gone --yes");
  const archive = join(folder, "shop.archive");
  await admin(`export-app shop ${archive}`);
  await admin("set-app museum read-only on");
  await admin("set-app closed disabled on");

  const events = await openEvents(`${source.url}${pages}/changes`, { key: wiki });
  const cursor = (await events.next())?.id ?? "";
  await events.close();
  return {
    keys,
    people: people.people,
    sessions: people.sessions,
    card: { id: card.id, ...EDITED },
    idempotent: { ...idempotent, response: response.text },
    cursor,
    reads: await readAll(source, keys),
    project: readProject(folder, source.program),
    archive: readFileSync(archive).toString("base64"),
  };
}

/** Sends JSON with a key. @throws {Error} the request failed */
export async function call(
  service: Pick<VisitedService, "url">,
  key: string,
  path: string,
  json?: object,
  method = json === undefined ? "GET" : "POST",
): Promise<unknown> {
  const answer = await callService(service, { id: "", slug: "", key }, path, {
    ...{ method, ...(json === undefined ? {} : { json }) },
  });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.json;
}

/** Opens a key for the person of a session, as a page of the app "wiki" does. */
export async function openPersonKey(
  service: Pick<VisitedService, "url">,
  cookie: string,
): Promise<string> {
  const { status, text, json } = await callService(service, undefined, "/session-key?app=wiki", {
    ...{ method: "POST", json: {} },
    headers: { cookie, origin: "http://wiki.rowhouse.localhost", "sec-fetch-site": "same-site" },
  });
  if (status !== 200) throw new Error(`/session-key: ${text}`);
  return (json as { key: string }).key;
}

/** An app with two histories that a migration joins. */
async function joinHistories(source: Source, key: string): Promise<void> {
  const one = defineSchema({ notes: { title: t.string() } });
  const grown = defineSchema({ notes: { title: t.string(), note: t.string().index() } });
  const steps = (...steps: object[]) => call(source, key, "/v1/data/schema", { steps });
  const history = makeHistory([one, grown]);
  const definition = definitionOf(grown);
  await steps({ kind: "define", definition: definitionOf(one) });
  await steps({ kind: "join", migrations: history, definition, declared: definition });
  await call(source, key, "/v1/data/db/notes", { title: "joined", note: "both" });
}

/** Lists all rows of all tables of each app, single rows, and the recorded schema. */
async function readAll(source: Source, keys: World["keys"]): Promise<Read[]> {
  const reads: Read[] = [];
  const read = async (key: KeyName, path: string) => {
    const app = { id: "", slug: "", key: keys[key] };
    const { status, text, json } = await callService(source, app, path);
    if (status !== 200) throw new Error(`${path}: ${text}`);
    reads.push({ key, path, text });
    return json;
  };
  for (const [key, tables] of [
    ["wiki", Object.keys(WIKI)],
    ["shop", ["pages", "orders"]],
    ["diverged", ["notes"]],
    ["frozen", ["pages"]],
  ] as const) {
    const schema = (await read(key, "/v1/data/schema")) as { migrations: { seq: number }[] };
    for (const { seq } of schema.migrations) await read(key, `/v1/data/schema/migrations/${seq}`);
    for (const name of tables) {
      const list = (await read(key, `/v1/data/db/${name}?limit=1000`)) as {
        rows: { id: string }[];
      };
      await read(key, `/v1/data/db/${name}/${list.rows[0]?.id}`);
    }
  }
  await read("wiki", `/v1/data/db/pages?${new URLSearchParams({ rank: "gt.3", order: "title" })}`);
  await read("old", "/v1/data/db/pages?limit=2");
  await read("next", "/v1/data/db/pages?limit=2&offset=1");
  return reads;
}

type Filled = Pick<World, "people" | "sessions"> & { administrator: Jar };

/** Creates people with every kind of factor, whose browsers sign in. */
async function fillPeople(
  source: Source,
  admin: (line: string) => Promise<{ passwordLink: string; email: string }>,
): Promise<Filled> {
  const make = async (name: string, more = ""): Promise<string> => {
    const email = `${name}@example.org`;
    const { passwordLink } = await admin(`create-user ${email}${more}`);
    const { pathname, search } = new URL(passwordLink, source.url);
    const typed = { password: PASSWORD, password_again: PASSWORD };
    const jar: Jar = new Map();
    const page = await visit(source, jar, pathname + search);
    const fields = { ...readHidden(page.text), ...typed };
    const set = await visit(source, jar, pathname, { fields });
    if (set.status >= 400) throw new Error(set.text);
    return email;
  };
  const signIn = async (email: string): Promise<Jar> => {
    const jar: Jar = new Map();
    const { status, text } = await submitSignIn(source, jar, { email });
    if (status !== 303) throw new Error(`${email}: ${status} ${text}`);
    return jar;
  };
  const password = await make("password");
  await admin(`grant ${password} wiki editor --new-role`);
  await admin(`grant ${password} shop clerk --new-role`);
  const administrator = await make("administrator", " --role super_admin");
  const leaving = await signIn(password);
  const ended = toCookieHeader(leaving);
  await submitForm(source, leaving, { path: "/sign-out" });
  const totp = await make("totp");
  await admin(`grant ${totp} wiki editor`);
  const { key, codes } = await addAuthenticator(source, await signIn(totp), {});
  const passkey = await make("passkey");
  await admin(`grant ${passkey} wiki reader --new-role`);
  const authenticator = makeAuthenticator(source.url);
  await addPasskey(source, await signIn(passkey), { authenticator });
  source.provider.accounts.set("provided", {
    ...{ email: "provided@example.org", email_verified: true, groups: "staff" },
  });
  const provided = await signInWith(source, new Map(), { login: "provided" });
  if (provided.status !== 303)
    throw new Error(`Not signed in: ${provided.status} ${provided.text}`);
  const links = [
    await admin("invite invited@example.org wiki reader"),
    await admin(`password-link ${password}`),
  ]
    .map(({ passwordLink }) => new URL(passwordLink, source.url))
    .map(({ pathname, search }) => pathname + search);
  await submitForm(source, new Map(), { path: "/forgot", typed: { email: totp } });
  // Last, because a new password link ends a person's sessions.
  const [live, operating] = [await signIn(password), await signIn(administrator)];
  return {
    people: {
      ...{ password, administrator, provided: "provided", links },
      totp: { email: totp, key, codes },
      passkey: { email: passkey, saved: authenticator.save() },
    },
    sessions: { live: toCookieHeader(live), administrator: toCookieHeader(operating), ended },
    administrator: operating,
  };
}

/** Submits forms of the Console, which the audit log records. */
async function tourConsole(source: Source, jar: Jar): Promise<void> {
  const person = {
    email: "by.console@example.org",
    name: "",
    console_role: "none",
    role: "reader",
  };
  for (const [path, typed] of [
    ["/console/apps/wiki/new-key", {}],
    ["/console/new-person", person],
  ] as const) {
    const { text, status } = await visit(source, jar, path);
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    const fields = { ...fillForm(text, { slug: "wiki" }), ...typed };
    const sent = await visit(source, jar, path, { fields });
    if (sent.status >= 400) throw new Error(`${path}: ${sent.status} ${sent.text}`);
  }
}

/** Writes the schema of a project, for a program of any version. */
export function writeProject(
  folder: string,
  program: string,
  tables: Record<string, string>,
): void {
  const path = join(folder, "schema/mod.ts");
  mkdirSync(dirname(path), { recursive: true });
  const text = Object.entries(tables).map(([name, columns]) => `  ${name}: ${columns},\n`);
  writeFileSync(
    path,
    `import { defineSchema, t } from ${JSON.stringify(join(program, "src/schema/mod.ts"))};\nexport default defineSchema({\n${text.join("")}});\n`,
  );
}

const PROGRAM = "<program>";

function readProject(folder: string, program: string): World["project"] {
  const glob = new Bun.Glob("{schema,.rowhouse}/**/*");
  const paths = [...glob.scanSync({ cwd: folder, dot: true })].sort();
  return Object.fromEntries(
    paths.map((path) => [
      path,
      readFileSync(join(folder, path), "utf8").replaceAll(program, PROGRAM),
    ]),
  );
}

/** Writes the files of a project for a program. */
export function restoreProject({ project }: World, folder: string, program: string): void {
  for (const [path, text] of Object.entries(project)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text.replaceAll(PROGRAM, program));
  }
}
