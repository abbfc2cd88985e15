/**
 * The example app in `dev`: builds its pages and serves it on its own host. It is in this repository, and in projects created
 * from the template.
 *
 * @module
 */
import { join, sep } from "node:path";
import type { Environment } from "../../settings/mod.ts";
import { readIfThere } from "../../std/files.ts";
import { explain } from "../failures.ts";
import { DEMO_APP, PACKAGE } from "./app_name.ts";

/** The server file, recognized by its export. */
const SERVER = join("server", "server.ts");
const MAKER = "export function makeTodoServer";

type ExampleOptions = {
  /** The app's own origin. */
  origin: string;
  gatewayUrl: string;
  identityUrl: string;
  /** The URL at which a process on this machine calls the gateway. */
  localUrl: string;
  app: string;
  apiKey: string;
  /** The command's environment, for the build. */
  env: Environment;
};

type Handler = (request: Request) => Promise<Response>;

/** The folder of the app to serve: the project itself, or examples/todo in a checkout of this repository. */
function findExample(folder: string, app: string): string | undefined {
  const isClone = !PACKAGE.split(sep).includes("node_modules");
  const folders = isClone && app === DEMO_APP ? [join(PACKAGE, "examples", "todo")] : [folder];
  return folders.find((folder) => readIfThere(join(folder, SERVER))?.includes(MAKER));
}

/**
 * Builds the example app and returns the handler of its host.
 *
 * @throws {Error} the build's own message
 */
async function openExample(folder: string, options: ExampleOptions): Promise<Handler> {
  await build(folder, options);
  // Imported by a computed name: the package does not depend on its examples.
  const { makeTodoServer } = (await import(join(folder, SERVER))) as {
    makeTodoServer: (options: object) => Handler;
  };
  const { origin, app, apiKey, localUrl } = options;
  return makeTodoServer({
    origin,
    app,
    apiKey,
    serviceUrl: localUrl,
    pages: join(folder, "dist"),
  });
}

export type Example = {
  /** Responds with 503 until the app is built. */
  readonly respond: Handler;
  /** Builds the app; returns the message for the terminal. */
  readonly open: (options: ExampleOptions) => Promise<string>;
};

/** The example app; `undefined` if the project has none. */
export function makeExample(folder: string, app: string): Example | undefined {
  const example = findExample(folder, app);
  if (example === undefined) return undefined;
  let handle = unavailable("The example app is being built", { "retry-after": "1" });
  return {
    respond: (request) => handle(request),
    open: async (options) => {
      try {
        handle = await openExample(example, options);
        return `The app:\n  ${options.origin}\n`;
      } catch (error) {
        handle = unavailable("The build of the example app failed: see the terminal");
        return explain(error);
      }
    },
  };
}

function unavailable(text: string, headers: Record<string, string> = {}): Handler {
  return async () => new Response(text, { status: 503, headers });
}

async function build(
  folder: string,
  { env, gatewayUrl, identityUrl, app }: ExampleOptions,
): Promise<void> {
  const child = Bun.spawn([process.execPath, "x", "vite", "build", "--logLevel", "warn"], {
    cwd: folder,
    env: {
      ...env,
      VITE_SERVICE_URL: gatewayUrl,
      VITE_SERVICE_IDENTITY_URL: identityUrl,
      VITE_SERVICE_APP: app,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = Promise.all(
    [child.stdout, child.stderr].map((stream) => new Response(stream).text()),
  );
  if ((await child.exited) === 0) return;
  throw new Error(`Cannot build the example app: ${(await output).join("").trim()}`);
}
