/**
 * `bun run example <name>`: installs the packages of an example, starts `rowhouse dev` with its schema, and then the example, with the
 * settings of `dev`. `PORT` is the port of `dev`, `APP_PORT` that of the example, which prints "Open" and its address.
 *
 * @module
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join, resolve } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const READY = "Ctrl-C stops everything";

type Example = {
  readonly app: string;
  /** Arguments of `dev`. */
  readonly dev: readonly string[];
  readonly install: (folder: string) => Promise<void>;
  /** Commands, of which the last keeps running. */
  readonly commands: (port: string) => readonly (readonly string[])[];
};

const children: Bun.Subprocess[] = [];

let isStopping = false;

/** A second signal would end `dev` before its database. */
function stopAll(): void {
  if (isStopping) return;
  isStopping = true;
  for (const child of children) child.kill("SIGINT");
}

const EXAMPLES: Readonly<Record<string, Example>> = {
  node: {
    app: "wiki",
    dev: ["--preview", "filters,live"],
    install: async (folder) => {
      await run([process.execPath, "install", "--frozen-lockfile"], folder);
      await installClient(folder);
    },
    commands: () => [
      ["node_modules/.bin/vite", "build", "--logLevel", "error"],
      ["node_modules/.bin/tsx", "server.ts"],
    ],
  },
  python: {
    app: "wiki",
    dev: [],
    install: async (folder) => {
      if (existsSync(join(folder, ".venv"))) return;
      await run(["python3", "-m", "venv", ".venv"], folder);
      const pip = [".venv/bin/python", "-m", "pip", "--disable-pip-version-check", "install"];
      await run([...pip, "--quiet", "--no-deps", "-r", "requirements.txt"], folder);
    },
    commands: (port) => [[".venv/bin/python", "-m", "uvicorn", "web:app", "--port", port]],
  },
  board: {
    app: "board",
    dev: ["--preview", "live"],
    install: async () => {},
    commands: (port) => [[process.execPath, "x", "vite", "--port", port]],
  },
};

/** Builds `rowhouse-client`, and puts it into the packages of the folder, as its file does. */
export async function installClient(folder: string): Promise<void> {
  const client = join(ROOT, "packages/client");
  await run([process.execPath, "build.ts"], client);
  const installed = join(folder, "node_modules/rowhouse-client");
  rmSync(installed, { recursive: true, force: true });
  mkdirSync(installed, { recursive: true });
  for (const path of ["package.json", "dist"])
    cpSync(join(client, path), join(installed, path), { recursive: true });
}

/** @throws {Error} the command failed */
async function run(command: readonly string[], cwd: string): Promise<void> {
  const child = Bun.spawn([...command], { cwd, stdin: "ignore", stdout: "ignore" });
  if ((await child.exited) !== 0) throw new Error(`Cannot run ${command.join(" ")} in ${cwd}`);
}

type DevFile = { baseUrl: string; gatewayUrl: string; identityUrl: string; apiKey: string };

/** Starts `dev` in the folder, prints what it prints, and returns its settings when it is ready. */
async function startDev(folder: string, { app, dev }: Example, origin: string) {
  const args = ["dev", "--app", app, "--origin", origin, ...dev];
  const child = Bun.spawn([process.execPath, join(ROOT, "src/cli/rowhouse.ts"), ...args], {
    cwd: folder,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  children.push(child);
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const print = async () => {
    const { value } = await reader.read();
    if (value !== undefined) await Bun.write(Bun.stdout, value);
    return value;
  };
  while (!text.includes(READY)) {
    const more = await print();
    if (more === undefined) process.exit(1);
    text += more;
  }
  void (async () => {
    while ((await print()) !== undefined);
    stopAll();
  })();
  const file: DevFile = JSON.parse(readFileSync(join(folder, ".rowhouse/dev.json"), "utf8"));
  return { child, file };
}

async function main(name: string): Promise<void> {
  process.on("SIGTERM", stopAll);
  // Ctrl-C reaches all processes of the terminal.
  process.on("SIGINT", () => {
    isStopping = true;
  });
  const folder = resolve(ROOT, "examples", name);
  const example = EXAMPLES[basename(folder)];
  if (example === undefined)
    throw new Error(`Name an example: ${Object.keys(EXAMPLES).join(", ")}`);
  await Bun.write(Bun.stdout, "Installing the packages\n");
  await example.install(folder);
  const port = process.env["APP_PORT"] ?? (example.app === "board" ? "5173" : "3000");
  const origin = `http://${example.app}.rowhouse.localhost:${port}`;
  const { child, file } = await startDev(folder, example, origin);
  const { baseUrl, gatewayUrl, identityUrl, apiKey } = file;
  const env = {
    ...process.env,
    ROWHOUSE_URL: baseUrl.replace("localhost", "127.0.0.1"),
    ROWHOUSE_API_KEY: apiKey,
    IDENTITY_URL: identityUrl,
    APP_SLUG: example.app,
    ORIGIN: origin,
    PORT: port,
    VITE_SERVICE_URL: gatewayUrl,
    VITE_SERVICE_IDENTITY_URL: identityUrl,
    VITE_SERVICE_APP: example.app,
  };
  await Bun.write(Bun.stdout, `Open ${origin}\n`);
  for (const command of example.commands(port)) {
    const server = Bun.spawn([...command], {
      cwd: folder,
      env,
      stdio: ["ignore", "inherit", "inherit"],
    });
    children.push(server);
    if ((await server.exited) !== 0) break;
  }
  stopAll();
  process.exit(await child.exited);
}

if (import.meta.main) await main(process.argv[2] ?? "");
