/**
 * A rolling restart with another `PREVIEW`, in both directions and under load: two processes on one database, behind a balancer. No
 * default request fails, each request of a preview gets its answer or the error of a service without it, streams end after a
 * whole event, and a client that continues them loses no change. A reduced run takes one server.
 */
import { expect, test } from "bun:test";
import { connect, createServer, type Socket } from "node:net";
import { withDatabase } from "../support/cluster.ts";
import { ROOT } from "../support/command.ts";
import { findFreePort } from "../support/free_port.ts";
import { PASSWORD } from "../support/people.ts";
import { countRuns, isFull } from "../support/tier.ts";
import { migrateAll } from "./database.ts";
import { readContents } from "./frozen.ts";
import { type LoadOptions, send, startLoad } from "./load.ts";
import { PREVIOUS } from "./packed.ts";
import { type Serving, startServing } from "./serving.ts";
import { isInstalled, openStage, SERVERS, type Stage } from "./stage.ts";

const REQUESTS_A_STEP = countRuns(3000);
const TABLE = "/v1/data/db/pages";

/** Requests of each preview, and one whose answer in the Console depends on one. */
const PREVIEWED = [
  { method: "GET", path: `${TABLE}?title=eq.none` },
  { method: "GET", path: `${TABLE}?order=title.asc&limit=2` },
  { method: "GET", path: `${TABLE}/groups?title=eq.none` },
  { method: "PATCH", path: `${TABLE}?title=eq.none`, json: { title: "none" } },
  { method: "DELETE", path: `${TABLE}?title=eq.none` },
  { method: "GET", path: `${TABLE}/changes` },
  { method: "GET", path: "/v1/data/me" },
  { method: "GET", path: "/console/apps/wiki/tables/pages/history" },
] as const;

const SERVED = SERVERS.filter((server) => isInstalled[server] && (isFull() || server === "18"));

test.each(SERVED)(
  "a restart with another PREVIEW fails no request on %s",
  async (server) => {
    const stage = await openStage(PREVIOUS, server);
    const balancer = await openBalancer();
    const processes: Serving[] = [];
    const start = async (preview: string) => {
      const serving = await startServing({
        ...{ program: ROOT, shape: "one", workers: 1, publicUrl: balancer.url },
        addresses: { ...stage.addresses, preview },
      });
      processes.push(serving);
      return serving;
    };
    try {
      await migrateAll(stage.addresses, ROOT);
      const { keys, people, sessions } = stage.frozen.world;
      const all = stage.addresses.preview;
      const options: LoadOptions = {
        ...{ url: balancer.url, key: keys.wiki, table: "pages", callers: 8, pauseMs: 20 },
        ...{ seed: 20_261_129, administrator: sessions.administrator },
        person: { email: people.password, password: PASSWORD, slug: "wiki" },
      };
      const [with_, without] = [await start(all), await start("")];
      const answers = await readAnswers(options, [with_, without], balancer);
      for (const [path, found] of answers) expect([path, found.size]).toEqual([path, 2]);
      await without.stop();
      const serving = [with_, await start(all)];
      balancer.use(serving);

      const before = await readTitles(stage);
      const load = await startLoad(options);
      const asking = startAsking(options, answers);
      const reach = async () => {
        const wanted = load.count() + REQUESTS_A_STEP;
        while (load.count() < wanted && load.failures.length < 20) await Bun.sleep(20);
      };
      const ends: string[] = [];
      try {
        for (const preview of ["", all])
          for (const index of [0, 1]) {
            await reach();
            const former = serving[index] as Serving;
            const stream = preview === "" ? await openStream(options, former) : undefined;
            balancer.use(serving.filter((other) => other !== former));
            await former.stop();
            if (stream !== undefined) ends.push(await stream.text);
            serving[index] = await start(preview);
            balancer.use(serving);
          }
        await reach();
      } finally {
        await asking.stop();
        await load.stop();
      }
      console.log(`${load.count()} requests, ${load.resets()} connections reset;`, asking.counts);
      expect(load.failures).toEqual([]);
      expect(asking.others).toEqual([]);
      for (const [path, found] of asking.counts) expect([path, found.size]).toEqual([path, 2]);
      expect(ends).toHaveLength(2);
      for (const text of ends) expect(text).toMatch(/^id: [\s\S]*\n\n$/);
      const stored = await readTitles(stage);
      expect([...load.rows].filter(([id, title]) => stored.get(id) !== title)).toEqual([]);
      expect([...load.deleted].filter((id) => stored.has(id))).toEqual([]);
      expect([...before].filter(([id, title]) => stored.get(id) !== title)).toEqual([]);
    } finally {
      for (const serving of processes) await serving.stop();
      balancer.close();
      await stage.close();
    }
    for (const serving of processes) expect(serving.output()).not.toMatch(/"level":"error"/);
  },
  900_000,
);

/** The status and code of an answer. */
type Outcome = string;
type Outcomes = Map<string, Set<Outcome>>;

async function ask(options: LoadOptions, request: (typeof PREVIEWED)[number]): Promise<Outcome> {
  const headers = request.path.startsWith("/console") ? { cookie: options.administrator } : {};
  if (request.path.endsWith("/changes")) return await askStream(options, request.path);
  const { status, text } = await send(options, request.path, { ...request, headers }, () => {
    // A connection that ended before its response is tried again, as clients do.
  });
  const [, code = ""] = /"error":"(\w+)"/.exec(text) ?? [];
  return `${status} ${code}`;
}

async function askStream({ url, key }: LoadOptions, path: string): Promise<Outcome> {
  const abort = new AbortController();
  const response = await fetch(url + path, {
    headers: { authorization: `Bearer ${key}`, accept: "text/event-stream" },
    signal: abort.signal,
  });
  const isStream = response.headers.get("content-type") === "text/event-stream";
  const [, code = ""] = isStream ? [] : (/"error":"(\w+)"/.exec(await response.text()) ?? []);
  abort.abort();
  return `${response.status} ${code}`;
}

const keyOf = ({ method, path }: (typeof PREVIEWED)[number]) => `${method} ${path}`;

/** What a process with all previews answers, and one without any. */
async function readAnswers(
  options: LoadOptions,
  processes: readonly Serving[],
  balancer: Balancer,
): Promise<Outcomes> {
  const answers: Outcomes = new Map(PREVIEWED.map((request) => [keyOf(request), new Set()]));
  for (const serving of processes) {
    balancer.use([serving]);
    balancer.cut();
    for (const request of PREVIEWED) answers.get(keyOf(request))?.add(await ask(options, request));
  }
  return answers;
}

/** Asks for what previews serve, until stopped. `others`: answers that neither process gives. */
function startAsking(options: LoadOptions, answers: Outcomes) {
  const counts: Outcomes = new Map(PREVIEWED.map((request) => [keyOf(request), new Set()]));
  const others: string[] = [];
  let isRunning = true;
  const asking = (async () => {
    while (isRunning)
      for (const request of PREVIEWED) {
        const key = keyOf(request);
        const outcome = await ask(options, request).catch((error: unknown) => String(error));
        counts.get(key)?.add(outcome);
        if (answers.get(key)?.has(outcome) !== true) others.push(`${key}: ${outcome}`);
        await Bun.sleep(20);
      }
  })();
  return {
    ...{ counts, others },
    stop: async () => {
      isRunning = false;
      await asking;
    },
  };
}

/** Opens a stream of a process. `text`: all that it sends until it ends. */
async function openStream(
  { key }: LoadOptions,
  { url }: Serving,
): Promise<{ text: Promise<string> }> {
  const response = await fetch(`${url}${TABLE}/changes`, {
    headers: { authorization: `Bearer ${key}`, accept: "text/event-stream" },
  });
  expect(response.status).toBe(200);
  return { text: response.text() };
}

async function readTitles({ addresses }: Stage): Promise<Map<string, string>> {
  const only = { "data.pages": { columns: ["id", "title"], rows: [] } };
  const contents = await withDatabase(addresses.admin, (admin) => readContents(admin, only));
  const rows = contents["data.pages"]?.rows ?? [];
  return new Map(rows.map((row) => [row.slice(1, 37), row.slice(38, -1).replace(/^"|"$/g, "")]));
}

type Balancer = {
  url: string;
  use: (processes: readonly Serving[]) => void;
  /** Ends the connections. */
  cut: () => void;
  close: () => void;
};

/** Sends each new connection to the next process. */
async function openBalancer(): Promise<Balancer> {
  let ports: number[] = [];
  let next = 0;
  const sockets = new Set<Socket>();
  const server = createServer((caller) => {
    const target = connect(ports[next++ % ports.length] ?? 0, "127.0.0.1");
    for (const [from, to] of [
      [caller, target],
      [target, caller],
    ] as const) {
      sockets.add(from);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroySoon();
      });
      from.pipe(to);
    }
  });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const port = await findFreePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://rowhouse.localhost:${port}`,
    use: (processes) => {
      ports = processes.map(({ url }) => Number(new URL(url).port));
    },
    cut,
    close: () => {
      server.close();
      cut();
    },
  };
}
