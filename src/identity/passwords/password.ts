/**
 * The password policy: long passwords that are not among the first guesses. An error gives the reason.
 * @see https://pages.nist.gov/800-63-4/sp800-63b.html#passwordver
 *
 * @module
 */

import type { Database } from "../../db/mod.ts";
import { Problem } from "../../problem.ts";
import { findPasswordLink, usePasswordLink } from "../../records/people/mod.ts";
import {
  findIdentitySecret,
  type IdentitySecrets,
  type PasswordRecord,
  proveSignIn,
  toKeyedPassword,
  toPasswordRecord,
} from "../../records/secrets/mod.ts";
import type { KnownUser } from "../../records/sessions/mod.ts";
import { foldText } from "../../std/text.ts";
import { isKnownPassword, MIN_CODE_POINTS } from "./known_passwords.ts";

// Common long passwords that lists of leaked passwords do not contain, and the words that such
// passwords combine. Folded as by {@linkcode foldText}.

const COMMON_PASSWORDS: ReadonlySet<string> = new Set(
  `correctbatteryhorsestaple thequickbrownfoxjumps thequickbrownfoxjumpsoverthelazydog
tobeornottobethatisthequestion onceuponatime onceuponatimethere inthebeginningwas callmeishmael ilovemyfamily
ilovemyhusband ilovemymother ilovemywife iloveyousomuch letmeinplease letmeinrightnow openthedoorplease
opensesameopensesame thisisasecret thisismysecurepassword thisisapassphrase mysupersecretpassword
verysecretpassword verysecurepassword averysecurepassword averylongpassword areallylongpassword
averylongandsecurepassword longpassword securepassword strongpassword averystrongpassword strongpasswordhere
mystrongpassword changemeplease changethispassword pleasechangeme pleasechangethispassword temporarypass
administratorpassword adminadministrator rootpassword rootpasswordroot passwordadmin adminpassword welcomehome
welcomepassword winterspringsummer springsummerautumn springsummerautumnwinter januaryfebruarymarch
mondaytuesdaywednesday qwerasdfzxcvqwer liverpoolfootball realmadridcf fcbarcelona harrypotterharry
supercalifragilisticexpialidocious jesusislord jesuslovesme godisgreat inshallahinshallah allahuakbar
bismillahirrahman hakunamatatahakuna nevergonnagiveyouup helloworldhelloworld hellomynameis whatisyourname
forgotpassword dontforgetthis trustnoonetrustno1 companypassword thecompanypassword testpassword
testpasswordtest demopassword examplepassword samplepassword passphrasepassphrase einfachespasswort
meinpasswortistsicher motdepassemotdepasse monmotdepasse contrasenacontrasena micontrasena miclavesecreta`.split(
    /\s+/,
  ),
);

/** A password of only these words, digits and punctuation is common, regardless of its length. */
const COMMON_TERMS: readonly string[] =
  `password passwort passphrase motdepasse contrasena secret secure qwertyuiop qwerty asdfghjkl asdfgh zxcvbnm welcome
letmein iloveyou sunshine princess dragon monkey football baseball superman batman master shadow michael jennifer
jordan hunter trustno1 starwars administrator admin default changeme login access hello freedom whatever computer
internet samsung pokemon naruto liverpool chelsea arsenal barcelona summer winter spring autumn january february march
april june july august september october november december monday tuesday wednesday thursday friday saturday sunday
testing test please please1 my is the this a i love you`.split(/\s+/);

export const MAX_BYTES = 1024;
export const PASSWORD_HINT = `At least ${MIN_CODE_POINTS} characters. A few unrelated words are easy to remember and hard to guess.`;
/** Minimum length without names that others know. */
const MIN_WITHOUT_CONTEXT = 8;
/** Minimum number of characters that do not follow from the previous character. */
const MIN_SURPRISES = 6;
const MIN_DIFFERENT = 5;
/** Shorter names occur in too many words by chance. */
const MIN_NAME = 4;

const ROWS = ["01234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "azertyuiop"];
const PRODUCT = "rowhouse";
const SIMILAR_CHARACTERS: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "i",
  "3": "e",
  "4": "a",
  "5": "s",
  "7": "t",
  "@": "a",
  $: "s",
  "!": "i",
};

/** The normalized password that is hashed: independent of how a keyboard composes letters. */
function toPasswordForm(text: string): string {
  return text.normalize("NFKC");
}

/**
 * All reasons against a password; empty if it is valid. `names` are words connected with the person: the address, the name,
 * the apps.
 */
export function findPasswordIssues(text: string, names: readonly string[]): string[] {
  const password = toPasswordForm(text);
  const length = [...password].length;
  if (length < MIN_CODE_POINTS) {
    return [
      `Use at least ${MIN_CODE_POINTS} characters. This password has ${length}. A few unrelated words work well.`,
    ];
  }
  if (new TextEncoder().encode(password).length > MAX_BYTES)
    return [`Use at most ${MAX_BYTES} bytes.`];
  return RULES.filter((rule) => rule.isBroken(password, names)).map((rule) => rule.reason);
}

type Rule = { reason: string; isBroken: (password: string, names: readonly string[]) => boolean };

const RULES: readonly Rule[] = [
  {
    reason: "This is a common password that attackers try first. Choose less common words.",
    isBroken: isCommon,
  },
  {
    reason: "This consists mostly of your email address, your name, or the name of an app.",
    isBroken: consistsOfNames,
  },
  { reason: "This repeats the same few characters.", isBroken: isRepetition },
  {
    reason: "This follows the alphabet, the digits or a keyboard row.",
    isBroken: (password) => countSurprises(password) < MIN_SURPRISES,
  },
];

function isCommon(password: string): boolean {
  const plain = password.toLowerCase();
  // People add years and punctuation at either end when a password is rejected.
  const core = plain.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, "");
  return [plain, core, toSimilarText(core)].some((text) => {
    const folded = foldText(text);
    if (isKnownPassword(text) || COMMON_PASSWORDS.has(folded)) return true;
    return consistsOf(folded.replace(/\d/g, ""), COMMON_TERMS);
  });
}

/** Whether a text is a concatenation of the given words. */
function consistsOf(text: string, parts: readonly string[]): boolean {
  const reachable = new Set([0]);
  for (let at = 0; at < text.length; at++) {
    if (!reachable.has(at)) continue;
    for (const term of parts) if (text.startsWith(term, at)) reachable.add(at + term.length);
  }
  return text.length > 0 && reachable.has(text.length);
}

function consistsOfNames(password: string, names: readonly string[]): boolean {
  const text = [PRODUCT, ...names]
    .flatMap((name) => [foldText(name), ...name.split(/[^\p{L}\p{N}]+/u).map(foldText)])
    .filter((term) => term.length >= MIN_NAME)
    .sort((a, b) => b.length - a.length);
  const folded = foldText(password);
  const rest = text.reduce((left, term) => left.replaceAll(term, ""), folded);
  return rest !== folded && [...rest].length < MIN_WITHOUT_CONTEXT;
}

function isRepetition(password: string): boolean {
  const folded = password.toLowerCase();
  return new Set(folded).size < MIN_DIFFERENT || /^(.{1,7})\1+(.{0,6})$/su.test(folded);
}

/** Counts characters that neither repeat the previous character nor follow it in the alphabet or on the keyboard. */
function countSurprises(password: string): number {
  const characters = [...password.toLowerCase()];
  return characters.filter((character, index) => {
    const before = characters[index - 1];
    return before === undefined || !isAdjacent(before, character);
  }).length;
}

function isAdjacent(a: string, b: string): boolean {
  const distance = (a.codePointAt(0) ?? 0) - (b.codePointAt(0) ?? 0);
  return Math.abs(distance) <= 1 || ROWS.some((row) => row.includes(a + b) || row.includes(b + a));
}

function toSimilarText(text: string): string {
  return [...text].map((character) => SIMILAR_CHARACTERS[character] ?? character).join("");
}

// Password hashes: argon2id with fixed parameters and limited concurrency. An unknown address also
// costs one hash, because timing must not reveal who has an account. @see
// https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html

type HashingCost = { memoryKib: number; passes: number };
/** The cost in production. Only tests pass a lower cost. */
const HASHING_COST: HashingCost = { memoryKib: 19_456, passes: 2 };
/** Each hash uses 19 MB and a core: more concurrency would only slow down requests. */
const MAX_CONCURRENT = 2;
/** Max queue length, per priority. */
const MAX_WAITING = 100;

export type Hashing = {
  /** Hashes with priority: the caller has a link or has just entered the correct password. */
  readonly make: (password: string) => Promise<string>;
  /** Whether a password is correct. Without a hash, the call lasts as long and returns false. */
  readonly verify: (password: string, hash: string | undefined, turn?: Turn) => Promise<boolean>;
  readonly isCurrent: (hash: string) => boolean;
};

/** A hasher; both methods throw `overloaded` if the queue is full. */
export function makeHashing({ cost = HASHING_COST }: { cost?: HashingCost } = {}): Hashing {
  const bounded = makeBound(MAX_CONCURRENT, MAX_WAITING);
  const { memoryKib: memoryCost, passes: timeCost } = cost;
  const parameters = { algorithm: "argon2id", memoryCost, timeCost } as const;
  // A hash with another prefix is replaced at the next sign-in.
  const current = `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=1$`;
  let decoy: Promise<string> | undefined;
  return {
    make: (password) => bounded(() => Bun.password.hash(password, parameters), { isFirst: true }),
    verify: async (password, known, turn) => {
      decoy ??= Bun.password.hash(crypto.randomUUID(), parameters);
      const compared = known ?? (await decoy);
      const isRight = await bounded(() => Bun.password.verify(password, compared), turn);
      return known !== undefined && isRight;
    },
    isCurrent: (known) => known.startsWith(current),
  };
}

/** Whether a task has priority over tasks of unknown devices. */
type Turn = { isFirst: boolean };
type Bound = <Result>(task: () => Promise<Result>, turn?: Turn) => Promise<Result>;

/**
 * Runs up to `maxRunning` tasks concurrently and queues the others, with priority tasks first. Throws `overloaded` if
 * `maxWaiting` tasks of the same priority are already queued.
 */
export function makeBound(maxRunning: number, maxWaiting: number): Bound {
  let running = 0;
  const first: (() => void)[] = [];
  const others: (() => void)[] = [];
  return async (task, turn) => {
    const waiting = turn?.isFirst === true ? first : others;
    if (running >= maxRunning && waiting.length >= maxWaiting)
      throw new Problem("overloaded", { retryAfterS: 5 });
    // A finished task passes its slot to the next task, so that no new task can jump the queue.
    if (running >= maxRunning) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await task();
    } finally {
      const next = first.shift() ?? others.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}

// Hashes and verifies passwords. The input of the hash is a MAC of the password with the service's
// secret.

type PasswordDeps = { hashing: Hashing; identitySecrets: IdentitySecrets };

export async function makePasswordRecord(
  { hashing, identitySecrets }: PasswordDeps,
  userId: string,
  password: string,
): Promise<PasswordRecord> {
  const { current } = identitySecrets;
  const hash = await hashing.make(toKeyedPassword(current, userId, toPasswordForm(password)));
  return toPasswordRecord(current, userId, hash);
}

/** A correct password: the proof for the database, and whether the hash is current. */
type RightPassword = { proof: string; isCurrent: boolean };

/** Always computes one hash: an unknown person, or a person without a password, costs as much as a wrong password. */
export async function verifyPassword(
  { hashing, identitySecrets }: PasswordDeps,
  { known, isKnownDevice }: { known: KnownUser | undefined; isKnownDevice: boolean },
  password: string,
): Promise<RightPassword | undefined> {
  const { userId = "", password: stored } = known ?? {};
  const { current } = identitySecrets;
  // A hash matches nothing without the secret that was used to create it.
  const by = stored && findIdentitySecret(identitySecrets, stored.secretId);
  const keyed = toKeyedPassword(by ?? current, userId, toPasswordForm(password));
  const isRight = await hashing.verify(keyed, by && stored?.hash, { isFirst: isKnownDevice });
  const proof = stored && proveSignIn(identitySecrets, userId, stored);
  if (!isRight || stored === undefined || proof === undefined) return undefined;
  return { proof, isCurrent: by === current && hashing.isCurrent(stored.hash) };
}

/** Sets a password with a link; false if the link cannot be used. */
export async function setPasswordByLink(
  deps: PasswordDeps & { db: Database },
  linkText: string,
  password: string,
): Promise<boolean> {
  const link = await findPasswordLink(deps, linkText);
  if (link === undefined) return false;
  return await usePasswordLink(deps, link, await makePasswordRecord(deps, link.userId, password));
}
