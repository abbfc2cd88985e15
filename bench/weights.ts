/** `bench weights`: the requests and bytes that a browser needs for a page on the first visit, compressed and not. @module */
import { openTestService } from "../test/support/service.ts";
import { show, table } from "./print.ts";

const DOMAIN = "rowhouse.localhost";
const PAGES = [
  { title: "sign in, with passkeys", host: "id", path: "/login" },
  { title: "the API reference", host: "api", path: "/docs" },
  { title: "the guide to data", host: "api", path: "/docs/data" },
] as const;

/** Encodings that browsers request, best first. */
const ENCODINGS = ["zstd", "gzip", "identity"] as const;
type Encoding = (typeof ENCODINGS)[number];
const NAMES: Readonly<Record<Encoding, string>> = {
  zstd: "zstd",
  gzip: "gzip",
  identity: "not compressed",
};

/** The sent bytes, by kind of file. */
const KINDS = ["page", "styles", "scripts", "icon"] as const;
type Kind = (typeof KINDS)[number];
type Weight = Record<Kind, number> & { requests: number };
type Weighed = { title: string; weights: Record<Encoding, Weight> };

export async function benchWeights(): Promise<Weighed[]> {
  await using stack = new AsyncDisposableStack();
  const service = await openTestService({
    identity: (port) => ({
      publicUrl: `http://api.${DOMAIN}:${port}`,
      identityUrl: `http://id.${DOMAIN}:${port}`,
      cookieDomain: DOMAIN,
    }),
  });
  stack.defer(() => service.close());
  const weighed: Weighed[] = [];
  for (const { title, ...page } of PAGES) {
    const weigh = (encoding: Encoding) => weighPage(service.url, { ...page, encoding });
    const [zstd, gzip, identity] = [
      await weigh("zstd"),
      await weigh("gzip"),
      await weigh("identity"),
    ];
    weighed.push({ title, weights: { zstd, gzip, identity } });
  }
  return weighed;
}

export function printWeights(weighed: readonly Weighed[]): string {
  const rows = weighed.flatMap(({ title, weights }) =>
    ENCODINGS.map((encoding) => [`${title}, ${NAMES[encoding]}`, ...toCells(weights[encoding])]),
  );
  return table(["bytes of", "requests", ...KINDS, "all"], rows);
}

function toCells({ requests, ...bytes }: Weight) {
  const sum = KINDS.reduce((all, kind) => all + bytes[kind], 0);
  return [requests, ...[...KINDS.map((kind) => bytes[kind]), sum].map((size) => show(size))];
}

type PageRequest = { host: string; path: string; encoding: Encoding };

/** Loads a page with the files that it names. These pages load nothing else. */
async function weighPage(url: string, { host, path, encoding }: PageRequest): Promise<Weight> {
  const port = new URL(url).port;
  const load = async (file: string) => {
    const headers = { host: `${host}.${DOMAIN}:${port}`, "accept-encoding": encoding };
    const response = await fetch(url + file, { headers, decompress: false });
    if (!response.ok) throw new Error(`Cannot load ${file}: ${response.status}`);
    const body = await response.bytes();
    const text = await unpack(body, response.headers.get("content-encoding"));
    return { bytes: body.length, text };
  };
  const page = await load(path);
  const named = page.text.matchAll(/(?:src|<link[^>]* href)="([^"]+)"/g);
  const files = new Set([...named].map(([, file = ""]) => file));
  const weight = { page: page.bytes, styles: 0, scripts: 0, icon: 0, requests: 1 + files.size };
  for (const file of files) weight[toKind(file)] += (await load(file)).bytes;
  return weight;
}

async function unpack(body: Uint8Array<ArrayBuffer>, encoding: string | null): Promise<string> {
  const decoder = new TextDecoder();
  if (encoding === "gzip") return decoder.decode(Bun.gunzipSync(body));
  return decoder.decode(encoding === "zstd" ? await Bun.zstdDecompress(body) : body);
}

function toKind(path: string): Kind {
  if (path.endsWith(".css")) return "styles";
  return path.endsWith(".js") ? "scripts" : "icon";
}
