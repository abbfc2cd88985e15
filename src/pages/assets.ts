/** The stylesheet and the icon, served under names with their digest, so that browsers can keep them forever. @module */
import { readFileSync } from "node:fs";
import type { Route } from "../http/mod.ts";

type Asset = { path: string; type: string; text: string };

export const STYLESHEET = readAsset("style.css", "text/css; charset=utf-8");
export const ICON = readAsset("icon.svg", "image/svg+xml");

const KEPT_FOR_GOOD = "public, max-age=31536000, immutable";

export const assetRoutes: readonly Route<unknown>[] = [STYLESHEET, ICON].map(toRoute);

function readAsset(file: string, type: string): Asset {
  const text = readFileSync(new URL(file, import.meta.url), "utf8");
  const digest = new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 16);
  const [name, ending] = file.split(".");
  return { path: `/assets/${name}.${digest}.${ending}`, type, text };
}

function toRoute({ path, type, text }: Asset): Route<unknown> {
  const headers = {
    "content-type": type,
    "cache-control": KEPT_FOR_GOOD,
    "cross-origin-resource-policy": "same-origin",
  };
  return {
    method: "GET",
    path,
    access: "open",
    handle: () => new Response(text, { headers }),
  };
}
