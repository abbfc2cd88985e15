/** @jsxImportSource #html @jsxRuntime automatic */
/** The stylesheets, the icon and the scripts. Their names contain a digest, so that browsers can cache them forever. @module */

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";
import { type Route, readEncoding, toEncodingHeader } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import type { Html } from "./html.ts";

// The scripts of the pages, in TypeScript. They are bundled and minified at the first request (3
// ms), so that the container image needs no build. In the package they are already bundled. Every
// page works without scripts.

const IS_PACKED = import.meta.path.endsWith(".js");
const FOLDER = new URL("scripts/", IS_PACKED ? `file://${import.meta.path}` : import.meta.url);
/** The folders whose files are in the scripts, with their subfolders. */
const SOURCES = [
  FOLDER,
  ...(IS_PACKED ? [] : ["kinds", "pages/rows", "rows", "sdk", "std"]).map(
    (module) => new URL(`../${module}/`, import.meta.url),
  ),
];

/**
 * A page has at most one of the first four. Pages of rows also have `rows_page`, `row_page`, `import_page` or `undo_page`, and pages that request a
 * passkey have `passkey`. The Console's pages have `theme`, which is not a module, so that it runs before the page is displayed. `rows_page` loads
 * `paste`.
 */
export const SCRIPT_NAMES = [
  "page",
  "console",
  "reference",
  "guide",
  "rows_page",
  "row_page",
  "import_page",
  "undo_page",
  "passkey",
  "theme",
  "paste",
] as const;
export type ScriptName = (typeof SCRIPT_NAMES)[number];

/** The digest of the sources and of the bundler version, so that a name needs no bundling. */
const SCRIPTS_DIGEST = digestSources();

function digestSources(): string {
  const hasher = new Bun.CryptoHasher("sha256").update(Bun.version);
  for (const source of listSources()) hasher.update(readFileSync(source));
  return hasher.digest("hex").slice(0, 16);
}

/** A source that is not listed would change without a new name, and browsers would keep the old script. */
export function listSources(): string[] {
  return SOURCES.flatMap((folder) =>
    readdirSync(folder, { encoding: "utf8", recursive: true })
      .filter((file) => /\.[jt]sx?$/.test(file) && !/_test\.tsx?$/.test(file))
      .sort()
      .map((file) => fileURLToPath(new URL(file, folder))),
  );
}

/** @throws {AggregateError} a source cannot be read or bundled */
export async function bundleScript(name: ScriptName): Promise<string> {
  if (IS_PACKED) return await Bun.file(new URL(`${name}.js`, FOLDER)).text();
  const { outputs } = await Bun.build({
    entrypoints: [fileURLToPath(new URL(`${name}.ts`, FOLDER))],
    target: "browser",
    minify: true,
  });
  return (await Promise.all(outputs.map((output) => output.text()))).join("");
}

/** Best first. Brotli has a dictionary of the words of scripts and stylesheets. */
const ENCODINGS = ["br", "gzip"] as const;
type Encoding = (typeof ENCODINGS)[number];
const [toBrotli, toGzip] = [promisify(brotliCompress), promisify(gzip)];

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

const CACHE_FOREVER = "public, max-age=31536000, immutable";

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
  const source = readFileSync(new URL(file, import.meta.url), "utf8");
  const text = type.startsWith("text/css") ? withoutComments(source) : source;
  const digest = new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 16);
  const [name, ending] = file.split(".");
  return { path: `/assets/${name}.${digest}.${ending}`, type, read: () => text };
}

/** Only their authors read the comments and the white space of stylesheets. */
function withoutComments(css: string): string {
  return css
    .replaceAll(/\/\*.*?\*\//gs, "")
    .replaceAll(/\s*\n\s*/g, "\n")
    .replaceAll(/^([a-z-]+): /gm, "$1:")
    .replaceAll(/ (\{)\n|;\n(\})|([;{},])\n/g, "$1$2$3");
}

function toRoute({ path, type, read }: Asset): Route<unknown> {
  const stored = new Map<Encoding | undefined, Promise<Uint8Array<ArrayBuffer>>>();
  const make = async (encoding: Encoding | undefined) => await compress(await read(), encoding);
  const headers = {
    "content-type": type,
    "cache-control": CACHE_FOREVER,
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'",
    vary: "accept-encoding",
  };
  return {
    method: "GET",
    path,
    access: "open",
    handle: async (_deps, { request }) => {
      const encoding = readEncoding(request.headers.get("accept-encoding"), ENCODINGS);
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

/** Compresses slowly but well, in another thread: each asset is compressed once and sent to every browser. */
async function compress(
  text: string,
  encoding: Encoding | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const body = new TextEncoder().encode(text);
  if (encoding === undefined) return body;
  return new Uint8Array(await (encoding === "br" ? toBrotli(body) : toGzip(body, { level: 9 })));
}

// The name and the logo of the organization on the sign-in pages, in the Console and in emails.
// Like the log, the brand belongs to the process and is set when a service opens.

/** Unset values default to the name and the icon of the product. */
export type Brand = { name?: string | undefined; logo?: Uint8Array<ArrayBuffer> | undefined };

type VisibleBrand = { name: string; icon: string };

const PRODUCT: VisibleBrand = { name: "Rowhouse", icon: ICON.path };
const LOGO_PATH = "/assets/organization.png";

let current: Brand = {};
let visible: VisibleBrand = PRODUCT;

export function setBrand(brand: Brand): void {
  const { name = PRODUCT.name, logo } = brand;
  current = brand;
  visible = { name, icon: logo === undefined ? PRODUCT.icon : toLogoUrl(logo) };
}

export function readBrand(): Brand {
  return current;
}

export function brandName(): string {
  return visible.name;
}

/** The logo or the icon with this height, followed by the name. */
export function renderBrand(height: number): Html {
  return (
    <>
      <img src={visible.icon} alt="" height={height} />
      <span>
        <bdi>{visible.name}</bdi>
      </span>
    </>
  );
}

/** A new logo has a new address, so that browsers can cache it. */
function toLogoUrl(logo: Uint8Array): string {
  const digest = new Bun.CryptoHasher("sha256").update(logo).digest("hex").slice(0, 16);
  return `${LOGO_PATH}?${digest}`;
}

/** @throws {Problem} unknown_route — there is no logo */
export const brandRoute: Route<unknown> = {
  method: "GET",
  path: LOGO_PATH,
  access: "open",
  handle: () => {
    const { logo } = current;
    if (logo === undefined) throw new Problem("unknown_route");
    return new Response(logo, {
      headers: {
        "content-type": "image/png",
        "cache-control": CACHE_FOREVER,
        "cross-origin-resource-policy": "same-origin",
      },
    });
  },
};
