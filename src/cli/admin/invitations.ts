/** `rowhouse admin` commands that create and list invitations. @module */
import { oneOf, orNull, text } from "../../records/actions/mod.ts";
import {
  DISPLAY_NAME,
  INVITATION_OUTCOMES,
  type InvitationOutcome,
  type InvitedPerson,
  invitationList,
  invite,
  inviteSeveral,
} from "../../records/people/mod.ts";
import { toDurationText } from "../../std/duration.ts";
import { LINK_LIFE_S } from "../../std/limits.ts";
import { RejectedError } from "../command.ts";
import { command, makeListCommand, typed } from "./command.ts";
import { describeLink, toLink } from "./links.ts";
import { forSeveral } from "./several.ts";
import { type AdminDeps, confirmNewRole, makeAdminCommands, NEW_ROLE } from "./task.ts";

function describeOutcome(
  outcome: InvitationOutcome,
  { email, what }: { email: string; what: string },
): string {
  if (outcome === "granted") return `${email} already has an account and is now ${what}`;
  if (outcome === "added") return `Added to the pending invitation of ${email}: ${what}`;
  return `Invited ${email} as ${what}`;
}

const INVITED = {
  email: text(),
  app: text(),
  role: text(),
  outcome: oneOf(INVITATION_OUTCOMES),
  passwordLink: orNull(text()),
};

type OnApp = { app: string; role: string };

/** @throws {RejectedError} a person with one of the ids or addresses was created at the same time; the others are invited */
function listInvited(
  { config }: AdminDeps,
  invited: readonly InvitedPerson[],
  { app, role }: OnApp,
) {
  const people = invited.map(({ email, outcome, linkText }) => {
    if (outcome === "taken" || outcome === "repeated")
      throw new RejectedError(`${email} was created just now: run the command again`);
    const passwordLink = linkText === undefined ? null : toLink(config, linkText);
    return { email, app, role, outcome, passwordLink };
  });
  return {
    people,
    lines: people.flatMap(({ email, outcome, passwordLink }) => [
      describeOutcome(outcome, { email, what: `${role} on ${app}` }),
      ...(passwordLink === null || outcome === "mailed" ? [] : [`  ${passwordLink}`]),
    ]),
  };
}

const MAIL_TEXTS = { sent: "mailed", waiting: "mail pending", failed: "mail failed" } as const;

const listCommand = makeListCommand(invitationList, {
  summary: "lists pending invitations: people who cannot sign in yet",
  example: "rowhouse admin list-invitations --json",
  about: "The roles are the first five.",
  limit: 100,
  lines: {
    roles: ({ roles, roleCount }) => {
      const more = roleCount - roles.length;
      const all = roles.map(({ app, role }) => `${app}:${role}`);
      return [...all, ...(more > 0 ? [`and ${more} more`] : [])].join("  ");
    },
    state: ({ state, disabledAt }) => (disabledAt === null ? state : "disabled"),
    invitedBy: ({ invitedBy, invitedByEmail, invitedAt }) =>
      `by ${invitedByEmail ?? invitedBy} ${invitedAt}`,
    linkEndsAt: ({ linkEndsAt }) => (linkEndsAt === null ? "no link" : `link until ${linkEndsAt}`),
    mail: ({ mail, mailedAt }) =>
      mail === null ? "not mailed" : [MAIL_TEXTS[mail], mailedAt ?? ""].join(" ").trim(),
    disabledAt: () => "",
  },
  none: () => "No pending invitations",
});

export const adminInvitationCommands = makeAdminCommands({
  invite: forSeveral(
    command("invites people to an app with a role", {
      example: `rowhouse admin invite ada@example.org wiki editor --name 'Ada Lovelace'
rowhouse admin invite wiki editor --file people.csv`,
      about: `Creates the account, grants the role, and prints a link that sets the password once, within ${toDurationText(LINK_LIFE_S)}.
With MAIL_URL the link is also mailed. If the person has a pending invitation, the role is added to it. If the person can
already sign in, only the role is granted. A role that no one has on the app needs a confirmation, as with admin grant.`,
      args: { email: typed, app: typed, role: typed },
      flags: { name: DISPLAY_NAME, ...NEW_ROLE },
      json: INVITED,
      run: async (deps, { email: address, app: slug, role, name, "new-role": isConfirmed }) => {
        await confirmNewRole(deps, isConfirmed, { slug, role });
        const options = { email: address, slug, role, displayName: name };
        const { email, outcome, linkText } = await invite(deps, options);
        const link = linkText === undefined ? null : toLink(deps.config, linkText);
        return {
          document: { email, app: slug, role, outcome, passwordLink: link },
          lines: [
            describeOutcome(outcome, { email, what: `${role} on ${slug}` }),
            ...(link === null ? [] : describeLink(link, outcome === "mailed" ? "mailed" : "none")),
          ],
        };
      },
    }),
    {
      people: "any",
      onlyForOne: ["name"],
      json: { ...INVITED, outcome: orNull(oneOf(INVITATION_OUTCOMES)) },
      run: async (deps, { people, args, terms: [app = "", role = ""], isDryRun }) => {
        const what = `${role} on ${app}`;
        if (isDryRun)
          return {
            people: people.map(({ email }) => ({
              ...{ email, app, role },
              ...{ outcome: null, passwordLink: null },
            })),
            lines: people.map(({ email, isKnown }) =>
              isKnown
                ? `${email} has an account and would be ${what}`
                : `${email} would be invited as ${what}`,
            ),
          };
        await confirmNewRole(deps, args.has("new-role"), { slug: app, role });
        const invited = await inviteSeveral(deps, {
          people: people.map((person) => ({ ...person, id: deps.makeId() })),
          ...{ slug: app, role },
        });
        return listInvited(deps, invited, { app, role });
      },
    },
  ),
  "list-invitations": listCommand,
});
