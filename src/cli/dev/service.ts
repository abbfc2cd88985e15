/**
 * The service of `dev`: the service of a process, and what only `dev` serves. That is the example app on its own host, the test
 * people, the mark by which commands recognize a `dev`, and the rules in responses that they cause.
 *
 * @module
 */
import { splitTarget } from "../../http/mod.ts";
import type { Service } from "../../service/mod.ts";
import { isObject, tryParseJson } from "../../std/json.ts";
import { SCHEMA_PATH } from "../../tables/limits.ts";
import { MARK, MARKED_PATH } from "../dev_file.ts";
import type { Example } from "./example.ts";
import type { Explainer } from "./explain_forbidden.ts";
import type { TestPeople } from "./test_people.ts";

type Parts = {
  apps: readonly { readonly people: TestPeople; readonly explainer: Explainer }[];
  /** The example app with its host. */
  example?: { readonly host: string; readonly app: Example } | undefined;
  /** Called some time after a push that changed tables: another command can have resolved what stopped the last push of `dev`. */
  onApplied: () => void;
};

/** Longer than between the changes and the push of one command. */
const APPLIED_MS = 300;

export function makeDevService(service: Service, { apps, example, onApplied }: Parts): Service {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const fetch: Service["fetch"] = async (request, peer) => {
    if (example !== undefined && request.headers.get("host") === example.host)
      return await example.app.respond(request);
    const { path } = splitTarget(request.url);
    const owner = apps.find(({ people }) => people.owns(request)) ?? apps[0];
    if (owner?.people.serves(path) === true) return await owner.people.respond(request, path);
    const response = await service.fetch(request, peer);
    if (path === MARKED_PATH) return withMark(response);
    if (path === SCHEMA_PATH && request.method === "POST" && (await hasApplied(response))) {
      clearTimeout(timer);
      timer = setTimeout(onApplied, APPLIED_MS);
    }
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

async function hasApplied(response: Response): Promise<boolean> {
  const body = response.ok ? tryParseJson(await response.clone().text()) : undefined;
  return isObject(body) && body["status"] === "applied";
}
