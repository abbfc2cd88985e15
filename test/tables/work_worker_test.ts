/** The thread of pushes, in a process whose program was replaced by another version. */
import { expect, test } from "bun:test";
import { Worker } from "node:worker_threads";
import { VERSION } from "../../src/std/version.ts";

const WORKER = new URL("../../src/tables/work_worker.ts", import.meta.url);

async function ask(message: object): Promise<Record<string, unknown>> {
  const worker = new Worker(WORKER);
  try {
    const replied = new Promise<string>((resolve) => worker.once("message", resolve));
    worker.postMessage(JSON.stringify(message));
    return JSON.parse(await replied);
  } finally {
    await worker.terminate();
  }
}

// 0.1.1 names no version.
test.each([{}, { version: "0.0.1" }])("generates nothing for another version: %j", async (sent) => {
  const reply = await ask({ ...sent, name: "render", input: {} });
  expect(reply).toMatchObject({ problem: { code: "push_busy", headers: { "retry-after": "1" } } });
});

test("works for its own version", async () => {
  const reply = await ask({ version: VERSION, name: "render", input: {} });
  expect(Object.keys(reply)).toEqual(["failure"]);
});
