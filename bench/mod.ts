/** `bun run bench`: reads the command line, runs one bench, and prints or saves its result. @module */
import { BENCHES } from "./benches.ts";
import { writeFigures } from "./figures.ts";
import { readOptions, USAGE } from "./options.ts";
import { saveResult } from "./results.ts";
import { withCluster } from "./stage.ts";

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  const { command } = options;
  if (options.help) return console.log(USAGE);
  if (command === "figures") return console.log(writeFigures());
  const result = await withCluster(() => BENCHES[command].run(options));
  console.log(options.json ? JSON.stringify(result, null, 2) : BENCHES[command].print(result));
  if (options.save) console.error(`Saved in ${saveResult(command, result)}`);
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  console.error("Run bun run bench --help for the usage");
  process.exitCode = 1;
}
