/** `rowhouse completion`: shell scripts that complete commands and flags, rendered from the table of commands. @module */
import { quote } from "../std/quote.ts";
import { type Command, UsageError } from "./command.ts";
import { ALL_ENVIRONMENTS, DEV_ENVIRONMENT } from "./project_file.ts";

type Render = (commands: readonly Command[]) => string;

/** The command. It loads the table of commands when it runs, because the table contains this command. */
export function makeCompletionCommand(loadCommands: () => Promise<readonly Command[]>): Command {
  return {
    name: "completion",
    example: 'eval "$(rowhouse completion bash)"\nrowhouse completion fish | source',
    about: "Add the line for your shell to its startup file.",
    positionals: ["shell"],
    flags: {},
    run: async ({ args }) => {
      const [shell = ""] = args.positionals;
      const render = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
      if (render === undefined)
        throw new UsageError(
          `Unknown shell ${quote(shell)}: expected ${Object.keys(SHELLS).join(", ")}`,
        );
      return { lines: [render(await loadCommands())] };
    },
  };
}

const SHELLS: Readonly<Record<string, Render>> = {
  bash: renderBash,
  zsh: (commands) =>
    `autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n${renderBash(commands)}`,
  fish: renderFish,
};

const toFlags = ({ flags }: Command): string[] =>
  ["help", ...Object.keys(flags)].map((name) => `--${name}`);

/** The second words of the commands in a group. */
function toSeconds(commands: readonly Command[], first: string): string[] {
  return commands
    .filter(({ name }) => name.startsWith(`${first} `))
    .map(({ name }) => name.slice(first.length + 1));
}

function toFirsts(commands: readonly Command[]): string[] {
  return [...new Set(commands.map(({ name }) => name.split(" ")[0] ?? ""))];
}

/** Lists the environments in rowhouse.json: names followed by a URL or an object. */
const LIST_ENVIRONMENTS = `grep -oE '"[a-z][a-z0-9-]*"[[:space:]]*:[[:space:]]*("https?:|\\{)' rowhouse.json 2>/dev/null | cut -d '"' -f 2 | grep -vxE 'places|environments|apps|url'`;
const WORDS = `${ALL_ENVIRONMENTS} ${DEV_ENVIRONMENT}`;

function renderBash(commands: readonly Command[]): string {
  const firsts = toFirsts(commands);
  const groups = firsts.filter((first) => toSeconds(commands, first).length > 0);
  const ofGroups = groups.map(
    (first) => `    ${first}) words="${toSeconds(commands, first).join(" ")}" ;;`,
  );
  const ofCommands = commands.map(
    (command) =>
      `    "${command.name}"${command.name.includes(" ") ? "" : "*"}) words="${toFlags(command).join(" ")}" ;;`,
  );
  return `_rowhouse() {
  local words="${firsts.join(" ")} --version"
  [ "$COMP_CWORD" -gt 1 ] && case "\${COMP_WORDS[1]}" in
${ofGroups.join("\n")}
    *) words="" ;;
  esac
  [ "$COMP_CWORD" -gt 1 ] && case "\${COMP_WORDS[1]} $([ "$COMP_CWORD" -gt 2 ] && echo "\${COMP_WORDS[2]}")" in
${ofCommands.join("\n")}
  esac
  [ "\${COMP_WORDS[1]} \${COMP_WORDS[COMP_CWORD-1]}" = "db --to" ] && words="${WORDS} $(${LIST_ENVIRONMENTS})"
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _rowhouse rowhouse`;
}

function renderFish(commands: readonly Command[]): string {
  const firsts = toFirsts(commands);
  return [
    ...firsts.map((first) => toFishLine("__fish_use_subcommand", `-f -a '${first}'`)),
    ...firsts.flatMap((first) => toFishGroup(first, toSeconds(commands, first))),
    ...commands.flatMap(toFishFlags),
    toFishLine(
      "__fish_seen_subcommand_from db",
      `-l to -x -a "${WORDS} (${LIST_ENVIRONMENTS.replaceAll('"', '\\"')})"`,
    ),
  ].join("\n");
}

function toFishLine(condition: string, rest: string): string {
  return `complete -c rowhouse -n '${condition}' ${rest}`;
}

function toFishGroup(first: string, seconds: readonly string[]): string[] {
  const seen = "__fish_seen_subcommand_from";
  const condition = `${seen} ${first}; and not ${seen} ${seconds.join(" ")}`;
  return seconds.map((second) => toFishLine(condition, `-f -a '${second}'`));
}

function toFishFlags({ name, flags }: Command): string[] {
  const conditions = name.split(" ").map((part) => `__fish_seen_subcommand_from ${part}`);
  return Object.entries(flags).map(([flag, { value }]) =>
    toFishLine(conditions.join("; and "), `-l ${flag}${value === undefined ? "" : " -r"}`),
  );
}
