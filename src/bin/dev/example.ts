/**
 * The example app beside `dev`: its pages are built, and its server part answers on a host of its own. Only where the
 * repository is at hand: an installed package has no examples.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../../config.ts";
import type { Service } from "../../service/mod.ts";

const EXAMPLE = join(import.meta.dirname, "../../..", "examples", "todo");

export type ExampleOptions = {
  /** The app's own origin. */
  origin: string;
  gatewayUrl: string;
  identityUrl: string;
  /** By which a process of this machine calls the gateway. */
  localUrl: string;
  app: string;
  apiKey: string;
  /** The command's environment, for the build. */
  env: Environment;
};

type Handler = (request: Request) => Promise<Response>;

/** Whether the example app is there to be served. */
export function hasExample(): boolean {
  return existsSync(join(EXAMPLE, "server", "server.ts"));
}

/**
 * Builds the example app and gives what answers its host.
 *
 * @throws {Error} the build's own words
 */
export async function openExample(options: ExampleOptions): Promise<Handler> {
  await build(options);
  // By a name made at run time: the package does not depend on its examples.
  const { makeTodoServer } = (await import(join(EXAMPLE, "server", "server.ts"))) as {
    makeTodoServer: (options: object) => Handler;
  };
  const { origin, app, apiKey, localUrl } = options;
  return makeTodoServer({
    origin,
    app,
    apiKey,
    serviceUrl: localUrl,
    pages: join(EXAMPLE, "dist"),
  });
}

/** A service that gives requests for the example's host to it, once it is built. */
export function withExample(
  service: Service,
  host: string,
  find: () => Handler | undefined,
): Service {
  return {
    ...service,
    fetch: async (request, peer) => {
      if (request.headers.get("host") !== host) return service.fetch(request, peer);
      const handle = find();
      return handle === undefined
        ? new Response("The example app is being built", {
            status: 503,
            headers: { "retry-after": "1" },
          })
        : handle(request);
    },
  };
}

async function build({ env, gatewayUrl, identityUrl, app }: ExampleOptions): Promise<void> {
  const child = Bun.spawn([process.execPath, "x", "vite", "build", "--logLevel", "warn"], {
    cwd: EXAMPLE,
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
