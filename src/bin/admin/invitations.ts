/** `rowhouse admin` commands that create, list, resend and withdraw invitations. @module */
import {
  DISPLAY_NAME,
  type InvitationOutcome,
  invitationList,
  invite,
  resendInvitation,
  withdrawInvitation,
} from "../../accounts/people/mod.ts";
import { toDurationText } from "../../std/duration.ts";
import { LINK_LIFE_S } from "../../std/limits.ts";
import { describeLink, makeLinkTask, toLink } from "./links.ts";
import { makeListCommand } from "./list_command.ts";
import { confirmNewRole, NEW_ROLE } from "./new_role.ts";
import { type AdminTask, makeAdminCommands, readIdentitySecrets, toFlag } from "./task.ts";

const inviteTask: AdminTask = async (deps, args) => {
  const [text = "", slug = "", role = ""] = args.positionals;
  const identitySecrets = readIdentitySecrets(deps.config);
  await confirmNewRole(deps, args, { slug, role });
  const options = { email: text, slug, role, displayName: args.text("name") };
  const { email, outcome, linkText } = await invite({ ...deps, identitySecrets }, options);
  const link = linkText === undefined ? null : toLink(deps.config, linkText);
  return {
    document: { email, app: slug, role, outcome, passwordLink: link },
    lines: [
      describeOutcome(outcome, { email, what: `${role} on ${slug}` }),
      ...(link === null ? [] : describeLink(link, outcome === "mailed" ? "mailed" : "none")),
    ],
  };
};

function describeOutcome(
  outcome: InvitationOutcome,
  { email, what }: { email: string; what: string },
): string {
  if (outcome === "granted") return `${email} already has an account and is now ${what}`;
  if (outcome === "added") return `Added to the pending invitation of ${email}: ${what}`;
  return `Invited ${email} as ${what}`;
}

const MAIL_TEXTS = { sent: "mailed", waiting: "mail pending", failed: "mail failed" } as const;

const listCommand = makeListCommand(invitationList, {
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

const withdrawTask: AdminTask = async (deps, args) => {
  const email = await withdrawInvitation(deps, args.positionals[0] ?? "");
  return {
    document: { email, withdrawn: true },
    lines: [
      `Withdrew the invitation of ${email}: the link no longer works, and the roles are removed`,
    ],
  };
};

export const adminInvitationCommands = makeAdminCommands({
  invite: {
    example: "rowhouse admin invite ada@example.org wiki editor --name 'Ada Lovelace'",
    about: `Creates the account, grants the role, and prints a link that sets the password once, within ${toDurationText(LINK_LIFE_S)}.
With MAIL_URL the link is also mailed. If the person has a pending invitation, the role is added to it. If the person can
already sign in, only the role is granted. A role that no one has on the app needs a confirmation, as with admin grant.
Prints { email, app, role, outcome, passwordLink } with --json; outcome is mailed, made, added or granted.`,
    positionals: ["email", "app", "role"],
    flags: { name: toFlag(DISPLAY_NAME), ...NEW_ROLE },
    task: inviteTask,
  },
  "list-invitations": listCommand,
  "resend-invitation": {
    example: "rowhouse admin resend-invitation ada@example.org",
    about: `Works for expired invitations too. Prints { email, passwordLink, isMailed } with --json.`,
    positionals: ["email"],
    task: makeLinkTask(resendInvitation),
  },
  "withdraw-invitation": {
    example: "rowhouse admin withdraw-invitation ada@example.org",
    about: `Fails if the invitation was accepted: use rowhouse admin disable or delete-user. Prints { email, withdrawn } with --json.`,
    positionals: ["email"],
    task: withdrawTask,
  },
});
