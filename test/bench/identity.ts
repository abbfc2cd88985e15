/**
 * `bench identity`: who-am-I beside a get of a row, in turns; then the same question while many people sign in at once,
 * and how long they take beside their hashes alone.
 *
 * @module
 */
import { makeHashing } from "../../src/identity/mod.ts";
import { withDatabase } from "../support/cluster.ts";
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
} from "../support/people.ts";
import { callService } from "../support/service.ts";
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
/** Few, so that a response waits for sign-ins and not for other callers. */
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
    const ask = (connections: number) => () => runLoad(served, me, { ...options, connections });
    await ask(CALLERS)(); // warms it, as prepareRun does
    const sides = {
      "`GET /v1/auth/me?app=`": ask(options.connections),
      "get one row": await prepareRun(served, findScenario("get"), options),
    };
    const signIn = () => signInAll(service, people);
    const compared = await compare("identity", sides, options);
    const signIns: SignIns[] = [];
    for (let round = 0; round < options.rounds; round++)
      signIns.push(await measureSignIns(signIn, ask(CALLERS)));
    return { ...compared, signIns: medians(signIns) };
  });
}

async function makePeople({ database }: Stage): Promise<Person[]> {
  return await withDatabase(database.adminUrl, (admin) =>
    withDatabase(database.servingUrl, async (db) => {
      const people: Person[] = [];
      for (let made = 0; made < PEOPLE; made++)
        people.push(await makePerson({ service: { admin, db } }, { app: APP }));
      return people;
    }),
  );
}

/** What the browsers of signed-in people ask. */
async function makeMeRequests(service: VisitedService, people: readonly Person[]) {
  const jars = await Promise.all(people.map((person) => signInAs(service, person)));
  const path = `/v1/auth/me?app=${APP.slug}`;
  return jars.map((jar) => ({
    method: "GET" as const,
    path,
    headers: { cookie: sharedCookie(jar) },
  }));
}

/** Callers and sign-ins alone, then side by side: again and again for as long as the callers ask. */
async function measureSignIns(signIn: () => Promise<number>, ask: () => Promise<Run>) {
  const { p99Ms: aloneP99Ms } = await ask();
  const hashesMs = await timeHashes();
  const aloneMs = await signIn();
  let isRunning = true;
  const asked = ask().finally(() => {
    isRunning = false;
  });
  const duringMs = await signIn();
  while (isRunning) await signIn();
  const { p99Ms: duringP99Ms } = await asked;
  return { aloneP99Ms, duringP99Ms, aloneMs, duringMs, hashesMs, toHashes: aloneMs / hashesMs };
}

/** As many as there are sign-ins, bounded as in a serving process. */
async function timeHashes(): Promise<number> {
  const hashing = makeHashing();
  const hash = await hashing.make(PASSWORD);
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: PEOPLE }, () => hashing.verify(PASSWORD, hash)));
  return performance.now() - startedAt;
}

/** Milliseconds until everybody is signed in, from forms that are open already. */
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
    ["the same while they sign in, again and again", show(signIns.duringP99Ms, 2)],
    ["all sign-ins, nothing else to do", show(signIns.aloneMs)],
    ["all sign-ins while the callers ask", show(signIns.duringMs)],
    ["as many hashes without requests", show(signIns.hashesMs)],
    ["sign-ins ÷ hashes", times(signIns.toHashes)],
  ];
  const slow = table([`${PEOPLE} concurrent sign-ins`, "ms"], rows);
  return `${printComparison("request", compared)}\n\n${slow}`;
}
