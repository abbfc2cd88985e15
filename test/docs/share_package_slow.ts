/** docs/clients.md on sharing a packed file in a team: each way installs a working client, and a lockfile pins it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../support/command.ts";
import { runTool } from "../support/packages.ts";
import { readBlocks } from "./blocks.ts";

const [PACK = "", VENDOR = "", REGISTRY = ""] = readBlocks(
  readFileSync(join(ROOT, "docs/clients.md"), "utf8"),
).flatMap(({ mark, code }) => (mark?.text.endsWith("share_package_slow.ts") ? [code] : []));
const USE =
  'import { defineSchema, t } from "rowhouse-client/schema";' +
  "console.log(Object.keys(defineSchema({ todos: { title: t.string() } }).tables).join())";
const WAYS = [
  { way: "a file", code: VENDOR, pinned: /"resolved": "file:vendor\/.+\n.+"integrity": "sha512-/ },
  { way: "a private registry", code: REGISTRY, pinned: /"resolved": ".+\n.+"integrity": "sha512-/ },
];
const HAS_NPM = ["node", "npm", "git", "tar"].every((name) => Bun.which(name) !== null);

let folder: string;
let registry: ReturnType<typeof openRegistry>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rowhouse-share-"));
  registry = openRegistry();
  const checkout = join(folder, "rowhouse");
  for (const path of [
    ...["packages", "src/sdk", "src/schema", "src/kinds", "src/std", "LICENSE", "package.json"],
  ])
    cpSync(join(ROOT, path), join(checkout, path), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(checkout, "node_modules"));
  if (HAS_NPM) await run(PACK, checkout);
});
afterAll(async () => {
  await registry.stop(true);
  rmSync(folder, { recursive: true });
});

describe("a shared rowhouse-client package", () => {
  if (!HAS_NPM) test.skip("node, npm, git or tar is missing", () => undefined);

  test.each(HAS_NPM ? WAYS : [])("works as $way, and is pinned", async ({ code, pinned }) => {
    const project = mkdtempSync(join(folder, "way-"));
    mkdirSync(join(project, "wiki"));
    cpSync(join(folder, "rowhouse-client-0.2.0.tgz"), join(project, "rowhouse-client-0.2.0.tgz"));
    const wiki = join(project, "wiki");
    await Bun.write(join(wiki, "package.json"), '{ "name": "wiki", "type": "module" }');
    await run("git init -q", wiki);
    await run(code, wiki);
    expect(await Bun.file(join(wiki, "package-lock.json")).text()).toMatch(pinned);
    await run("rm -r node_modules && npm ci", wiki);
    expect(await run(`node --input-type=module --eval '${USE}'`, wiki)).toBe("todos\n");
  });

  test.skipIf(!HAS_NPM)("is not installed from a file with changed contents", async () => {
    const wiki = mkdtempSync(join(folder, "wiki-"));
    await Bun.write(join(wiki, "package.json"), '{ "name": "wiki", "type": "module" }');
    await run("git init -q", wiki);
    await run(VENDOR, wiki);
    const other = "tar -xzf vendor/*.tgz && echo >> package/README.md && tar -czf vendor/*.tgz";
    await run(`rm -r node_modules && ${other} package`, wiki);
    // If npm had the recorded contents in its cache, it would install them.
    await expect(run("npm ci --cache empty", wiki)).rejects.toThrow("EINTEGRITY");
  });
});

/** Runs the commands of a block and returns their output. Rejects with all output if a command fails. */
async function run(code: string, cwd: string): Promise<string> {
  const here = code.replaceAll("https://npm.example.org", registry.url.origin);
  return await runTool(["bash", "-ec", here], cwd, {
    HOME: folder,
    // npm publishes only with a token.
    [`npm_config_//${registry.url.host}/:_authToken`]: "token",
  });
}

type Published = { _attachments: Record<string, { data: string }> };

/** An npm registry that stores published packages and returns them. */
function openRegistry() {
  const documents = new Map<string, Published>();
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const path = decodeURIComponent(new URL(request.url).pathname.slice(1));
      const [name = "", file] = path.split("/-/");
      if (request.method === "PUT") {
        documents.set(name, (await request.json()) as Published);
        return Response.json({});
      }
      const document = documents.get(name);
      if (document === undefined) return Response.json({}, { status: 404 });
      if (file === undefined) return Response.json(document);
      const [attachment] = Object.values(document._attachments);
      return new Response(Buffer.from(attachment?.data ?? "", "base64"));
    },
  });
}
