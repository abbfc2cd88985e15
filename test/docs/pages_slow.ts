/** The pages for app developers run block by block, against a served service. */
import { describePage } from "./page.ts";
import { openRuledWiki, openTwoServices, openWiki, openWikiWithTables } from "./settings.ts";

describePage("docs/data.md", openWiki);
describePage("docs/query.md", openWikiWithTables);
describePage("docs/clients.md", openWikiWithTables);
describePage("docs/push.md", openTwoServices);
describePage("docs/rows.md", openWiki);
describePage("docs/identity.md", openWiki);
describePage("docs/browser.md", openRuledWiki);
