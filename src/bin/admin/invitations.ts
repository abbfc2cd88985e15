/** `rowhouse admin` commands that create, list, resend and withdraw invitations. @module */
import {
  DISPLAY_NAME,
  type InvitationOutcome,
  invite,
  type ListedInvitation,
  listInvitations,
  resendInvitation,
  withdrawInvitation,
} from "../../accounts/people/mod.ts";
import { toDurationText } from "../../std/duration.ts";
import { LINK_LIFE_S } from "../../std/limits.ts";
import { quoteForShell } from "../../std/quote_for_shell.ts";
import { readWhole } from "../cli/settings.ts";
import { toPrintableLine } from "../cli/terminal.ts";
import { describeLink, makeLinkTask, toLink } from "./links.ts";
import { confirmNewRole, NEW_ROLE } from "./new_role.ts";
import { type AdminTask, makeAdminCommands, readIdentitySecrets, toFlag } from "./task.ts";

const DEFAULT_LIMIT = "100";
const MAX_LIMIT = 10_000;

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

const listTask: AdminTask = async (deps, args) => {
  const limit = readWhole("--limit", args.text("limit") ?? DEFAULT_LIMIT, [1, MAX_LIMIT]);
  const after = args.text("after");
  const found = await listInvitations(deps, { limit, ...(after === undefined ? {} : { after }) });
  const invitations = found.invitations.map((invitation) => ({
    ...invitation,
    invitedAt: toSecond(invitation.invitedAt),
    linkMadeAt: toSecond(invitation.linkMadeAt),
    linkEndsAt: toSecond(invitation.linkEndsAt),
    mailedAt: toSecond(invitation.mailedAt),
    disabledAt: toSecond(invitation.disabledAt),
  }));
  const last = invitations.at(-1)?.email;
  return {
    document: { invitations, hasMore: found.hasMore },
    lines: [
      ...invitations.map(toLine),
      ...(invitations.length === 0 ? ["No pending invitations"] : []),
      ...(found.hasMore
        ? [
            `More invitations follow: rowhouse admin list-invitations --after ${quoteForShell(last ?? "")}`,
          ]
        : []),
    ],
  };
};

/** A time as all commands print it. */
function toSecond(text: string): string;
function toSecond(text: string | null): string | null;
function toSecond(text: string | null): string | null {
  return text === null ? null : new Date(text).toISOString().replace(/\.\d{3}Z$/, "Z");
}

const MAIL_TEXTS = { sent: "mailed", waiting: "mail pending", failed: "mail failed" } as const;

function toLine(invitation: ListedInvitation): string {
  const { email, displayName, state, disabledAt, consoleRole, mail, mailedAt } = invitation;
  const roles = invitation.roles.map(({ app, role }) => `${app}:${role}`);
  const more = invitation.roleCount - roles.length;
  const parts = [
    email,
    toPrintableLine(displayName ?? ""),
    disabledAt === null ? state : "disabled",
    consoleRole ?? "",
    ...roles,
    more > 0 ? `and ${more} more` : "",
    `by ${invitation.invitedByEmail ?? invitation.invitedBy} ${invitation.invitedAt}`,
    invitation.linkEndsAt === null ? "no link" : `link until ${invitation.linkEndsAt}`,
    mail === null ? "not mailed" : `${MAIL_TEXTS[mail]}${mailedAt === null ? "" : ` ${mailedAt}`}`,
  ];
  return parts.filter((part) => part !== "").join("  ");
}

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
  "list-invitations": {
    example: "rowhouse admin list-invitations --json",
    about: `Prints { invitations: [{ id, email, displayName, state, consoleRole, roles, roleCount, invitedBy, invitedByEmail, invitedAt,
linkMadeAt, linkEndsAt, mail, mailedAt, disabledAt }], hasMore } with --json; state is pending or expired, mail is sent,
waiting, failed or null, and roles are the first five.`,
    flags: {
      limit: { value: "count", about: `1 to ${MAX_LIMIT}; default ${DEFAULT_LIMIT}` },
      after: { value: "email", about: "starts after this address" },
    },
    task: listTask,
  },
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
