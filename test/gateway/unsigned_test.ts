/** A service behind the gateway serves no route to a request that the gateway has not signed. */
import { expect, test } from "bun:test";
import { docs, pages, routes } from "../../src/service/routes.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ shape: "split" }));

test.each([
  { name: "data", position: 1 },
  { name: "identity", position: 2 },
])("$name rejects every route without a signature", async ({ position }) => {
  const inner = service.processes[position];
  const app = await service.makeApp();
  const ask = async (method: string, path: string) => {
    const headers = { authorization: `Bearer ${app.key}` };
    const request = new Request(`http://127.0.0.1${path}`, { method, headers });
    const response = await inner?.fetch(request, { requestIP: () => ({ address: "127.0.0.1" }) });
    const body = (await response?.json().catch(() => ({}))) as { error?: string };
    return { status: response?.status, code: body.error };
  };
  const unknown = await ask("GET", "/no/such/path");
  expect(unknown).toEqual({ status: 401, code: "invalid_signature" });
  const served: unknown[] = [];
  for (const { method, path } of [...routes, ...docs, ...pages]) {
    // Its response reveals only that the process lives.
    if (path === "/live") continue;
    const answer = await ask(method, path.replace(/:\w+/g, "x"));
    if (!Bun.deepEquals(answer, unknown)) served.push([method, path, answer]);
  }
  expect(served).toEqual([]);
});
