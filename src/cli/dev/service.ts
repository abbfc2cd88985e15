/**
 * The service of `dev`: the service of a process, and what only `dev` serves. That is the example app on its own host, the test
 * people, the mark by which commands recognize a `dev`, and the rules in responses that they cause.
 *
 * @module
 */
import { splitTarget } from "../../http/mod.ts";
import type { Service } from "../../service/mod.ts";
import { MARK, MARKED_PATH } from "../dev_file.ts";
import type { Example } from "./example.ts";
import type { Explainer } from "./explain_forbidden.ts";
import type { TestPeople } from "./test_people.ts";

type Parts = {
  apps: readonly { readonly people: TestPeople; readonly explainer: Explainer }[];
  /** The example app with its host. */
  example?: { readonly host: string; readonly app: Example } | undefined;
};

export function makeDevService(service: Service, { apps, example }: Parts): Service {
  const fetch: Service["fetch"] = async (request, peer) => {
    if (example !== undefined && request.headers.get("host") === example.host)
      return await example.app.respond(request);
    const { path } = splitTarget(request.url);
    const owner = apps.find(({ people }) => people.owns(request)) ?? apps[0];
    if (owner?.people.serves(path) === true) return await owner.people.respond(request, path);
    const response = await service.fetch(request, peer);
    if (path === MARKED_PATH) return withMark(response);
    let explained = response;
    for (const { explainer } of apps)
      explained = await explainer(request, explained, (other) => service.fetch(other, peer));
    return explained;
  };
  return { ...service, fetch };
}

function withMark(response: Response): Response {
  const headers = new Headers(response.headers);
  headers.set(MARK, "true");
  return new Response(response.body, { status: response.status, headers });
}
