/**
 * `bench identity`: who-am-I beside a get of a row, in turns; then the same question while many people sign in at once,
 * and how long they take beside their hashes alone in the same process.
 *
 * @module
 */
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
import { type Run, runLoad } from "./load.ts";
import type { LoadRequest } from "./load_process.ts";
import { median } from "./median.ts";
import type { BenchOptions } from "./options.ts";
import { pickScenarios, takeMedian } from "./requests.ts";
import { makeRequests } from "./scenarios.ts";
import { type Server, startServer } from "./servers.ts";
import { type Stage, withStage } from "./stage.ts";

export type IdentityResult = {
  rounds: number;
  seconds: number;
  connections: number;
  me: Run;
  get: Run;
  /** The median of each round's requests a second of /v1/auth/me over those of a get. */
  meToGet: number;
  /** Few callers, so that an answer waits for sign-ins and not for other callers. */
  quiet: { connections: number; aloneP99Ms: number; duringP99Ms: number };
  signIns: {
    count: number;
    /** With nothing else to do, and while the few callers ask. */
    aloneMs: number;
    duringMs: number;
    hashesMs: number;
    toHashes: number;
  };
};

const PEOPLE = 32;
const QUIET_CONNECTIONS = 4;
const WARM_S = 1.5;
const APP = { slug: "bench-1" };

type Bench = {
  server: Server;
  service: VisitedService;
  people: readonly Person[];
  me: LoadRequest[];
  get: LoadRequest[];
  options: BenchOptions;
};

export async function benchIdentity(options: BenchOptions): Promise<IdentityResult> {
  return await withStage({ apps: options.apps, rows: options.rows }, async (stage) => {
    const people = await makePeople(stage);
    const server = await startServer("service", stage, options);
    try {
      const service: VisitedService = {
        url: server.url,
        call: (app, path, call) => callService({ url: server.url }, app, path, call),
      };
      const me = await makeMeRequests(service, people);
      const get = pickScenarios(["get"]).flatMap((scenario) => makeRequests(scenario, stage));
      return await measure({ server, service, people, me, get, options });
    } finally {
      await server.stop();
    }
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
async function makeMeRequests(
  service: VisitedService,
  people: readonly Person[],
): Promise<LoadRequest[]> {
  const jars = await Promise.all(people.map((person) => signInAs(service, person)));
  return jars.map((jar) => ({
    method: "GET",
    path: `/v1/auth/me?app=${APP.slug}`,
    headers: { cookie: sharedCookie(jar) },
  }));
}

async function measure(bench: Bench): Promise<IdentityResult> {
  const { rounds, seconds, connections } = bench.options;
  await run(bench, "me", { connections, seconds: WARM_S });
  await run(bench, "get", { connections, seconds: WARM_S });
  await signInAll(bench);
  const pairs: { me: Run; get: Run }[] = [];
  const quiets: Quiet[] = [];
  const signIns: { aloneMs: number; hashesMs: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const me = await run(bench, "me", { connections, seconds });
    pairs.push({ me, get: await run(bench, "get", { connections, seconds }) });
    quiets.push(await measureQuiet(bench));
    const hashesMs = Number(await bench.server.ask(`hashes ${PEOPLE}`));
    signIns.push({ hashesMs, aloneMs: await signInAll(bench) });
    process.stderr.write(`identity ${round + 1}/${rounds}\n`);
  }
  return {
    rounds,
    seconds,
    connections,
    me: takeMedian(pairs.map((pair) => pair.me)),
    get: takeMedian(pairs.map((pair) => pair.get)),
    meToGet: median(pairs.map(({ me, get }) => me.perSecond / get.perSecond)),
    quiet: {
      connections: QUIET_CONNECTIONS,
      aloneP99Ms: median(quiets.map((quiet) => quiet.aloneP99Ms)),
      duringP99Ms: median(quiets.map((quiet) => quiet.duringP99Ms)),
    },
    signIns: {
      count: PEOPLE,
      aloneMs: median(signIns.map(({ aloneMs }) => aloneMs)),
      duringMs: median(quiets.flatMap((quiet) => quiet.signInsMs)),
      hashesMs: median(signIns.map(({ hashesMs }) => hashesMs)),
      toHashes: median(signIns.map(({ aloneMs, hashesMs }) => aloneMs / hashesMs)),
    },
  };
}

function run(
  bench: Bench,
  what: "me" | "get",
  { connections, seconds }: { connections: number; seconds: number },
): Promise<Run> {
  const plan = { url: bench.server.url, connections, seconds, status: 200, requests: bench[what] };
  return runLoad(plan, { server: bench.server, postmaster: undefined });
}

type Quiet = { aloneP99Ms: number; duringP99Ms: number; signInsMs: number[] };

/** Few callers alone, then with everybody signing in, again and again for as long as they ask. */
async function measureQuiet(bench: Bench): Promise<Quiet> {
  const load = { connections: QUIET_CONNECTIONS, seconds: bench.options.seconds };
  const alone = await run(bench, "me", load);
  let isRunning = true;
  const asked = run(bench, "me", load).finally(() => {
    isRunning = false;
  });
  const signInsMs: number[] = [];
  const signed = (async () => {
    while (isRunning) {
      const ms = await signInAll(bench);
      // What outlasted the load was not slowed by all of it.
      if (isRunning || signInsMs.length === 0) signInsMs.push(ms);
    }
  })();
  const [during] = await Promise.all([asked, signed]);
  return { aloneP99Ms: alone.p99Ms, duringP99Ms: during.p99Ms, signInsMs };
}

/** Milliseconds until everybody is signed in, from forms that are open already. */
async function signInAll({ service, people }: Bench): Promise<number> {
  const forms = await Promise.all(
    people.map(async ({ email }) => {
      const jar: Jar = new Map();
      const page = await visit(service, jar, "/login");
      return { jar, fields: { form_token: readToken(page.text), email, password: PASSWORD } };
    }),
  );
  const startedAt = performance.now();
  const answers = await Promise.all(
    forms.map(({ jar, fields }) => visit(service, jar, "/login", { fields })),
  );
  const ms = performance.now() - startedAt;
  const failed = answers.find(({ status }) => status !== 303);
  if (failed !== undefined) throw new Error(`Not signed in: ${failed.status} ${failed.text}`);
  return ms;
}
