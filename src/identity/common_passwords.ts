/**
 * Long passwords that people choose and that no list of leaked passwords has yet, and the words that such passwords consist
 * of. Written the way {@linkcode foldText} folds a password.
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

/** A password made only of these, digits and punctuation is common, however many it combines. */
export const COMMON_WORDS: readonly string[] = [
  ..."password passwort passphrase motdepasse contrasena secret secure qwertyuiop qwerty asdfghjkl asdfgh".split(
    " ",
  ),
  ..."zxcvbnm welcome letmein iloveyou sunshine princess dragon monkey football baseball superman batman".split(
    " ",
  ),
  ..."master shadow michael jennifer jordan hunter trustno1 starwars administrator admin default changeme".split(
    " ",
  ),
  ..."login access hello freedom whatever computer internet samsung pokemon naruto liverpool chelsea arsenal".split(
    " ",
  ),
  ..."barcelona summer winter spring autumn january february march april june july august september".split(
    " ",
  ),
  ..."october november december monday tuesday wednesday thursday friday saturday sunday testing test".split(
    " ",
  ),
  ..."please please1 my is the this a i love you".split(" "),
];
