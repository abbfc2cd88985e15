/** Checks external servers for sign-in and mail, with the same requests as the service. @module */
import { discover } from "../../identity/mod.ts";
import type { ProviderSettings } from "../../identity/settings.ts";
import { type MailAttempt, tryServer } from "../../mail/mod.ts";
import type { MailSettings } from "../../mail/settings.ts";
import { toLogFields } from "../../observe.ts";
import { type CheckResult, pass, warn } from "../check_result.ts";

const TIMEOUT_S = 5;

/** In parallel: a provider that does not respond costs seconds. */
export function checkProviders(list: readonly ProviderSettings[]): Promise<CheckResult[]> {
  return Promise.all(list.map(checkProvider));
}

async function checkProvider(settings: ProviderSettings): Promise<CheckResult> {
  const about = `sign-in with ${settings.label}`;
  try {
    await discover(settings, { timeoutS: TIMEOUT_S });
    return pass(about, `${settings.issuer} responds`);
  } catch (error) {
    return warn(about, {
      message: `${settings.issuer} does not respond as an OpenID Connect provider: ${String(toLogFields(error)["message"])}`,
      remedy: `sign-in with this provider fails until then: fetch ${settings.issuer.replace(/\/$/, "")}/.well-known/openid-configuration from this machine, and compare its "issuer" with OIDC_${settings.name.toUpperCase()}_ISSUER`,
    });
  }
}

/** The mail server that `MAIL_URL` names. */
export async function checkMailServer(settings: MailSettings): Promise<CheckResult> {
  const about = "mail server";
  const { greeting, rejection } = await tryServer(settings);
  if (rejection === undefined) return pass(about, `accepts the greeting ${greeting} and the login`);
  return warn(about, REJECTED[rejection.step](rejection.reason, greeting));
}

const REJECTED: Readonly<
  Record<
    NonNullable<MailAttempt["rejection"]>["step"],
    (reason: string, greeting: string) => { message: string; remedy: string }
  >
> = {
  connection: (reason) => ({
    message: `does not respond: ${reason}`,
    remedy: "emails stay in the queue until then: check the host, port and scheme of MAIL_URL",
  }),
  greeting: (reason, greeting) => ({
    message: `rejects the greeting EHLO ${greeting}: ${reason}`,
    remedy:
      "emails stay in the queue until then: the greeting is the host of IDENTITY_URL or PUBLIC_URL, or the domain of MAIL_FROM; use a name that the mail server resolves",
  }),
  login: (reason) => ({
    message: `rejects the login: ${reason}`,
    remedy: "emails stay in the queue until then: check the user and the password in MAIL_URL",
  }),
};
