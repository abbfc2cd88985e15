/**
 * `bench identity`: compares `GET /v1/auth/me` with a get of a row; then measures it during many sign-ins, and compares the
 * sign-ins with their password hashes.
 *
 * @module
 */
import { makeHashing } from "../src/identity/mod.ts";
import { withDatabase } from "../test/support/cluster.ts";
import {
  type Jar,
  makePerson,
  PASSWORD,
  type Person,
  readToken,
  sharedCookie,
  signInAs,
  type VisitedService,
  visit,
} from "../test/support/people.ts";
import { callService } from "../test/support/service.ts";
import { type Comparison, compare, printComparison } from "./compare.ts";
import { prepareRun, type Run, runLoad } from "./load.ts";
import type { BenchOptions } from "./options.ts";
import { show, table, times } from "./print.ts";
import { medians } from "./rounds.ts";
import { findScenario } from "./scenarios.ts";
import { startServer } from "./servers.ts";
import { type Stage, withStage } from "./stage.ts";

type SignIns = Awaited<ReturnType<typeof measureSignIns>>;
type IdentityResult = Comparison & { signIns: SignIns };

const PEOPLE = 32;
/** Few, so that responses wait for sign-ins and not for other callers. */
const CALLERS = 4;
const APP = { slug: "bench-1" };

export async function benchIdentity(options: BenchOptions): Promise<IdentityResult> {
  return await withStage(options, async (stage) => {
    const people = await makePeople(stage);
    await using server = await startServer("service", stage, options);
    const service: VisitedService = {
      url: server.url,
      call: (app, path, call) => callService({ url: server.url }, app, path, call),
    };
    const served = { stage, server };
    const me = { status: 200, requests: await makeMeRequests(service, people) };
    const runMe = (connections: number) => () => runLoad(served, me, { ...options, connections });
    await runMe(CALLERS)(); // Warms up the service, as prepareRun does.
    const sides = {
      "`GET /v1/auth/me?app=`": runMe(options.connections),
      "get one row": await prepareRun(served, findScenario("get"), options),
    };
    const signIn = () => signInAll(service, people);
    const compared = await compare("identity", sides, options);
    const signIns: SignIns[] = [];
    for (let round = 0; round < options.rounds; round++)
      signIns.push(await measureSignIns(signIn, runMe(CALLERS)));
    return { ...compared, signIns: medians(signIns) };
  });
}

async function makePeople({ database }: Stage): Promise<Person[]> {
  return await withDatabase(database.adminUrl, (admin) =>
    withDatabase(database.servingUrl, async (db) => {
      const people: Person[] = [];
      for (let count = 0; count < PEOPLE; count++)
        people.push(await makePerson({ service: { admin, db } }, { app: APP }));
      return people;
    }),
  );
}

/** Returns the requests of signed-in people. */
async function makeMeRequests(service: VisitedService, people: readonly Person[]) {
  const jars = await Promise.all(people.map((person) => signInAs(service, person)));
  const path = `/v1/auth/me?app=${APP.slug}`;
  return jars.map((jar) => ({
    method: "GET" as const,
    path,
    headers: { cookie: sharedCookie(jar) },
  }));
}

/** Measures requests and sign-ins separately, and then sign-ins that repeat until the requests end. */
async function measureSignIns(signIn: () => Promise<number>, runMe: () => Promise<Run>) {
  const { p99Ms: aloneP99Ms } = await runMe();
  const hashesMs = await timeHashes();
  const aloneMs = await signIn();
  let isRunning = true;
  const running = runMe().finally(() => {
    isRunning = false;
  });
  const duringMs = await signIn();
  while (isRunning) await signIn();
  const { p99Ms: duringP99Ms } = await running;
  return { aloneP99Ms, duringP99Ms, aloneMs, duringMs, hashesMs, toHashes: aloneMs / hashesMs };
}

/** Returns the milliseconds for as many hashes as sign-ins, with the concurrency limit of a serving process. */
async function timeHashes(): Promise<number> {
  const hashing = makeHashing();
  const hash = await hashing.make(PASSWORD);
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: PEOPLE }, () => hashing.verify(PASSWORD, hash)));
  return performance.now() - startedAt;
}

/** Returns the milliseconds until all people are signed in. Their forms are open before. */
async function signInAll(service: VisitedService, people: readonly Person[]): Promise<number> {
  const forms = await Promise.all(
    people.map(async ({ email }) => {
      const jar: Jar = new Map();
      const page = await visit(service, jar, "/login");
      return { jar, fields: { form_token: readToken(page.text), email, password: PASSWORD } };
    }),
  );
  const startedAt = performance.now();
  const responses = await Promise.all(
    forms.map(({ jar, fields }) => visit(service, jar, "/login", { fields })),
  );
  const ms = performance.now() - startedAt;
  const failed = responses.find(({ status }) => status !== 303);
  if (failed !== undefined) throw new Error(`Not signed in: ${failed.status} ${failed.text}`);
  return ms;
}

export function printIdentity({ signIns, ...compared }: IdentityResult): string {
  const rows = [
    [`p99 of /v1/auth/me, ${CALLERS} callers, without sign-ins`, show(signIns.aloneP99Ms, 2)],
    ["p99 with continuous sign-ins", show(signIns.duringP99Ms, 2)],
    ["all sign-ins, without other requests", show(signIns.aloneMs)],
    ["all sign-ins, during the requests", show(signIns.duringMs)],
    ["the same number of hashes, without requests", show(signIns.hashesMs)],
    ["sign-ins ÷ hashes", times(signIns.toHashes)],
  ];
  const slow = table([`${PEOPLE} concurrent sign-ins`, "ms"], rows);
  return `${printComparison("request", compared)}\n\n${slow}`;
}
