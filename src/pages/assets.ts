/** The stylesheets, the icon and the scripts. Their names contain a digest, so that browsers can cache them forever. @module */
import { readFileSync } from "node:fs";
import { type Encoding, type Route, readEncoding, toEncodingHeader } from "../http/mod.ts";
import { bundleScript, SCRIPT_NAMES, SCRIPTS_DIGEST, type ScriptName } from "./scripts.ts";

type Asset = { path: string; type: string; read: () => string | Promise<string> };

export const STYLESHEET = readAsset("style.css", "text/css; charset=utf-8");
/** Stylesheets that only some pages need. */
export const STYLES = {
  reference: readAsset("reference.css", "text/css; charset=utf-8"),
  guide: readAsset("guide.css", "text/css; charset=utf-8"),
} as const;
export type StyleName = keyof typeof STYLES;
export const ICON = readAsset("icon.svg", "image/svg+xml");

export function toScriptPath(name: ScriptName): string {
  return `/assets/${name}.${SCRIPTS_DIGEST}.js`;
}

export const CACHE_FOREVER = "public, max-age=31536000, immutable";

export const assetRoutes: readonly Route<unknown>[] = [
  STYLESHEET,
  ...Object.values(STYLES),
  ICON,
  ...SCRIPT_NAMES.map((name) => ({
    path: toScriptPath(name),
    type: "text/javascript; charset=utf-8",
    read: () => bundleScript(name),
  })),
].map(toRoute);

function readAsset(file: string, type: string): Asset {
  const text = readFileSync(new URL(file, import.meta.url), "utf8");
  const digest = new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 16);
  const [name, ending] = file.split(".");
  return { path: `/assets/${name}.${digest}.${ending}`, type, read: () => text };
}

function toRoute({ path, type, read }: Asset): Route<unknown> {
  const stored = new Map<Encoding | undefined, Promise<Uint8Array<ArrayBuffer>>>();
  const make = async (encoding: Encoding | undefined) => compress(await read(), encoding);
  const headers = {
    "content-type": type,
    "cache-control": CACHE_FOREVER,
    "cross-origin-resource-policy": "same-origin",
    // A script that runs as a worker does not have the CSP of the page.
    "content-security-policy": "default-src 'none'; connect-src 'self'",
    vary: "accept-encoding",
  };
  return {
    method: "GET",
    path,
    access: "open",
    handle: async (_deps, { request }) => {
      const encoding = readEncoding(request.headers.get("accept-encoding"));
      const created = stored.get(encoding) ?? make(encoding);
      stored.set(encoding, created);
      // The next request retries a failure.
      created.catch(() => stored.delete(encoding));
      return new Response(await created, {
        headers: { ...headers, ...toEncodingHeader(encoding) },
      });
    },
  };
}

/** Compresses slowly but well: each asset is compressed once and sent to every browser. */
function compress(text: string, encoding: Encoding | undefined): Uint8Array<ArrayBuffer> {
  const body = new TextEncoder().encode(text);
  if (encoding === undefined) return body;
  if (encoding === "gzip") return Bun.gzipSync(body, { level: 9 });
  return new Uint8Array(Bun.zstdCompressSync(body, { level: 19 }));
}
