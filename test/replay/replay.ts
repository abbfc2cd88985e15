/**
 * Sends one list of requests to two programs, each on its own copy of one database, and compares the responses. A tag of the one
 * must change, or stay, exactly when the other's does: both number the values that they draw.
 *
 * @module
 */
import { type Database, readRows } from "../../src/db/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import type { Settings } from "../support/command.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { fillForm } from "../support/samples/forms.ts";
import { migrateAll, toOperator } from "../upgrade/database.ts";
import { type Serving, startServing } from "../upgrade/serving.ts";
import { openStage, type Stage } from "../upgrade/stage.ts";
import { openPersonKey } from "../upgrade/world.ts";
import { type Comparable, type Exchange, isSame, makeComparable, type Pairs } from "./normalize.ts";
import { makeRequests, type Request, type Subjects } from "./requests.ts";

export type Difference = { request: Request; theirs: Comparable; ours: Comparable };
export type Replayed = { requests: number; differences: Difference[] };

/** A serving program and what its responses have named. */
type Side = { stage: Stage; serving: Serving; person: string; names: Map<string, string> };

/** Replays on a version's program and on the program of a folder, both with these previews. */
export async function replay(version: string, program: string, preview: string): Promise<Replayed> {
  const stages: Stage[] = [];
  const sides: Side[] = [];
  try {
    for (const isOurs of [false, true]) {
      const stage = await openStage(version, "18");
      stages.push(stage);
      sides.push(await openSide(stage, isOurs ? program : stage.program, preview));
    }
    const [theirs, ours] = sides;
    if (theirs === undefined || ours === undefined) throw new Error("Two programs must serve");
    const requests = makeRequests(await findSubjects(theirs));
    const [differences, pairs]: [Difference[], Pairs] = [[], new Map()];
    for (const request of requests) {
      const sent = [exchange(theirs, request), exchange(ours, request)] as const;
      const [before, after] = await Promise.all(sent);
      if (!isSame(before, after, pairs)) differences.push({ request, theirs: before, ours: after });
    }
    return { requests: requests.length, differences };
  } finally {
    for (const { serving } of sides) await serving.stop();
    for (const { close } of stages) await close();
  }
}

async function openSide(stage: Stage, program: string, preview: string): Promise<Side> {
  const addresses = { ...stage.addresses, preview };
  await withDatabase(stage.addresses.admin, signInAgain);
  await migrateAll(addresses, program);
  const serving = await startServing({ program, addresses, shape: "one", workers: 1 });
  await withDatabase(stage.addresses.admin, finishBuilds);
  const isOpen = preview.includes("browser");
  const { live } = stage.frozen.world.sessions;
  const person = isOpen ? await openPersonKey(serving, live) : "rh_none";
  return { stage, serving, person, names: new Map() };
}

/** The frozen sign-ins are up to an hour old. Now all are recent, so that every action is compared, whenever this runs. */
async function signInAgain(admin: Database): Promise<void> {
  await admin.message(`update rowhouse.sessions set proven_at = now(),
    second_factor_at = case when second_factor_at is not null then now() end; select 1`);
}

/** The Console shows estimates of rows, which a build of an index changes, too. */
async function finishBuilds(admin: Database): Promise<void> {
  const left =
    "select count(*)::int as count from rowhouse.deferred_steps where state in ('waiting', 'running')";
  await eventually(async () => (await readRows<{ count: number }>(admin, left))[0]?.count === 0);
  await admin.message("analyze; select 1");
}

/** Ids of the frozen database that the paths of routes name. */
async function findSubjects({ stage, serving }: Side): Promise<Subjects> {
  const { world } = stage.frozen;
  const run = async (line: string): Promise<unknown> => {
    const options = { folder: stage.folder, program: stage.program };
    const env: Settings = { ...toOperator(stage.addresses), IDENTITY_URL: serving.url };
    const { code, out, err } = await runCommand(["admin", ...line.split(" "), "--json"], {
      ...options,
      env,
    });
    if (code !== 0) throw new Error(`${line}: ${err}`);
    return JSON.parse(out);
  };
  const { password, administrator } = world.people;
  const user = (await run(`show-user ${password}`)) as { id: string };
  const { sessions } = (await run(`sessions ${administrator}`)) as { sessions: { id: string }[] };
  const list = world.reads.find(({ path }) => path.startsWith("/v1/data/db/pages?limit=1000"));
  const { rows } = JSON.parse(list?.text ?? "{}") as { rows: { id: string }[] };
  const [, key = ""] = /_(\w+)\./.exec(world.keys.wiki) ?? [];
  return {
    ...{ app: "wiki", table: "pages", key, person: user.id, session: sessions[0]?.id ?? "" },
    ...{ seq: "1", row: rows[0]?.id ?? "", id: rows[0]?.id ?? "", provider: "none" },
    request: "0190163d-8694-739b-aea5-966c26f8ad91",
    act: "0190163d-8694-739b-aea5-966c26f8ad92",
  };
}

async function exchange(side: Side, request: Request): Promise<Comparable> {
  const fields = request.isForm === true ? await fillIn(side, request) : undefined;
  const found = await send(side, request, fields);
  for (const [name, path] of Object.entries(request.keep ?? {}))
    side.names.set(name, readKept(found, path));
  const compared = makeComparable(found);
  return MEASURED.test(request.path) ? { ...compared, body: "", drawn: [] } : compared;
}

/** Pages with counts of the last minutes, which begin for each program at another time. */
const MEASURED = /^\/console(\/apps\/[^/]+|\/requests|\/changes)?$/;

/** The fields of a page's form, as a person fills them in; without a form, none. */
async function fillIn(side: Side, request: Request): Promise<Record<string, string>> {
  const { text } = await send(side, { ...request, method: "GET", isForm: false });
  return fillForm(text, { slug: "wiki" });
}

async function send(
  side: Side,
  request: Request,
  fields?: Record<string, string>,
): Promise<Exchange> {
  const fill = (text: string) =>
    text.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => side.names.get(name) ?? "missing");
  const body = toBody(request, fields);
  const abort = new AbortController();
  const response = await fetch(side.serving.url + fill(request.path), {
    method: request.method,
    redirect: "manual",
    signal: abort.signal,
    headers: {
      ...toCredential(side, request),
      ...(request.json === undefined && request.text === undefined
        ? {}
        : { "content-type": "application/json" }),
      ...Object.fromEntries(
        Object.entries(request.headers ?? {}).map(([name, value]) => [name, fill(value)]),
      ),
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? fill(body) : body }),
  });
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const text = isStream ? "" : await response.text();
  if (isStream) abort.abort();
  return { status: response.status, headers: response.headers, text };
}

function toBody(
  { json, text }: Request,
  fields: Record<string, string> | undefined,
): string | URLSearchParams | undefined {
  if (fields !== undefined) return new URLSearchParams(fields);
  return text ?? (json === undefined ? undefined : JSON.stringify(json));
}

function toCredential(
  { stage, serving, person }: Side,
  { credential, path, isForm }: Request,
): Record<string, string> {
  const { keys, sessions } = stage.frozen.world;
  const own = "http://wiki.rowhouse.localhost";
  if (credential === "none") return {};
  if (credential === "malformed key") return { authorization: "Bearer rh_malformed" };
  if (credential === "person") return { authorization: `Bearer ${person}`, origin: own };
  if (credential === "person of another origin")
    return { authorization: `Bearer ${person}`, origin: "https://evil.example.org" };
  const isSession = (name: string): name is keyof typeof sessions => name in sessions;
  if (!isSession(credential)) return { authorization: `Bearer ${keys[credential]}` };
  const origin = isForm === true || !path.startsWith("/v1/") ? { origin: serving.url } : {};
  return { cookie: sessions[credential], ...origin };
}

function readKept({ headers, text }: Exchange, path: string): string {
  if (path === "etag") return headers.get("etag") ?? "missing";
  try {
    const json = JSON.parse(text) as Record<string, unknown>;
    return String(json[path] ?? "missing");
  } catch {
    return "missing";
  }
}
