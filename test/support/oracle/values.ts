/** Random values of each kind, with those at the edges: of an encoding, a double, a compared text, a year. @module */
import type { Json, Kind } from "../../../src/schema/mod.ts";
import { isTrue, pick, type Random } from "../random.ts";

export const ENUM = ["low", "mid", "a'b", "High", "%"];
const TEXTS = [
  ...["", "a", "B", "b", "é", "É", "Ab%_\\", "a*b", "a,b", 'say "x"', "(x)", "null", "ab'c"],
  ...["\u{1f642}", "\uffee", "x".repeat(199), `${"x".repeat(199)}y`, "not.eq.1", " ", "a+b&c=%41"],
  ...["ÉCOLE", "ХЛЕБ", "Straße", "GROẞ", "τέλος", "ΤΈΛΟΣ", "Iİ", "ıi", "\u{10400}", "K.^$", "a\nb"],
];
/** Texts of about as many bytes as an order compares, some with a character at the cut, and with the same start. */
const CUT_TEXTS = [56, 59, 60, 61, 62, 63, 64, 65, 66, 70].flatMap((length) =>
  ["", "z", "é", "漢", "\u{1f642}", "\u{10ffff}", "zé漢\u{1f642}"].map(
    (end) => `${"x".repeat(length)}${end}`,
  ),
);
export const PATTERNS = [
  ...[
    "xx*",
    `${"x".repeat(58)}*`,
    `${"x".repeat(62)}é*`,
    `${"x".repeat(70)}*`,
    "\u{1f642}*",
    "xx*é",
  ],
  ...[
    "*",
    "a*",
    "*B",
    "*b*",
    "*%*",
    "*_*",
    "*\\*",
    "*\\\\*",
    "a\\*b",
    "A\\**",
    "a*b",
    "",
    "É",
    "*é*",
  ],
  ...["x*y", "*,*", '*"*', "école", "хлеб*", "*ß*", "*έλοσ", "I*", "*ı*", "\u{10428}", "k.^$"],
  ...["*[a-z]*", "*.*", "(x)", "a*B"],
];

function drawUuid(random: Random): string {
  return `0190000${random(4)}-0000-7000-8000-00000000000${random(4)}`;
}

/** Decimals that share a double, or have none. */
const EDGE_DECIMALS = [
  ...["0.1", "0.10", "0.1000000000000000000000001", "0.1000000000000000000000002"],
  ...["-0.1000000000000000000000001", `${"9".repeat(30)}.5`, `1${"0".repeat(30)}`],
  ...[`1${"0".repeat(390)}`, `-1${"0".repeat(390)}`, `1${"0".repeat(308)}`],
  ...[`0.${"0".repeat(389)}1`, `-0.${"0".repeat(389)}1`, `0.${"0".repeat(299)}1`],
];

export const DRAW: Readonly<Record<Kind, (random: Random) => Json>> = {
  string: (random) => pick(random, isTrue(random, 3) ? CUT_TEXTS : TEXTS),
  email: (random) => `${pick(random, ["ada", "a+b", "x.y"])}@${pick(random, ["a.org", "b.org"])}`,
  url: (random) => `https://${pick(random, ["a.org/", "b.org/?c=(d)", `${"x".repeat(50)}.org`])}`,
  number: (random) =>
    pick(random, [
      ...[0, -0, -1, 1, 2.5, 1e21, 1e-7, 12_345_678_901_234, 0.1, 0.1 + 2 ** -56],
      ...[Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE, -Number.MIN_VALUE],
    ]),
  integer: (random) => pick(random, [0, -1, 1, 7, 2 ** 31, -(2 ** 53) + 1, 2 ** 53 - 1]),
  decimal: (random) =>
    pick(
      random,
      isTrue(random, 3) ? EDGE_DECIMALS : ["0", "-0.0", "1.0", "1.00", "9.5", "10.0", "-3"],
    ),
  boolean: (random) => random(2) === 0,
  uuid: drawUuid,
  ref: drawUuid,
  timestamp: (random) =>
    pick(random, [
      ...[
        "2026-01-01T00:00:00+00:00",
        "2026-01-01T00:00:00.000001+00:00",
        "2026-01-01T00:00:00.0000005+00:00",
        "2025-12-31T23:59:59.999999987Z",
        "0001-01-01T00:00:00+00:00",
      ],
      ...[
        "9999-12-31T23:59:59.999999+00:00",
        "2025-12-31T23:00:00.5+00:00",
        "2026-06-01T12:00:00+00:00",
      ],
    ]),
  date: (random) =>
    pick(random, ["0001-01-01", "1969-12-31", "2024-02-29", "2026-01-01", "9999-12-31"]),
  json: (random) => pick<Json>(random, [{ a: 1 }, [1], "text", false]),
  enum: (random) => pick(random, ENUM),
};

/** A value that no other row has. Texts share their first bytes, up to and beyond those that an order compares. */
export function drawUnique(kind: Kind, n: number, random: Random): Json {
  const time = new Date(Date.UTC(2000, 0, 1) + n * 86_400_000).toISOString();
  switch (kind) {
    case "string":
      return `${[...pick(random, CUT_TEXTS)].slice(0, 66).join("")}${n}`;
    case "email":
      return `ada${n}@example.org`;
    case "url":
      return `https://example.org/${n}`;
    case "number":
    case "integer":
      return n - 50;
    case "decimal":
      return `${n - 50}.5`;
    case "timestamp":
      return time.replace("Z", "+00:00");
    case "date":
      return time.slice(0, 10);
    case "uuid":
      return `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`;
    default:
      throw new Error(`A column of kind ${kind} has too few values`);
  }
}
