/** The types of the clients, which have no dependencies, compared with the schemas of the service. Compiled, never run. @module */
import type * as v from "valibot";
import type { foundOf, pageOf } from "../../src/data/mod.ts";
import type { ProblemBody } from "../../src/http/mod.ts";
import type { PeopleBody, UserBody } from "../../src/identity/operations.ts";
import type { Detail } from "../../src/problem.ts";
import type {
  AppPerson as StoredPerson,
  IdentityUser as StoredUser,
} from "../../src/records/sessions/sessions.ts";
import type { DataErrorDetail, Page } from "../../src/sdk/data.ts";
import type { AppPerson, IdentityUser } from "../../src/sdk/identity.ts";
import { expectEqual } from "./equal.ts";

type Person = PeopleBody["people"][number];
expectEqual<IdentityUser, Readonly<UserBody>>(true);
expectEqual<AppPerson, Readonly<Person>>(true);
// The service sends what it reads, without a copy of each field.
expectEqual<StoredUser, UserBody>(true);
expectEqual<StoredPerson, Person>(true);

type Row = { readonly id: string; readonly title: string };
type ListBody = v.InferOutput<ReturnType<typeof pageOf<v.GenericSchema<Row>>>>;
type FoundBody = v.InferOutput<ReturnType<typeof foundOf<v.GenericSchema<Row>>>>;
/** A service without the preview `filters` sends no `next`. */
type EitherBody = ListBody & Partial<Omit<FoundBody, keyof ListBody>>;
expectEqual<Page<Row>, { readonly [Field in keyof EitherBody]: EitherBody[Field] }>(true);

type SentDetail = NonNullable<ProblemBody["details"]>[number];
expectEqual<DataErrorDetail, Readonly<SentDetail>>(true);
expectEqual<Detail, SentDetail>(true);
