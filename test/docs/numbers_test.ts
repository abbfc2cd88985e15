/** Numbers in pages without a generated table are equal to the numbers in the code. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { RETRY_WAIT_MAX_MS } from "../../src/sdk/retry_wait.ts";
import { ROOT } from "../support/command.ts";

const sdk = readFileSync(join(ROOT, "src/sdk/client.ts"), "utf8");
const constant = (name: string) =>
  Number(new RegExp(`const ${name} = ([\\d_]+)`).exec(sdk)?.[1]?.replaceAll("_", ""));
const show = (number: number) => number.toLocaleString("en-US");

const TEXTS: Readonly<Record<string, readonly string[]>> = {
  "docs/clients.md": [
    `| \`timeoutMs\` | ${show(constant("TIMEOUT_MS"))} |`,
    `| \`retries\` | ${constant("RETRIES")} |`,
    `If that is more than ${RETRY_WAIT_MAX_MS / 1000} s, it does not retry`,
  ],
};

describe.each(Object.entries(TEXTS))("%s", (page, texts) => {
  const text = readFileSync(join(ROOT, page), "utf8");
  test.each(texts)("contains %p", (expected) => {
    expect(text.includes(expected)).toBe(true);
  });
});
