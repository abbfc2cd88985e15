/** Bun's limit of concurrent requests: each way to start a process that forwards sets it before Bun starts. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findServeIssues } from "../../src/cli/settings.ts";
import { FETCH_LIMIT } from "../../src/std/network.ts";
import { expectFailure, ROOT, runHere, startCommand } from "../support/command.ts";
import { findFreePort } from "../support/free_port.ts";
import { share } from "../support/share.ts";
import { openShop } from "../support/shop.ts";

const { variable, max } = FETCH_LIMIT;

const shop = await share(openShop());
const { DATABASE_PREPARE = "on", PORT = "0", HOST = "" } = shop.env;
const env = {
  ROLE: "gateway",
  DATABASE_URL: shop.database.roleUrls.gateway,
  ...{ DATABASE_PREPARE, PORT, HOST },
  INTERNAL_HMAC_SECRET_DATA: "d".repeat(32),
  INTERNAL_HMAC_SECRET_IDENTITY: "i".repeat(32),
  UPSTREAM_DATA_URL: "http://127.0.0.1:1",
  UPSTREAM_IDENTITY_URL: "http://127.0.0.1:2",
};

/** The environment that a process started with. */
const readStart = (pid: number) => readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");

describe.skipIf(process.platform !== "linux")("serve", () => {
  test("starts again with the limit, as the same process", async () => {
    const serving = startCommand(["serve"], { folder: shop.folder, env });
    await serving.until(/"event":"listening"/);
    expect(readStart(serving.pid)).toContain(`${variable}=${max}`);
    expect(await serving.kill("SIGTERM")).toBe(0);
  });

  test("passes the limit on to workers", async () => {
    const serving = startCommand(["serve"], {
      folder: shop.folder,
      env: { ...env, WORKERS: "2", PORT: String(await findFreePort()) },
    });
    await serving.until(/"event":"listening"/);
    const children = readFileSync(`/proc/${serving.pid}/task/${serving.pid}/children`, "latin1");
    const [worker = ""] = children.trim().split(" ");
    expect(readStart(Number(worker))).toContain(`${variable}=${max}`);
    expect(await serving.kill("SIGTERM")).toBe(0);
  });
});

test("a limit that is too low or that Bun ignores is an error of serve and doctor", async () => {
  const wanted = `${variable} must be a whole number from 16384 to 65535 when ROLE is gateway, or unset: Bun sends no more concurrent requests`;
  for (const limit of ["256", "16383", "65536", "many"])
    expect(await findServeIssues({ ...env, [variable]: limit })).toEqual([wanted]);
  expect(await findServeIssues({ ...env, [variable]: "16384" })).toEqual([]);
  expect(await findServeIssues({ ...shop.env, [variable]: "256" })).toEqual([]);
  const doctor = await runHere(["doctor"], {
    folder: shop.folder,
    env: { ...env, [variable]: "256" },
  });
  expect(doctor).toMatchObject({ code: 1, out: expect.stringContaining(wanted) });
});

test("a process that could not set the limit does not serve", async () => {
  expectFailure(await runHere(["serve"], { folder: shop.folder, env }), `${variable} is not set`);
});

test("the package's executable and the image set the same limit", async () => {
  for (const path of ["src/cli/entry.js", "Dockerfile"]) {
    const text = await Bun.file(join(ROOT, path)).text();
    const found = [...text.matchAll(/BUN_CONFIG_MAX_HTTP_REQUESTS(?:=|: ")(\d+)/g)];
    expect(found.map(([, limit]) => limit)).toEqual([String(max)]);
  }
});
