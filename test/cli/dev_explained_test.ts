/** `rowhouse dev` names the rules in responses that they cause. With a service: test/sdk/testing_slow.ts. */
import { expect, test } from "bun:test";
import { makeExplainer } from "../../src/cli/dev/explain_forbidden.ts";
import { makeDevService } from "../../src/cli/dev/service.ts";
import { makeTestPeople } from "../../src/cli/dev/test_people.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import type { Service } from "../../src/service/mod.ts";
import { definitionOf } from "../support/service.ts";

const todos = t
  .model({ title: t.string(), cost: t.decimal().only("lead") })
  .allow("lead", { read: true })
  .allow("member", { read: true });

/** The service of `dev` in front of another one. */
function openDev(fetch: (request: Request) => Promise<Response>): Service {
  const people = makeTestPeople({ config: { IDENTITY_SECRET: ["a".repeat(32)] } } as never);
  const definition = definitionOf(defineSchema({ todos }));
  const apps = [{ people, explainer: makeExplainer("wiki", () => definition) }];
  return makeDevService({ fetch } as unknown as Service, { apps });
}

/** The message of a response of the table to a member. */
async function messageOf(status: number, message: string): Promise<string> {
  const service = openDev(async ({ url }) =>
    url.includes("/v1/data/me")
      ? Response.json({ role: "member" })
      : Response.json({ message }, { status }),
  );
  const response = await service.fetch(new Request("http://localhost/v1/data/db/todos"), PEER);
  expect(response.status).toBe(status);
  return Object(await response.json())["message"];
}

const PEER = { requestIP: () => null };
const RULES =
  "The rules of todos for the role member: read all rows; never creates, changes or deletes; never sees cost";

test.each([
  { status: 403, message: "Your role does not allow this", explained: true },
  { status: 400, message: 'Cannot read "cost": the table has no such column', explained: true },
  { status: 400, message: 'Cannot read "coast": the table has no such column', explained: false },
  { status: 404, message: "No such row", explained: false },
])("$status $message", async ({ status, message, explained }) => {
  expect(await messageOf(status, message)).toBe(explained ? `${message}. ${RULES}` : message);
});

test("a Host header that is no host changes no response", async () => {
  const service = openDev(async () => Response.json({}, { status: 400 }));
  await using server = Bun.serve({
    port: 0,
    development: false,
    fetch: (request) => service.fetch(request, PEER),
  });
  const url = new URL("/v1/data/schema", server.url);
  const response = await fetch(url, { method: "POST", headers: { Host: "[::" } });
  expect(response.status).toBe(400);
});
