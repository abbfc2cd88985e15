/** @jsxImportSource #html @jsxRuntime automatic */
/** The provider buttons of a sign-in page. They are links, not forms: see provider_start.ts. @module */
import { type Html, renderLink } from "../../pages/mod.ts";
import { OIDC_PATH } from "../paths.ts";
import type { Providers } from "../providers.ts";

/** A button for each provider, with the query of the form's action, which names the destination. */
export function renderProviders({ list }: Providers, action: string): Html | false {
  const at = action.indexOf("?");
  return renderButtons(list, at === -1 ? "" : action.slice(at));
}

/** Buttons of the providers that can accept an invitation: those that are trusted for the domain of its address. */
export function renderInvitedProviders(
  { list }: Providers,
  { email, query }: { email: string; query: string },
): Html | false {
  const domain = email.slice(email.lastIndexOf("@") + 1);
  const trusted = list.filter(({ settings }) => settings.trustedDomains.includes(domain));
  return renderButtons(trusted, query);
}

function renderButtons(list: Providers["list"], query: string): Html | false {
  if (list.length === 0) return false;
  return (
    <>
      <ul class="providers">
        {list.map(({ settings: { name, label } }) => (
          <li>
            {renderLink(
              <span>
                Sign in with <bdi>{label}</bdi>
              </span>,
              `${OIDC_PATH}/${name}${query}`,
            )}
          </li>
        ))}
      </ul>
      <p class="or">or with a password</p>
    </>
  );
}
