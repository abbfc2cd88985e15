/**
 * A mixed load of apps, visitors and administrators during an upgrade. It counts every response, and knows which rows must be
 * stored afterwards: those of acknowledged writes, with their last values.
 *
 * @module
 */
import { type EventReader, openEvents } from "../support/event_stream.ts";
import { eventually } from "../support/eventually.ts";
import { readHidden } from "../support/people.ts";
import { makeRandom } from "../support/random.ts";

export type LoadOptions = {
  url: string;
  key: string;
  /** A table with a column `title`, of the key's app, which is live. */
  table: string;
  /** The address of a person who can open the app `slug`. */
  person: { email: string; password: string; slug: string };
  /** The cookies of an administrator, for the Console. */
  administrator: string;
  callers: number;
  /** How long a caller waits after each request. */
  pauseMs: number;
  /** The seed of the order of requests. */
  seed: number;
};

export type Load = {
  /** Responses so far, by kind of request. */
  counts: Map<string, number>;
  count: () => number;
  /** What callers do not expect, each with its kind of request. */
  failures: string[];
  /** Connections that ended before a response began: the request was sent again. */
  resets: () => number;
  /** The title of each row that must exist. */
  rows: Map<string, string>;
  /** The rows that must not exist. */
  deleted: Set<string>;
  stop: () => Promise<void>;
};

type Row = { id: string; title: string };
type Answer = { status: number; text: string; headers: Headers };
type Sent = {
  method?: string;
  json?: unknown;
  form?: Record<string, string>;
  headers?: Record<string, string>;
};
type Send = (path: string, sent?: Sent) => Promise<Answer>;
type Caller = { send: Send; mine: string[]; random: () => number };

/** One caller in this many reads events, visits the Console, or signs in. */
const WEIGHTS = { row: 0.8, list: 0.9, visit: 0.97 };
const TIME_LIMIT_MS = 40_000;

export async function startLoad(options: LoadOptions): Promise<Load> {
  const { table, url, person } = options;
  const path = `/v1/data/db/${table}`;
  const [counts, failures] = [new Map<string, number>(), [] as string[]];
  const [rows, deleted] = [new Map<string, string>(), new Set<string>()];
  let isRunning = true;
  let resets = 0;

  const ask = async (
    caller: Caller,
    kind: string,
    path: string,
    sent: Sent,
    wanted: readonly number[],
  ) => {
    const answer = await caller.send(path, sent);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    if (wanted.includes(answer.status)) return answer;
    failures.push(`${kind}: ${answer.status} ${answer.text.slice(0, 300)}`);
    return undefined;
  };
  const fail = (kind: string, what: string) => void failures.push(`${kind}: ${what}`);

  const writeRow = async (caller: Caller): Promise<void> => {
    const { mine, random } = caller;
    const id = mine[Math.floor(random() * mine.length)];
    const title = crypto.randomUUID();
    const choice = random();
    if (id === undefined || choice < 0.3) {
      const answer = await ask(caller, "create", path, { method: "POST", json: { title } }, [201]);
      if (answer === undefined) return;
      const row = JSON.parse(answer.text) as Row;
      if (row.title !== title) fail("create", `another row: ${answer.text}`);
      rows.set(row.id, title);
      mine.push(row.id);
    } else if (choice < 0.4) {
      const titles = Array.from({ length: 5 }, () => crypto.randomUUID());
      const json = titles.map((title) => ({ title }));
      const answer = await ask(caller, "batch", path, { method: "POST", json }, [201]);
      if (answer === undefined) return;
      const created = (JSON.parse(answer.text) as { rows: Row[] }).rows;
      if (created.map(({ title }) => title).join() !== titles.join()) fail("batch", answer.text);
      for (const row of created) rows.set(row.id, row.title);
      mine.push(...created.map(({ id }) => id));
    } else if (choice < 0.55) {
      const answer = await ask(
        caller,
        "update",
        `${path}/${id}`,
        { method: "PATCH", json: { title } },
        [200],
      );
      if (answer !== undefined) rows.set(id, title);
    } else if (choice < 0.62) {
      const answer = await ask(caller, "delete", `${path}/${id}`, { method: "DELETE" }, [204]);
      if (answer === undefined) return;
      mine.splice(mine.indexOf(id), 1);
      rows.delete(id);
      deleted.add(id);
    } else if (choice < 0.67) {
      const headers = { "idempotency-key": crypto.randomUUID() };
      const sent = { method: "POST", json: { title }, headers };
      const first = await ask(caller, "create once", path, sent, [201]);
      const again = await ask(caller, "create once", path, sent, [201]);
      if (first === undefined || again === undefined) return;
      if (first.text !== again.text) fail("create once", `${first.text} ${again.text}`);
      rows.set((JSON.parse(first.text) as Row).id, title);
    } else {
      const answer = await ask(caller, "get", `${path}/${id}`, {}, [200]);
      if (answer !== undefined && (JSON.parse(answer.text) as Row).title !== rows.get(id))
        fail("get", `${answer.text} instead of ${rows.get(id)}`);
    }
  };

  const readList = async (caller: Caller): Promise<void> => {
    const page = caller.random() < 0.5 ? "" : "&offset=5";
    const answer = await ask(caller, "list", `${path}?limit=20${page}`, {}, [200]);
    if (answer !== undefined && !Array.isArray((JSON.parse(answer.text) as { rows: Row[] }).rows))
      fail("list", answer.text);
  };

  const visitors = new Map<Caller, string>();
  const visit = async (caller: Caller): Promise<void> => {
    // Each sign-in from another address, as of other people: a throttle counts them by address.
    const from = { "x-forwarded-for": `203.0.113.${Math.floor(caller.random() * 250)}` };
    const cookie = visitors.get(caller);
    if (cookie !== undefined && caller.random() < 0.8) {
      const headers = { ...from, cookie };
      const answer = await ask(
        caller,
        "check of a session",
        `/v1/auth/me?app=${person.slug}`,
        { headers },
        [200],
      );
      if (answer !== undefined && !answer.text.includes(person.email.split("@")[0] ?? ""))
        if (!answer.text.includes("user")) fail("check of a session", answer.text);
      return;
    }
    const page = await ask(caller, "sign-in page", "/login", { headers: from }, [200]);
    if (page === undefined) return;
    const headers = { ...from, cookie: toCookies(page), origin: url };
    const form = { ...readHidden(page.text), email: person.email, password: person.password };
    const answer = await ask(caller, "sign-in", "/login", { method: "POST", form, headers }, [303]);
    if (answer !== undefined) visitors.set(caller, toCookies(answer));
  };

  const administer = async (caller: Caller): Promise<void> => {
    const cookie = options.administrator;
    const pages = [
      "",
      `/apps/${person.slug}`,
      `/apps/${person.slug}/tables/${table}`,
      "/people",
      "/activity",
    ];
    const at = `/console${pages[Math.floor(caller.random() * pages.length)]}`;
    const page = await ask(caller, "Console page", at, { headers: { cookie } }, [200]);
    if (page === undefined || caller.random() < 0.5) return;
    const add = `/console/apps/${person.slug}/tables/${table}/new`;
    const form = await ask(caller, "Console page", add, { headers: { cookie } }, [200]);
    if (form === undefined) return;
    const title = crypto.randomUUID();
    const fields = { ...readHidden(form.text), "value.title": title };
    const headers = { cookie, origin: url };
    const sent = await ask(
      caller,
      "Console row",
      add,
      { method: "POST", form: fields, headers },
      [303],
    );
    const [id] = /[0-9a-f-]{36}/.exec(sent?.headers.get("location") ?? "") ?? [];
    if (id !== undefined) rows.set(id, title);
  };

  const call = async (index: number): Promise<void> => {
    const draw = makeRandom(options.seed + index);
    const random = () => draw(1_000_000) / 1_000_000;
    const caller: Caller = {
      mine: [],
      random,
      send: (to, sent) => send(options, to, sent, () => resets++),
    };
    while (isRunning) {
      const choice = random();
      try {
        if (choice < WEIGHTS.row) await writeRow(caller);
        else if (choice < WEIGHTS.list) await readList(caller);
        else if (choice < WEIGHTS.visit) await visit(caller);
        else await administer(caller);
      } catch (error) {
        fail("a request", String(error));
      }
      await Bun.sleep(options.pauseMs);
    }
  };
  const follower = await follow(options);
  const callers = Array.from({ length: options.callers }, (_, index) => call(index));
  return {
    ...{ counts, failures, rows, deleted, resets: () => resets },
    count: () => [...counts.values()].reduce((sum, count) => sum + count, 0),
    stop: async () => {
      isRunning = false;
      await Promise.all(callers);
      for (const missed of await follower.stop(rows.keys())) fail("events", `none of ${missed}`);
    },
  };
}

/** Sends a request. If the connection is reset before the response begins, it is sent once more on a new one, as clients do. */
export async function send(
  { url, key }: Pick<LoadOptions, "url" | "key">,
  path: string,
  { method = "GET", json, form, headers = {} }: Sent = {},
  countReset?: () => void,
): Promise<Answer> {
  const body = json === undefined ? form && new URLSearchParams(form) : JSON.stringify(json);
  const request = (isAgain: boolean) =>
    fetch(url + path, {
      method,
      keepalive: !isAgain,
      headers: {
        ...(path.startsWith("/v1/data") ? { authorization: `Bearer ${key}` } : {}),
        ...(json === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
      redirect: "manual",
      signal: AbortSignal.timeout(TIME_LIMIT_MS),
    });
  const response = await request(false).catch((error: unknown) => {
    if (countReset === undefined || (error as { code?: string }).code !== "ECONNRESET") throw error;
    countReset();
    return request(true);
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

function toCookies({ headers }: Answer): string {
  return headers
    .getSetCookie()
    .map((line) => line.split(";")[0] ?? "")
    .filter((pair) => !pair.endsWith("="))
    .join("; ");
}

/** Follows the table's changes, and connects again at the last event. `stop` returns the rows that were in no event. */
async function follow({ url, key, table }: LoadOptions) {
  const seen = new Set<string>();
  const opened = Promise.withResolvers<void>();
  let last: string | undefined;
  let hasReset = false;
  let isOver = false;
  let events: EventReader | undefined;
  const read = async (): Promise<void> => {
    events = await openEvents(`${url}/v1/data/db/${table}/changes`, { key, since: last });
    for (let event = await events.next(); event !== undefined; event = await events.next()) {
      last = event.id;
      hasReset ||= event.kind === "reset";
      opened.resolve();
      const ids = JSON.stringify(event.data).matchAll(/"id":"([0-9a-f-]{36})"/g);
      for (const [, id = ""] of ids) seen.add(id);
    }
  };
  const reading = (async () => {
    while (!isOver) {
      // A client connects again after a pause, whatever ended the stream.
      await read().catch(() => undefined);
      await Bun.sleep(50);
    }
  })();
  await opened.promise;
  return {
    stop: async (wanted: Iterable<string>): Promise<string[]> => {
      const ids = [...wanted];
      const findMissed = () => (hasReset ? [] : ids.filter((id) => !seen.has(id)));
      await eventually(() => findMissed().length === 0, { patienceMs: 15_000 }).catch(
        () => undefined,
      );
      isOver = true;
      await events?.close();
      await reading;
      return findMissed();
    },
  };
}
