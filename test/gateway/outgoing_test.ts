/** How a gateway limits what it has open at its services: by app, key, visitor and in total. Counts, never seconds. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { SESSION_COOKIE } from "../../src/identity/mod.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { eventually } from "../support/eventually.ts";
import { mintPersonKey } from "../support/minted_key.ts";
import { codeOf } from "../support/problem.ts";
import { type Call, openTestService, type TestApp, type TestService } from "../support/service.ts";
import { headOf, openStub, type Stub } from "../support/stub.ts";

const LIST = "/v1/data/db/todos";
const STREAM = { accept: "text/event-stream" };

let stub: Stub;
let service: TestService;
let held: { socket: Socket; request: string }[];
beforeEach(async () => {
  held = [];
  stub = await openStub((socket, request) => void held.push({ socket, request }));
  service = await openTestService({
    shape: "split",
    upstreams: { data: stub.url, identity: stub.url },
    service: {
      previews: ["browser"],
      outgoing: { running: 6, share: 4, waitingPerQueue: 3, waiting: 5 },
      maxStreams: { process: 5, app: 4, key: 3, visitor: 2 },
    },
  });
});
afterEach(async () => {
  await service.close();
  await stub.close();
});

function respondAll(headers = "Content-Length: 2", body = "{}"): void {
  for (const { socket, request } of held.splice(0))
    socket.write(`${headOf(request, headers)}${body}`);
}

async function answerUntil(isDone: () => boolean): Promise<void> {
  await eventually(() => {
    respondAll();
    return isDone();
  });
}

type Calls = { statuses: Promise<number>[]; settled: number[] };

function callTimes(app: TestApp | undefined, times: number, path = LIST, call: Call = {}): Calls {
  const settled: number[] = [];
  const statuses = Array.from({ length: times }, async () => {
    const { status } = await service.call(app, path, call);
    settled.push(status);
    return status;
  });
  return { statuses, settled };
}

describe("requests", () => {
  test("of one app wait behind its own: another app's are sent immediately", async () => {
    const [busy, other] = [await service.makeApp(), await service.makeApp()];
    const flood = callTimes(busy, 10);
    await eventually(() => flood.settled.length === 3 && held.length === 4);
    expect(flood.settled).toEqual([429, 429, 429]);
    const others = callTimes(other, 2);
    await eventually(() => held.length === 6);
    // The process is full. The next turns are shared.
    const waiting = callTimes(other, 2);
    await Bun.sleep(50);
    expect(held).toBeArrayOfSize(6);
    const first = held.shift();
    first?.socket.write(`${headOf(first.request, "Content-Length: 2")}{}`);
    await eventually(() => held.length === 6);
    await answerUntil(
      () => [flood, others, waiting].flatMap(({ settled }) => settled).length === 14,
    );
    expect(flood.settled.filter((status) => status === 200)).toBeArrayOfSize(7);
    expect([...others.settled, ...waiting.settled]).toEqual([200, 200, 200, 200]);
  });

  test("without a key wait behind those of the same visitor", async () => {
    const app = await service.makeApp();
    const visits = callTimes(undefined, 9, "/v1/auth/me");
    await eventually(() => visits.settled.length === 2 && held.length === 4);
    expect(visits.settled).toEqual([503, 503]);
    const { statuses } = callTimes(app, 1);
    await eventually(() => held.length === 5);
    await answerUntil(() => visits.settled.length === 9);
    expect(await Promise.all(statuses)).toEqual([200]);
  });

  test("with forged cookies leave a turn to others of the visitor, who sign in", async () => {
    const headers = { cookie: `${SESSION_COOKIE}=aaaaaaaaaaaaaaaa.${"A".repeat(32)}` };
    const forged = callTimes(undefined, 9, "/v1/auth/me", { headers });
    await eventually(() => forged.settled.length === 3 && held.length === 3);
    expect(forged.settled).toEqual([503, 503, 503]);
    const signIns = callTimes(undefined, 1, "/login");
    await eventually(() => held.length === 4);
    expect(held.at(-1)?.request).toStartWith("GET /login ");
    await answerUntil(() => forged.settled.length === 9 && signIns.settled.length === 1);
    expect(signIns.settled).toEqual([200]);
  });

  test("of one person leave a turn to the app's other people and its server", async () => {
    const app = await service.makeApp();
    await setAppSwitch(service.service, app.slug, ["browser", true]);
    const { admin } = service.service;
    const make = async () => {
      const person = crypto.randomUUID();
      const key = await mintPersonKey(admin, { app: app.id, person, role: "member" });
      service.secrets.add(key);
      return { ...app, key };
    };
    const [ada, bob] = [await make(), await make()];
    const flood = callTimes(ada, 9);
    await eventually(() => flood.settled.length === 3 && held.length === 3);
    expect(flood.settled).toEqual([429, 429, 429]);
    for (const other of [bob, app]) {
      const { settled } = callTimes(other, 1);
      await eventually(() => held.length === 4);
      const last = held.pop();
      last?.socket.write(`${headOf(last.request, "Content-Length: 2")}{}`);
      await eventually(() => settled.length === 1);
      expect(settled).toEqual([200]);
    }
    await answerUntil(() => flood.settled.length === 9);
  });

  test("that wait leave when their caller disconnects", async () => {
    const app = await service.makeApp();
    const sent = callTimes(app, 4);
    await eventually(() => held.length === 4);
    const abort = new AbortController();
    const headers = { authorization: `Bearer ${app.key}` };
    const left = fetch(service.url + LIST, { headers, signal: abort.signal }).catch(() => 0);
    await Bun.sleep(50);
    abort.abort();
    expect(await left).toBe(0);
    await Bun.sleep(50);
    respondAll();
    expect(await Promise.all(sent.statuses)).toEqual([200, 200, 200, 200]);
    await Bun.sleep(50);
    expect(held).toEqual([]);
  });
});

describe("streams", () => {
  const open = (app: TestApp | undefined, path = `${LIST}/changes`) =>
    fetch(service.url + path, {
      headers: { ...STREAM, ...(app && { authorization: `Bearer ${app.key}` }) },
    });

  /** Bun disconnects the caller of a response that was garbage collected. */
  const kept: Response[] = [];

  /** Opens one after the other. */
  async function openTimes(times: number, app: TestApp | undefined, path?: string) {
    const responses: Response[] = [];
    for (let index = 0; index < times; index++) {
      const response = open(app, path);
      await Promise.race([response, eventually(() => held.length > 0)]);
      respondAll("Content-Type: text/event-stream", ": \n\n");
      responses.push(await response);
    }
    kept.push(...responses);
    return responses;
  }
  const toStatuses = (responses: readonly Response[]) => responses.map(({ status }) => status);

  test("count before they are sent: by key, by visitor and in total", async () => {
    const [app, other] = [await service.makeApp(), await service.makeApp()];
    const own = await openTimes(4, app);
    expect(toStatuses(own)).toEqual([200, 200, 200, 429]);
    expect(stub.requests).toBeArrayOfSize(3);
    // Other requests of the app are sent.
    const { statuses } = callTimes(app, 1);
    await eventually(() => held.length === 1);
    respondAll();
    expect(await Promise.all(statuses)).toEqual([200]);
    const others = await openTimes(3, other);
    expect(toStatuses(others)).toEqual([200, 200, 503]);
    expect(codeOf((await others[2]?.text()) ?? "")).toBe("overloaded");
    await own[0]?.body?.cancel();
    await eventually(async () => toStatuses(await openTimes(1, other)).includes(200));
    await others[0]?.body?.cancel();
    await own[1]?.body?.cancel();
    await eventually(
      async () => toStatuses(await openTimes(1, undefined, "/v1/auth/me"))[0] === 200,
    );
    const visits = await openTimes(2, undefined, "/v1/auth/me");
    expect(toStatuses(visits)).toEqual([200, 503]);
  });

  test("are requests that ask for one, and long bodies: others do not count once they are answered", async () => {
    const app = await service.makeApp();
    for (let index = 0; index < 5; index++) {
      const response = open(app);
      await eventually(() => held.length > 0);
      respondAll();
      expect((await response).status).toBe(200);
    }
    const unread: Response[] = [];
    for (const expected of [200, 200, 200, 429]) {
      const response = fetch(service.url + LIST, {
        headers: { authorization: `Bearer ${app.key}` },
      });
      await eventually(() => held.length > 0);
      respondAll("Content-Length: 100000", "x");
      unread.push(await response);
      Bun.gc(true);
      expect(unread.at(-1)?.status).toBe(expected);
    }
    await unread[0]?.body?.cancel();
  });
});
