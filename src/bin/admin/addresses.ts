/** `rowhouse admin confirm-addresses`: confirms the addresses that links can be emailed to. @module */
import { count, many, text } from "../../accounts/actions/mod.ts";
import {
  type AddressState,
  confirmAddresses,
  readAddresses,
  readEmail,
} from "../../accounts/people/mod.ts";
import { quote } from "../../std/quote.ts";
import { RejectedError } from "../cli/command.ts";
import { showCount } from "../cli/terminal.ts";
import { command } from "./command.ts";
import { makeAdminCommands, readIdentitySecrets } from "./task.ts";

/** Max addresses in the message. */
const MAX_NAMED = 20;

function describeUnconfirmed({ unconfirmed }: AddressState): string {
  const named = unconfirmed.slice(0, MAX_NAMED).map(({ email }) => quote(email));
  const more = unconfirmed.length - named.length;
  return `These addresses were not set by this service with its IDENTITY_SECRET: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}. Check that they are correct, then confirm one with --only, or all with --yes. This removes every session, password, second factor and provider link of these accounts`;
}

export const adminAddressCommands = makeAdminCommands({
  "confirm-addresses": command({
    example:
      "rowhouse admin confirm-addresses --only ada@example.org\nrowhouse admin confirm-addresses --yes",
    about: `The service mails links, and links accounts at a provider, only for addresses that it has set itself: an address written
directly into the database could let an attacker sign in as another person. Confirm only addresses that you know to be
correct, and delete accounts that you do not know. Confirming removes every session, password, second factor and provider
link of the account, because they can belong to an attacker: create a new link with rowhouse admin password-link.
Addresses confirmed with an older secret in IDENTITY_SECRET are renewed automatically.`,
    flags: {
      only: { value: "email", about: "confirms only this address" },
      yes: { about: "confirms all addresses" },
    },
    json: { renewed: count(), confirmed: many(text()) },
    run: async ({ admin, config }, { only, yes }) => {
      const identitySecrets = readIdentitySecrets(config);
      const deps = { admin, identitySecrets };
      const email = only === undefined ? undefined : readEmail(only);
      const found = await readAddresses({ db: admin }, identitySecrets);
      const renewed = await confirmAddresses(deps, found.outdated, { isRenewal: true });
      const chosen = found.unconfirmed.filter(
        (user) => email === undefined || user.email === email,
      );
      if (email !== undefined && chosen.length === 0)
        throw new RejectedError(
          `Nothing to confirm: ${email} is already confirmed, or no account has this address`,
        );
      if (chosen.length > 0 && email === undefined && !yes)
        throw new RejectedError(describeUnconfirmed(found));
      const confirmed = await confirmAddresses(deps, chosen, { isRenewal: false });
      return {
        document: { renewed, confirmed: chosen.map((user) => user.email) },
        lines: [
          `Confirmed ${showCount(confirmed, "address", "addresses")}`,
          ...(confirmed === 0
            ? []
            : [
                "No one can sign in to these accounts now: create a link for each person with rowhouse admin password-link",
              ]),
          ...(renewed === 0 ? [] : [`Renewed ${renewed} confirmed with an older IDENTITY_SECRET`]),
        ],
      };
    },
  }),
});
