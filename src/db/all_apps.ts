/** The app id for totals over all apps in statistics; includes requests without an app. @module */

export const ALL_APPS = "00000000-0000-0000-0000-000000000000";
