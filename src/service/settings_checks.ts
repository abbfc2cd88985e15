/** The doctor's checks that need no database: settings, secrets, driver. Pure. @module */
import type { Audience } from "../gateway/signature.ts";
import { type CheckResult, fail, pass, warn } from "./check_result.ts";

/** Each message contains the variable and the expected value, never the actual value. */
export function evaluateSettings(issues: readonly string[]): CheckResult[] {
  const about = "settings";
  if (issues.length === 0) return [pass(about, "are valid")];
  const remedy = "correct the variable: .env.example lists every setting";
  return issues.map((message) => fail(about, { message, remedy }));
}

/** The variables that a `.env` file sets, and of whose text Bun dropped a part. */
export function evaluateLostText(
  lost: readonly { variable: string; file: string }[],
): CheckResult[] {
  return lost.map(({ variable, file }) =>
    warn("settings", {
      message: `${variable} has lost a part: ${file} has a $ in it, and Bun takes the letters after it for the name of a variable, which is not set`,
      remedy: `write \\$ for each $ of ${variable} in ${file}, in every kind of quotes`,
    }),
  );
}

/** If both services share a secret, each can impersonate the gateway to the other. */
export function evaluateSecrets(
  secrets: Readonly<Record<Audience, readonly string[]>>,
): CheckResult {
  const about = "secrets";
  if (!secrets.data.some((secret) => secrets.identity.includes(secret)))
    return pass(about, "of data and identity differ");
  return warn(about, {
    message:
      "are the same for data and identity: each of these services can sign requests to the other",
    remedy:
      "set INTERNAL_HMAC_SECRET_DATA and INTERNAL_HMAC_SECRET_IDENTITY on the gateway, and each as INTERNAL_HMAC_SECRET on its service",
  });
}

export function evaluateDriver(isPatched: boolean): CheckResult {
  const about = "driver";
  if (isPatched) return pass(about, "is patched");
  return warn(about, {
    message:
      "is not patched: requests are slower, and a write interrupted by a database shutdown is reported as unknown instead of retried",
    remedy:
      "run bun install in the folder of the sources, which applies patches/; the package has the patched driver",
  });
}
