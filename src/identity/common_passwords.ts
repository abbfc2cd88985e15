/**
 * Common long passwords that lists of leaked passwords do not contain, and the words that such passwords combine. Folded as
 * by {@linkcode foldText}.
 *
 * @module
 */
export const COMMON_PASSWORDS: ReadonlySet<string> = new Set(
  `correctbatteryhorsestaple thequickbrownfoxjumps thequickbrownfoxjumpsoverthelazydog
tobeornottobethatisthequestion onceuponatime onceuponatimethere inthebeginningwas callmeishmael ilovemyfamily
ilovemyhusband ilovemymother ilovemywife iloveyousomuch letmeinplease letmeinrightnow openthedoorplease
opensesameopensesame thisisasecret thisismysecurepassword thisisapassphrase mysupersecretpassword
verysecretpassword verysecurepassword averysecurepassword averylongpassword areallylongpassword
averylongandsecurepassword longpassword securepassword strongpassword averystrongpassword strongpasswordhere
mystrongpassword changemeplease changethispassword pleasechangeme pleasechangethispassword temporarypass
administratorpassword adminadministrator rootpassword rootpasswordroot passwordadmin adminpassword welcomehome
welcomepassword winterspringsummer springsummerautumn springsummerautumnwinter januaryfebruarymarch
mondaytuesdaywednesday qwerasdfzxcvqwer liverpoolfootball realmadridcf fcbarcelona harrypotterharry
supercalifragilisticexpialidocious jesusislord jesuslovesme godisgreat inshallahinshallah allahuakbar
bismillahirrahman hakunamatatahakuna nevergonnagiveyouup helloworldhelloworld hellomynameis whatisyourname
forgotpassword dontforgetthis trustnoonetrustno1 companypassword thecompanypassword testpassword
testpasswordtest demopassword examplepassword samplepassword passphrasepassphrase einfachespasswort
meinpasswortistsicher motdepassemotdepasse monmotdepasse contrasenacontrasena micontrasena miclavesecreta`.split(
    /\s+/,
  ),
);

/** A password of only these words, digits and punctuation is common, regardless of its length. */
export const COMMON_TERMS: readonly string[] =
  `password passwort passphrase motdepasse contrasena secret secure qwertyuiop qwerty asdfghjkl asdfgh zxcvbnm welcome
letmein iloveyou sunshine princess dragon monkey football baseball superman batman master shadow michael jennifer
jordan hunter trustno1 starwars administrator admin default changeme login access hello freedom whatever computer
internet samsung pokemon naruto liverpool chelsea arsenal barcelona summer winter spring autumn january february march
april june july august september october november december monday tuesday wednesday thursday friday saturday sunday
testing test please please1 my is the this a i love you`.split(/\s+/);
