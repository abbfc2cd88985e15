/**
 * Long passwords that many people chose before, and the words they are strung together from: lower case, letters and
 * digits only, the way {@linkcode readPassword} folds what it compares. Short ones are refused for their length.
 *
 * @module
 */
export const COMMON_PASSWORDS: ReadonlySet<string> = new Set(
  `correcthorsebatterystaple correctbatteryhorsestaple thequickbrownfox thequickbrownfoxjumps
thequickbrownfoxjumpsoverthelazydog tobeornottobethatisthequestion maytheforcebewithyou
onceuponatime onceuponatimethere inthebeginningwas callmeishmael liveLongandprosper livelongandprosper
ilovemyfamily ilovemychildren ilovemyhusband ilovemymother ilovemywife iloveyousomuch iloveyouforever
iloveyouverymuch letmeinplease letmeinrightnow openthedoorplease opensesameopensesame
mypasswordispassword thisismypassword thisisapassword thisisasecret thisisasecurepassword
thisismysecurepassword thisisnotmypassword thisisapassphrase mysecretpassword mysupersecretpassword
supersecretpassword verysecretpassword verysecurepassword averysecurepassword averylongpassword
areallylongpassword averylongandsecurepassword longpassword securepassword strongpassword
averystrongpassword strongpasswordhere mystrongpassword changemeplease changethispassword
pleasechangeme pleasechangethispassword defaultpassword temporarypassword temporarypass
administratorpassword adminadministrator rootpassword rootpasswordroot usernamepassword
passwordpassword passwordadmin adminpassword welcometothejungle welcometomyworld welcomehome
welcomepassword winterspringsummer springsummerautumn springsummerautumnwinter januaryfebruarymarch
mondaytuesdaywednesday onetwothreefourfive onetwothreefour abcdefghijklmnop abcdefghijklmnopqrstuvwxyz
qwertyuiopasdfgh qwertyuiopasdfghjkl qwertyuiopasdfghjklzxcvbnm 1qaz2wsx3edc4rfv 1qaz2wsx3edc4rfv5tgb
1q2w3e4r5t6y7u8i 1q2w3e4r5t6y7u8i9o0p qazwsxedcrfvtgb qazwsxedcrfvtgbyhnujm zaq12wsxcde34rfv
q1w2e3r4t5y6u7i8 asdfghjklqwertyuiop zxcvbnmasdfghjkl qwerasdfzxcvqwer 1234qwerasdfzxcv
qweasdzxcqweasdzxc 147258369147258369 159753159753159753 123qweasdzxc123qwe manchesterunited
manchesterunitedfc liverpoolfootball realmadridcf fcbarcelona harrypotterharry starwarsstarwars
supercalifragilistic supercalifragilisticexpialidocious antidisestablishmentarianism
christianoronaldo cristianoronaldo jesusislord jesuschristislord jesuslovesme godisgoodallthetime
godisgreat inshallahinshallah allahuakbar bismillahirrahman hakunamatatahakuna nevergonnagiveyouup
hellohellohello helloworldhelloworld hellomynameis whatisyourname whatsmypassword
idontknowmypassword iforgotmypassword forgotpassword forgotmypassword rememberthispassword
donotforgetthis dontforgetthis trustnoonetrustno1 sunshinesunshine princessprincess
butterflybutterfly computercomputer internetinternet companypassword thecompanypassword
microsoftwindows googlegooglegoogle facebookfacebook testtesttesttest testpassword
testpasswordtest demopassword examplepassword samplepassword passphrasepassphrase
einfachespasswort meinpasswortistsicher sicherespasswort passwortpasswort geheimespasswort
motdepassemotdepasse monmotdepasse contrasenacontrasena micontrasena miclavesecreta`
    .split(/\s+/)
    .map((word) => word.toLowerCase()),
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
