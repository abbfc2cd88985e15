/**
 * The header by which a `rowhouse dev` of another folder is recognized: the migrations of every `dev` are private, and never become
 * files of a project.
 *
 * @module
 */
import type { Service } from "../../service/mod.ts";

const HEADER = "rowhouse-dev";
const PATH = "/live";
const PATIENCE_MS = 3000;

/** The service with the header in the response that {@linkcode servesDev} reads. */
export function markDev(service: Service): Service {
  return {
    ...service,
    fetch: async (request, peer) => {
      const response = await service.fetch(request, peer);
      if (new URL(request.url).pathname !== PATH) return response;
      const headers = new Headers(response.headers);
      headers.set(HEADER, "true");
      return new Response(response.body, { status: response.status, headers });
    },
  };
}

/** Whether a `dev` listens there. Without a response the command itself reports that. */
export async function servesDev(url: string): Promise<boolean> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const response = await fetch(url + PATH, { redirect: "manual", signal }).catch(() => undefined);
  return response?.headers.has(HEADER) === true;
}
