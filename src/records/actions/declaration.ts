/**
 * An action as users see it. The Console's page (`console/action_page.tsx`), and the command with its help and `--json`
 * (`cli/admin/action_command.ts`), are derived from it. The SQL function checks, changes and writes the audit log.
 *
 * @module
 */
import type { Database, FunctionName } from "../../db/mod.ts";
import type { Field, Parser } from "../../field.ts";
import type { Said } from "../../said.ts";
import type { RandomBytes } from "../../std/random_text.ts";
import type { IdentitySecrets } from "../secrets/identity_secrets.ts";
import type { Actor } from "./action.ts";
import type { Columns, Row } from "./columns.ts";

export type ActionDeps = Actor & {
  randomBytes: RandomBytes;
  identitySecrets: IdentitySecrets;
  keyPrefix: string;
  /** In milliseconds, if it is a number. */
  now: () => Date | number;
};

/** What an action is about: how the action, a page and a command name it. */
export type Subject = { ref: unknown; page: object; named: object };

/** By default a flag with this name, or the `argument` with an example. A form begins with the value that a flag defaults to. */
export type Input = Field &
  Partial<Parser<unknown>> & { argument?: string; example?: string; default?: string };
export type Inputs = Readonly<Record<string, Input>>;
export type InputValues<Of extends Inputs> = {
  readonly [Name in keyof Of]: Of[Name] extends Parser<infer Value> ? Value : string;
};
type FieldOfPage = { [Name in keyof Field]?: Field[Name] | undefined } & { value?: string };

/** What a page knows besides its record. */
export type PageContext = {
  hasMail: boolean;
  /** The names in the address. */
  params: Readonly<Record<string, string>>;
  /** The label of a provider that is set up. */
  labelOf: (provider: string) => string | undefined;
};
type Text<Of extends Subject> = string | ((page: Of["page"], context: PageContext) => string);
export type NamedRole = { slug: string; role: string };

/** Members with arguments are methods, so that a list can have actions with other inputs and documents. */
type Says<Of extends Subject, Json extends Columns> = {
  /** Defaults to the button. */
  title?: Text<Of>;
  button?: Text<Of>;
  effect?(page: Of["page"], context: PageContext): Said | readonly (Said | false)[];
  /** The notice on the next page, by its name in the address. */
  done?: Readonly<Record<string, string>>;
  /** What the command prints; of a dry run, what it would do. */
  line?(document: Row<Json> & Of["named"], isDryRun: boolean): string;
  /** On standard error. */
  note?(document: Row<Json> & Of["named"]): string;
  /** Why the command has nothing to do: the action returned false. */
  none?(named: Of["named"]): string;
};

type Page<Of extends Subject, Fields extends Inputs> = {
  /** Below the page of the record. */
  path: string;
  tone?: "danger";
  /** Why the action is not possible, instead of a form. */
  blocker?(page: Of["page"]): Said | undefined;
  /** Why a sent form is rejected: the record has changed since. */
  stale?(page: Of["page"], context: PageContext): string | undefined;
  /** Actions with the same path share a page, whose form is for the one that is next. */
  isNext?(page: Of["page"]): boolean;
  /** What the record changes in the fields, such as their values. */
  fields?(page: Of["page"]): { [Name in keyof Fields]?: FieldOfPage };
  /** The text to type, and what follows "to". */
  typed?(page: Of["page"]): readonly [text: string, to: string];
  /** The next page in the Console; defaults to the page to return to. */
  next?: string;
};

/** The command. Without a name, the action has no command. */
type Command<Of extends Subject, Fields extends Inputs, Json extends Columns> = {
  command?: string;
  summary?: string;
  /** Defaults to an example of each argument. */
  example?: string;
  about?: string;
  /** What the document has besides the names of the record: inputs, and what the action returns. */
  json?: Json;
  /** What happens, and the text to type before the action runs. */
  confirm?(
    deps: { admin: Database },
    ref: Of["ref"],
  ): Promise<{ message: string; what: string; typed: string }>;
  /** Runs the action on several people, or on none. Returns those for whom there is nothing to do. */
  several?(
    deps: { admin: Database },
    emails: readonly string[],
    given: { named: Of["named"]; values: InputValues<Fields>; isDryRun: boolean },
  ): Promise<readonly string[] | undefined>;
  canDryRun?: false;
};

export type Action<
  Of extends Subject,
  Fields extends Inputs = Inputs,
  Result = unknown,
  Json extends Columns = Columns,
> = Command<Of, Fields, Json> & {
  /** The SQL function. */
  name: FunctionName;
  inputs?: Fields;
  run(deps: ActionDeps, ref: Of["ref"], values: InputValues<Fields>): Promise<Result>;
  says: Says<Of, Json>;
  /** The role that a person must confirm if no one has it on the app. */
  newRole?(ref: Of["ref"], values: { readonly [Name in keyof Fields]: string }): NamedRole;
  page?: Page<Of, Fields>;
};

/** Declares an action on a kind of record. */
export function actionOn<Of extends Subject>() {
  return <
    const Fields extends Inputs = Record<never, never>,
    Result = unknown,
    const Json extends Columns = Record<never, never>,
  >(
    action: Action<Of, Fields, Result, Json>,
  ) => action;
}
