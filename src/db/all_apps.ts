/** What stands in statistics in place of an app's id: all requests together, those of no app too. @module */

export const ALL_APPS = "00000000-0000-0000-0000-000000000000";
