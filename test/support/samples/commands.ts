/** The example of each command, whose help has it, as arguments. @module */
import { COMMANDS } from "../../../src/cli/commands.ts";

export type CommandSample = {
  name: string;
  /** After the name. */
  words: readonly string[];
  positionals: readonly string[];
  /** The flags with a value. */
  flags: readonly string[];
};

/** Operators' commands. A command that asks for confirmation has its flag. */
export async function readAdminSamples(): Promise<CommandSample[]> {
  const rows = COMMANDS.filter(({ name }) => name.startsWith("admin "));
  return await Promise.all(
    rows.map(async (row) => {
      const { name, example, positionals, flags } = await row.load();
      const [line = ""] = example.replace(/ > .*/, "").split("\n");
      const typed = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(
        ([, quoted, word]) => quoted ?? word,
      );
      const words = typed.filter((word) => word !== undefined).slice(1);
      const isFormat = (word: string) => word === "--json" || word === "--csv";
      return {
        name,
        words: [...words.filter((word) => !isFormat(word)), ...("yes" in flags ? ["--yes"] : [])],
        positionals,
        flags: Object.keys(flags).filter((flag) => flags[flag]?.value !== undefined),
      };
    }),
  );
}
