/** One successful request to every route, as apps, visitors and administrators send them. @module */
import { PREVIEWS } from "../../../src/preview.ts";
import { docs, pages, routes } from "../../../src/service/routes.ts";
import { openMailServer } from "../mail_server.ts";
import { toNamed } from "../passkeys.ts";
import { startProvider, type TestProvider } from "../provider.ts";
import { CONSOLE_FORMS } from "../samples/console.ts";
import {
  openTestService,
  type TestApp,
  type TestResponse,
  type TestService,
  type TestServiceOptions,
} from "../service.ts";
import { tourData } from "./data.ts";
import { tourPages } from "./pages.ts";

export type Toured = {
  service: TestService;
  provider: TestProvider;
  app: TestApp;
  close: () => Promise<void>;
};

/** Opens a service with every feature: a sign-in provider, email, and event streams. */
export async function openToured(options: TestServiceOptions = {}): Promise<Toured> {
  const mails = await openMailServer();
  const trustedDomains = ["example.org"];
  const provider = await startProvider({
    name: "ours",
    trustedDomains,
    creates: true,
    scopes: ["groups"],
  });
  const opened = await openTestService({
    ...options,
    identity: (port) => ({
      cookieDomain: "example.org",
      publicUrl: `http://localhost:${port}`,
      providers: [provider.settings],
    }),
    service: {
      previews: PREVIEWS,
      mail: { url: mails.url, from: { name: "", address: "x@example.org" } },
    },
  });
  const service = toNamed(opened);
  provider.register(`${service.url}/oidc/ours/callback`);
  const provided = { email: "provided@example.org", email_verified: true, groups: "staff" };
  provider.accounts.set("provided", provided);
  service.secrets.add(provider.settings.clientSecret);
  const app = await service.makeApp(undefined, { origins: ["https://app.example.org"] });
  const rule = { claim: ["groups"], value: "staff", slug: app.slug, role: "editor" };
  provider.settings.roles = [rule];
  return {
    service,
    provider,
    app,
    close: async () => {
      await service.close();
      await provider.stop();
      await mails.close();
    },
  };
}

/** Lists the routes of the tables that the service has not received, without assets, unknown pages, and forms that only `dev` accepts. */
export function findUnvisited({ service }: Pick<Toured, "service">): string[] {
  const requested = new Set(
    service.log
      .map((line) => JSON.parse(line) as { event: string; method: string; route: string })
      .filter(({ event }) => event === "request")
      .map(({ method, route }) => `${method} ${route}`),
  );
  const ofDev = new Set(
    CONSOLE_FORMS.filter(({ isOfDev }) => isOfDev).map(({ path }) => `POST ${path}`),
  );
  return [...routes, ...docs, ...pages]
    .map(({ method, path }) => `${method} ${path}`)
    .filter((route) => !requested.has(route) && !/\/assets\/|\/\*$/.test(route))
    .filter((route) => !ofDev.has(route));
}

/** Sends the requests, and returns the responses. */
export async function tour(toured: Toured): Promise<TestResponse[]> {
  const responses: TestResponse[] = [];
  const ask: Ask = async (step) => {
    const response = await step();
    responses.push(response);
    return response;
  };
  await tourData(toured, ask);
  await tourPages(toured, ask);
  return responses;
}

/** Makes a request that must succeed. */
export type Ask = (step: () => Promise<TestResponse>) => Promise<TestResponse>;
