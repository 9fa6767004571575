/*
 * setopt() with an unknown option or an invalid value is reported, and tracing
 * continues.
 * @flags: -q
 * @stderr
 */
BEGIN { setopt("nosuchoption", "3"); }
BEGIN { setopt("quiet", "perhaps"); }
BEGIN { printf("went on\n"); exit(0); }
