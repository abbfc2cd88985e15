/** The Dockerfile's image, in containers like those of compose.yaml: read-only, unprivileged, uid 1000. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { COMPOSE as VARIABLES } from "../../tools/generated.ts";
import { makeProject, ROOT, runCommand, schemaText } from "../support/command.ts";
import { fillIn, runInitLogins, SERVICES } from "../support/compose.ts";
import { buildImage, type Container, type Image } from "../support/container.ts";
import { type DebianCluster, runTool, startDebianCluster } from "../support/debian_cluster.ts";
import { eventually } from "../support/eventually.ts";

const BUILD_MS = 480_000;
/** A value for each variable of compose.yaml. */
const PASSWORDS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.keys(VARIABLES).map((name) => [name, crypto.randomUUID().replaceAll("-", "")]),
);
const SETTINGS = {
  ...PASSWORDS,
  COOKIE_DOMAIN: "example.org",
  IDENTITY_URL: "https://id.example.org",
  IDENTITY_SECRET: "0123456789abcdef0123456789abcdef0123456789abcdef",
};
const WRITE = 'require("node:fs").writeFileSync(process.argv[1], "")';

let image: Image;
let cluster: DebianCluster;
let project: ReturnType<typeof makeProject>;
beforeAll(async () => {
  image = buildImage();
  cluster = await startDebianCluster({ password: "postgres" });
  // PostgreSQL's image does this with `POSTGRES_DB`.
  runTool("psql", ["-c", "create database rowhouse", cluster.url]);
  runInitLogins({ ...cluster, url: toUrl("postgres:postgres@postgres:5432/rowhouse") }, PASSWORDS);
  project = makeProject({ "schema/mod.ts": schemaText("{ notes: { title: t.string() } }") });
}, BUILD_MS);
afterAll(async () => {
  image?.remove();
  await cluster?.stop();
  project?.remove();
});

/** Returns a connection string of compose.yaml with the host of the test's cluster. */
function toUrl(text: string): string {
  const { host } = new URL(cluster.url);
  const rest = text.replace(/^postgres:\/\//, "").replace(/@[a-z]+:\d+/, `@${host}`);
  return `postgres://${rest}`;
}

/** Starts a service of compose.yaml, with more arguments. */
function start(name: string, args: readonly string[] = []): Container {
  const service = SERVICES.find((candidate) => candidate.name === name);
  const env = fillIn(service?.environment ?? {}, SETTINGS);
  const urls = Object.entries(env).filter(([, value]) => value.startsWith("postgres://"));
  const { Entrypoint, Cmd } = image.config;
  const command = service?.entrypoint ?? [...Entrypoint, ...(service?.command ?? Cmd)];
  return image.start([...command, ...args], {
    ...env,
    ...Object.fromEntries(urls.map(([key, url]) => [key, toUrl(url)])),
    PORT: "0",
  });
}

async function finish(container: Container): Promise<{ code: number; out: string; err: string }> {
  const [out, err, code] = await Promise.all([
    new Response(container.stdout).text(),
    new Response(container.stderr).text(),
    container.exited,
  ]);
  return { code, out, err };
}

test("the image adds a few megabytes to its base, and contains no compiler or development files", () => {
  const [, ...own] = image.layers;
  const size = own.reduce((sum, bytes) => sum + bytes, 0);
  console.log(`layers of the image, in bytes: ${own.join(", ")}`);
  expect(size).toBeGreaterThan(1_000_000);
  // The size is 15.5 MB: mostly libraries, and 1.6 MB of leaked passwords.
  expect(size).toBeLessThan(16_000_000);
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(join(ROOT, "package.json"), "utf8"),
  );
  const files = readdirSync(join(image.root, "app/docs"), { recursive: true }).map(String);
  expect(files).toContain("data.md");
  expect(files.filter((file) => file.endsWith(".png"))).toEqual([]);
  const sources = readdirSync(join(image.root, "app/src"), { recursive: true }).map(String);
  expect(sources).toContain("cli/rowhouse.ts");
  expect(sources.filter((file) => /_test\.|__snapshots__/.test(file))).toEqual([]);
  const has = (name: string) => existsSync(join(image.root, "app/node_modules", name));
  expect(Object.keys(dependencies).filter((name) => !has(name))).toEqual([]);
  expect(["@typescript", ...Object.keys(devDependencies)].filter(has)).toEqual([]);
  const installed = readdirSync(join(image.root, "app/node_modules"), { recursive: true });
  expect(installed.filter((file) => /\.(map|d\.[cm]?ts)$/.test(String(file)))).toEqual([]);
});

test("the image is saved as an OCI archive", () => {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-oci-"));
  try {
    const path = join(folder, "image.tar");
    image.save(path);
    const read = (name: string) =>
      JSON.parse(
        execFileSync("tar", ["--extract", "--to-stdout", "--file", path, name], {
          encoding: "utf8",
        }),
      );
    const toPath = ({ digest }: { digest: string }) => `blobs/${digest.replace(":", "/")}`;
    const { manifests } = read("index.json");
    expect(manifests).toHaveLength(1);
    const { config, layers } = read(toPath(manifests[0]));
    expect(layers).toHaveLength(image.layers.length);
    expect(read(toPath(config)).config).toMatchObject({ User: "1000:1000", Cmd: ["serve"] });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a container migrates, serves, reports its health, accepts a push and a row, and stops", async () => {
  const destination = expect.stringMatching(/^Destination: .*\n$/);
  expect(await finish(start("migrate"))).toMatchObject({ code: 0, err: destination });
  const service = start("rowhouse");
  let log = "";
  void (async () => {
    for await (const chunk of service.stdout) log += new TextDecoder().decode(chunk);
  })();
  await eventually(() => log.includes('"event":"listening"') || service.exitCode !== null, {
    describe: () => log,
  });
  const port = /"port":(\d+)/.exec(log)?.[1] ?? "";
  const [, ...health] = image.config.Healthcheck.Test;
  expect(await finish(image.start(health, { PORT: port }))).toMatchObject({ code: 0, err: "" });

  expect(await finish(start("admin", ["create-app", "wiki"]))).toMatchObject({
    code: 0,
    err: destination,
  });
  const scopes = "schema:push,data:read,data:write";
  const issued = await finish(start("admin", ["issue-key", "wiki", "--scope", scopes]));
  const env = { ROWHOUSE_URL: `http://127.0.0.1:${port}`, ROWHOUSE_API_KEY: issued.out.trim() };
  expect(await runCommand(["db", "push"], { folder: project.folder, env })).toMatchObject({
    code: 0,
    err: "",
  });
  const rows = `${env.ROWHOUSE_URL}/v1/data/db/notes`;
  const headers = {
    authorization: `Bearer ${env.ROWHOUSE_API_KEY}`,
    "content-type": "application/json",
  };
  const created = await fetch(rows, { method: "POST", headers, body: '{"title":"Milk"}' });
  expect([created.status, await created.json()]).toEqual([201, expect.anything()]);
  const read = (await (await fetch(rows, { headers })).json()) as { rows: { title: string }[] };
  expect(read.rows.map(({ title }) => title)).toEqual(["Milk"]);

  service.kill(image.config.StopSignal as NodeJS.Signals);
  expect(await service.exited).toBe(0);
});

test("a container runs under an account without privileges", async () => {
  const { out } = await finish(image.start(["cat", "/proc/self/status"]));
  for (const line of ["Uid:(\\t1000){4}", "Gid:(\\t1000){4}", "CapEff:\\t0+", "NoNewPrivs:\\t1"])
    expect(out).toMatch(new RegExp(`^${line}$`, "m"));
});

test("a container writes only to /tmp", async () => {
  expect(await finish(image.start(["bun", "-e", WRITE, "/tmp/x"]))).toMatchObject({ code: 0 });
  for (const path of ["/app/x", "/x", "/var/tmp/x"])
    expect((await finish(image.start(["bun", "-e", WRITE, path]))).err).toContain("EROFS");
});
