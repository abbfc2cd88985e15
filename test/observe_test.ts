/** What the log may hold: no secret, whatever an error says. */
import { describe, expect, test } from "bun:test";
import { SESSION_COOKIE } from "../src/identity/mod.ts";
import { toLogFields } from "../src/observe.ts";
import { openTestHouse, type TestHouse } from "./support/house.ts";
import { makePerson, PASSWORD, signInAs } from "./support/people.ts";
import { TEST_SECRET } from "./support/shape.ts";

describe("toLogFields()", () => {
  const KEY = `rh_abcdefghijklmnop.${"S3cret".repeat(8)}x`;

  test.each([
    {
      name: "a connection string",
      says: "at postgres://me:hunter2@db.example/x?a=1, so",
      kept: "so",
    },
    { name: "one that is no URL", says: "'postgresql://me:hunter2'", kept: "postgres" },
    {
      name: "one whose password has an @",
      says: "postgres://me:hunter2@more@db/x",
      kept: "removed",
    },
    { name: "any URL with a password", says: "https://me:hunter2@example.org/a", kept: "https" },
    { name: "a key", says: `Key ${KEY}: no`, kept: "rh_abcdefghijklmnop." },
    { name: "a key of another prefix", says: KEY.replace("rh", "my-shop"), kept: "my-shop_" },
    { name: "a bearer", says: "authorization: Bearer hunter2", kept: "authorization" },
  ])("takes $name out of message and stack", ({ says, kept }) => {
    const fields = toLogFields(new Error(says));
    const text = JSON.stringify(fields);
    expect(text).not.toContain("hunter2");
    expect(text).not.toContain("S3cret");
    expect(fields.message).toContain(kept);
    expect(fields.stack).toContain(kept);
  });

  test("leaves what is no secret as it is", () => {
    const says = "Cannot read http://127.0.0.1:80/a.b at src/db/pool.ts:12:3";
    expect(toLogFields(new Error(says)).message).toBe(says);
  });

  test("tells of a driver's error its code alone", () => {
    const error = Object.assign(new Error("Key (email)=(a@b.c) exists"), {
      severity: "ERROR",
      code: "23505",
    });
    expect(toLogFields(error)).toEqual({ error: "PostgresError", code: "23505" });
  });
});

describe("a house's log that held a secret fails the file that wrote it", () => {
  test.each([
    { name: "a key", leak: async (house: TestHouse) => (await house.makeApp()).key },
    {
      name: "a key's secret alone",
      leak: async (house: TestHouse) => (await house.makeApp()).key.split(".")[1] ?? "",
    },
    {
      name: "a session cookie",
      leak: async (house: TestHouse) => {
        const jar = await signInAs(house, await makePerson(house));
        return jar.get(SESSION_COOKIE) ?? "";
      },
    },
    {
      name: "a password",
      leak: async (house: TestHouse) => {
        await makePerson(house);
        return PASSWORD;
      },
    },
    { name: "a connection string", leak: async ({ database }: TestHouse) => database.servingUrl },
    { name: "the services' secret", leak: async () => TEST_SECRET },
  ])("$name", async ({ leak }) => {
    const house = await openTestHouse();
    const secret = await leak(house);
    expect(secret.length).toBeGreaterThan(15);
    house.log.push(JSON.stringify({ event: "leak", message: `It is ${secret}` }));
    const end = await house.close().catch((error: unknown) => error);
    expect(String(end)).toContain("The log holds secrets");
    expect(String(end)).not.toContain(secret);
  });
});
