/**
 * Recomputes the test vector of signing.md from its text, manually and with the gateway, and compares its numbers
 * with the code.
 */
import { expect, test } from "bun:test";
import { createHash, createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AUDIENCES, SIGNED_HEADERS, sign } from "../../src/gateway/signature.ts";
import { readSignedContext } from "../../src/gateway/signed_context.ts";
import { makeVerify, WINDOW_MS } from "../../src/gateway/verify.ts";
import { ROOT } from "../support/command.ts";

const page = readFileSync(join(ROOT, "test/gateway/signing.md"), "utf8");
const vector = page.slice(page.indexOf("## Test vector"));
const parts = new Map(
  [...vector.matchAll(/^\| (\w+) \| `(.*)` \|$/gm)].map(([, name = "", value = ""]) => [
    name,
    value,
  ]),
);
const read = (name: string) => parts.get(name) ?? "";
const fences = [...vector.matchAll(/^```(\w+)\n([\s\S]*?)\n```$/gm)].map(([, , text = ""]) => text);
const [contextJson = "", signedText = "", signature = "", shell = ""] = fences;

test("the page's steps produce the vector's text", () => {
  const hash = createHash("sha256").update(read("body")).digest("hex");
  const context = Buffer.from(contextJson).toString("base64url");
  const names = ["audience", "method", "target", "timestamp", "nonce"];
  expect(["rowhouse-v1", ...names.map(read), hash, context].join("\n")).toBe(signedText);
  expect(`v1=${createHmac("sha256", read("secret")).update(signedText).digest("hex")}`).toBe(
    signature,
  );
});

test("the gateway computes the vector's signature, and the service accepts it", () => {
  const context = signedText.split("\n").at(-1) ?? "";
  const audience = AUDIENCES.find((name) => name === read("audience")) ?? "identity";
  const [method, target, timestamp, nonce] = ["method", "target", "timestamp", "nonce"].map(read);
  const body = new TextEncoder().encode(read("body"));
  const signed = { audience, method: method ?? "", target: target ?? "", body };
  const sent = { timestamp: timestamp ?? "", nonce: nonce ?? "", context };
  expect(sign(read("secret"), { ...signed, ...sent })).toBe(signature);
  const verify = makeVerify({
    audience,
    secrets: [read("secret")],
    now: () => Number(timestamp) + WINDOW_MS,
  });
  const entries = Object.entries({ ...sent, signature }).map(([name, value]) => [
    SIGNED_HEADERS[name as keyof typeof SIGNED_HEADERS],
    value,
  ]);
  const headers = new Headers(Object.fromEntries(entries));
  expect(verify({ ...signed, headers })).toMatchObject({ context: { address: "192.0.2.7" } });
  const { proof = new Uint8Array(), ...principal } = readSignedContext(context)?.principal ?? {};
  const key = { ...principal, proof: Buffer.from(proof).toString("base64url") };
  expect(key).toMatchObject(JSON.parse(contextJson).key);
});

test.skipIf(Bun.which("openssl") === null)("the shell's lines produce the same signature", () => {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-signing-"));
  writeFileSync(join(folder, "signed.txt"), signedText);
  const done = Bun.spawnSync(["bash", "-ec", shell], { cwd: folder });
  rmSync(folder, { recursive: true });
  const digests = done.stdout.toString().match(/[0-9a-f]{64}/g);
  expect(digests).toEqual([signedText.split("\n")[6] ?? "", signature.replace("v1=", "")]);
});

test("headers match the code", () => {
  const named = [...page.matchAll(/^\| `(Rowhouse-\w+)` \|/gm)].map(([, name = ""]) => name);
  expect(named.map((name) => name.toLowerCase())).toEqual(Object.values(SIGNED_HEADERS));
});
