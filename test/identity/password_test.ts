import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KNOWN_PASSWORDS_FILE } from "../../src/identity/mod.ts";
import {
  DIGEST_BITS,
  encodeDigestSet,
  readDigestSet,
} from "../../src/identity/passwords/known_passwords.ts";
import {
  findPasswordIssues,
  makeBound,
  makeHashing,
} from "../../src/identity/passwords/password.ts";
import { casesBy } from "../support/cases.ts";
import { ROOT } from "../support/command.ts";
import { makePerson, signInAs } from "../support/people.ts";
import { openTestService } from "../support/service.ts";
import { countRuns, isFull } from "../support/tier.ts";

/** A password as typed, without its ends, and with letters for similar digits; each also without punctuation. */
const MAX_LOOK_UPS = 6;
const NAMES = ["ada.lovelace@engine-works.example.org", "Ada Lovelace", "wiki-pages"];

describe("findPasswordIssues() of", () => {
  test.each([
    { name: "four words", text: "three brown cups of tea" },
    { name: "another script", text: "пятьчёрныхкотовпоют" },
    { name: "15 code points of two code units each", text: "😀🚗🌳🍕🎸📚🐢🎩🧊🌋🦄🚀🎻🍋🐙" },
    {
      name: "1024 bytes",
      text: Array.from({ length: 1024 }, (_, i) => "kvqxzjwpy"[(i * i + (i >> 3)) % 9]).join(""),
    },
    { name: "a name among enough other text", text: "lovelace rides 9 bicycles" },
    { name: "random letters", text: "gTx9qLw2vPz7mRb" },
  ])("$name is accepted", ({ text }) => expect(findPasswordIssues(text, NAMES)).toEqual([]));

  test.each(
    casesBy({
      "at least 15 characters. This password has 14": { "14 code points": "gTx9qLw2vPz7mR" },
      "password has 0": { nothing: "" },
      "password has 8": { "15 code points that NFKC shortens": "ｅ\u0301".repeat(8) },
      "at most 1024 bytes": {
        "1025 bytes": Array.from(
          { length: 1025 },
          (_, i) => "kvqxzjwpy"[(i * i + (i >> 3)) % 9],
        ).join(""),
      },
      repeats: {
        "one repeated character": "a".repeat(20),
        "a few characters": "abcabcabcabcabcabc",
        "a word three times": "giraffegiraffegiraffe",
      },
      follows: {
        "digits in order": "1234567890123456",
        "the alphabet": "abcdefghijklmnop",
        "the reversed alphabet": "ponmlkjihgfedcba",
        "a row of the keyboard": "qwertyuiopasdfghjkl",
      },
      "attackers try first": {
        "a common password": "CorrectHorseBatteryStaple",
        "a common password with substitutions": "C0rrect-H0rse-B@ttery-St@ple!",
        "a common password with digits": "thisismypassword2026",
        "a leaked password": "trackmanianations",
        "a leaked password in capitals": "TrackManiaNations",
        "a leaked password with punctuation": "track-mania.nations",
        "a leaked password with a year": "ManchesterUnited-2026",
        "several common words": "Password-Welcome-2026",
      },
      "consists mostly of": {
        "the person's address": "ada.lovelace@engine-works.example.org",
        "the person's name and digits": "Ada Lovelace 1815",
        "the product's name": "rowhouse-rowhouse1",
        "an app's name": "wiki-pages wiki!",
      },
    }),
  )("$name is reported", ({ value: text, expected: want }) =>
    expect(findPasswordIssues(text, NAMES).join("\n")).toMatch(want),
  );
});

describe("a good password is not mistaken for a leaked password", () => {
  /** Distinct passwords of random letters, the same in each run. */
  const makePasswords = (count: number) =>
    Array.from({ length: count }, (_, index) =>
      createHash("sha512").update(`seed, ${index}`).digest("base64url").slice(0, 40),
    );

  test("among thousands", () => {
    const rejected = makePasswords(countRuns(50_000)).filter(
      (text) => findPasswordIssues(text, []).length > 0,
    );
    expect(rejected).toEqual([]);
  });

  test("by its digest, more often than once in 10,000,000: no two digests are equal", () => {
    const passwords = makePasswords(isFull() ? 500_000 : 150_000);
    // Pairs by chance: 29 or 2.6 with 32 bits, 0.004 or 0.0003 with 45.
    expect(readDigestSet(encodeDigestSet(passwords)).size).toBe(passwords.length);
    const { size } = readDigestSet(readFileSync(KNOWN_PASSWORDS_FILE));
    expect((MAX_LOOK_UPS * size) / 2 ** DIGEST_BITS).toBeLessThan(1e-7);
  });
});

test("the file of leaked passwords has the size that docs/identity.md states", () => {
  const { size } = readDigestSet(readFileSync(KNOWN_PASSWORDS_FILE));
  expect(readFileSync(join(ROOT, "docs/identity.md"), "utf8")).toContain(
    `${size.toLocaleString("en-US")} leaked passwords`,
  );
});

describe("password hashing", () => {
  const hashing = makeHashing();

  test("uses argon2id with the documented parameters", async () => {
    const hash = await hashing.make("three brown cups of tea");
    expect(hash).toStartWith("$argon2id$v=19$m=19456,t=2,p=1$");
    expect(hashing.isCurrent(hash)).toBe(true);
    expect(await hashing.verify("three brown cups of tea", hash)).toBe(true);
    expect(await hashing.verify("three brown cups of the", hash)).toBe(false);
  });

  test("has its full cost by default, and renews a cheaper hash once, at a sign-in", async () => {
    await using service = await openTestService({ service: { hashing: undefined } });
    const { id, email } = await makePerson(service);
    const readHash = async () => {
      const [row] = await service.query<{ hash: string }>(
        "select password_hash as hash from rowhouse.users where id = $1",
        [id],
      );
      return row?.hash ?? "";
    };
    expect(hashing.isCurrent(await readHash())).toBe(false);
    await signInAs(service, { id, email });
    const renewed = await readHash();
    expect(hashing.isCurrent(renewed)).toBe(true);
    await signInAs(service, { id, email });
    expect(await readHash()).toBe(renewed);
  });

  test("never matches a missing hash", async () => {
    expect(await hashing.verify("anything", undefined)).toBe(false);
  });

  test("runs a limited number of hashes in parallel, in order, and rejects more than the queue's limit", async () => {
    const bound = makeBound(2, 3);
    let running = 0;
    let most = 0;
    const order: number[] = [];
    const gates: (() => void)[] = [];
    const task = (index: number) => async () => {
      running++;
      most = Math.max(most, running);
      order.push(index);
      await new Promise<void>((resolve) => gates.push(resolve));
      running--;
    };
    const tasks = [0, 1, 2, 3, 4].map((index) => bound(task(index)));
    await expect(bound(task(5))).rejects.toMatchObject({ code: "overloaded" });
    const all = Promise.all(tasks);
    while (order.length < 5 || running > 0) {
      gates.shift()?.();
      await Bun.sleep(0);
    }
    await all;
    expect({ most, order }).toEqual({ most: 2, order: [0, 1, 2, 3, 4] });
  });

  test("serves known people first, and reserves capacity for them", async () => {
    const bound = makeBound(1, 2);
    const order: string[] = [];
    const gates: (() => void)[] = [];
    const task = (name: string) => async () => {
      order.push(name);
      await new Promise<void>((resolve) => gates.push(resolve));
    };
    const tasks = ["a", "b", "c"].map((name) => bound(task(name)));
    await expect(bound(task("d"))).rejects.toMatchObject({ code: "overloaded" });
    tasks.push(bound(task("known"), { isFirst: true }));
    const all = Promise.all(tasks);
    while (order.length < 4 || gates.length > 0) {
      gates.shift()?.();
      await Bun.sleep(0);
    }
    await all;
    expect(order).toEqual(["a", "known", "b", "c"]);
  });

  test("frees a slot when a task fails", async () => {
    const bound = makeBound(1, 0);
    await expect(bound(() => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    expect(await bound(async () => 1)).toBe(1);
  });
});
