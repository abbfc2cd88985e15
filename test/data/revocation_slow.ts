/**
 * The time until the streams of a revoked key end, in both shapes. The test uses the fastest of several runs, because
 * the machine can be busy.
 */
import { expect, test } from "bun:test";
import { issueKey, revokeKey, setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { testDeps } from "../support/deps.ts";
import { openEvents } from "../support/event_stream.ts";
import { openTestService } from "../support/service.ts";
import { SHAPES } from "../support/shape.ts";

const ATTEMPTS = 5;
const MAX_MS = 1000;

test.each([...SHAPES])(
  "a revoked key's stream ends within a second in the shape %s",
  async (shape) => {
    await using service = await openTestService({ shape, service: { previews: ["live"] } });
    const { slug } = await service.makeApp(defineSchema({ todos: { title: t.string() } }));
    await setAppSwitch(service.service, slug, ["live", true]);
    const times: number[] = [];
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { text: key, keyId } = await issueKey(testDeps(service.service), {
        ...{ slug, name: "ending", expiresAt: undefined },
        scopes: ["data:read"],
      });
      const events = await openEvents(`${service.url}/v1/data/db/todos/changes`, { key });
      await events.next();
      await revokeKey(testDeps(service.service), keyId);
      const startedAt = performance.now();
      expect(await events.next()).toBeUndefined();
      times.push(Math.round(performance.now() - startedAt));
    }
    console.log(`${shape}: ${times.join(", ")} ms`);
    expect(Math.min(...times)).toBeLessThan(MAX_MS);
  },
);
