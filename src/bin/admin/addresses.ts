/** `rowhouse admin confirm-addresses`: to which addresses links may be mailed. @module */
import {
  type AddressState,
  confirmAddresses,
  readAddresses,
  readEmail,
} from "../../accounts/people/mod.ts";
import { quote } from "../../std/quote.ts";
import { RefusedError } from "../cli/command.ts";
import { type AdminTask, makeAdminCommand, readIdentitySecrets } from "./task.ts";

/** How many addresses are named where there are more. */
const MAX_NAMED = 20;

const confirmTask: AdminTask = async ({ admin, config }, args) => {
  const identitySecrets = readIdentitySecrets(config);
  const deps = { admin, identitySecrets };
  const only = args.text("only");
  const email = only === undefined ? undefined : readEmail(only);
  const found = await readAddresses({ db: admin }, identitySecrets);
  const renewed = await confirmAddresses(deps, found.outdated, { isRenewal: true });
  const chosen = found.unconfirmed.filter((user) => email === undefined || user.email === email);
  if (email !== undefined && chosen.length === 0)
    throw new RefusedError(`Nothing to confirm: ${email} is confirmed, or nobody has this address`);
  if (chosen.length > 0 && email === undefined && !args.has("yes"))
    throw new RefusedError(describeUnconfirmed(found));
  const confirmed = await confirmAddresses(deps, chosen, { isRenewal: false });
  return {
    document: { renewed, confirmed: chosen.map((user) => user.email) },
    lines: [
      `Confirmed ${confirmed} ${confirmed === 1 ? "address" : "addresses"}`,
      ...(confirmed === 0
        ? []
        : [
            "No one can sign in to these accounts now: make each person a link with rowhouse admin password-link",
          ]),
      ...(renewed === 0
        ? []
        : [`Renewed ${renewed}, which an older IDENTITY_SECRET had confirmed`]),
    ],
  };
};

function describeUnconfirmed({ unconfirmed }: AddressState): string {
  const named = unconfirmed.slice(0, MAX_NAMED).map(({ email }) => quote(email));
  const more = unconfirmed.length - named.length;
  return `These addresses were not set by this service with its IDENTITY_SECRET: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}. Make sure that they are right, then confirm one with --only, or all with --yes: that ends every session, password, second factor and link to a provider of these accounts`;
}

export const adminAddressCommands = [
  makeAdminCommand(
    {
      name: "admin confirm-addresses",
      example:
        "rowhouse admin confirm-addresses --only ada@example.org\nrowhouse admin confirm-addresses --yes",
      about: `Links are mailed, and people linked to an account at a provider, only by an address that the service has set itself: what else
wrote it into the database could let somebody in as another person. Confirm only what you know to be right, and delete an
account that you do not know. Confirming ends every session, password, second factor and link to a provider of the account,
because they can be another person's: make the person a new link with rowhouse admin password-link.
What an older secret in IDENTITY_SECRET has confirmed is renewed without being asked.
Prints { renewed, confirmed: [email] } with --json.`,
      positionals: [],
      flags: {
        only: { value: "email", about: "confirms this one" },
        yes: { about: "confirms all of them" },
      },
    },
    confirmTask,
  ),
];
