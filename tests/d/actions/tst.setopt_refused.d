/*
 * If setopt() names an unknown option or an invalid value, the error handler
 * reports it, and tracing continues.
 * @flags: -q
 * @stderr
 */
BEGIN { setopt("nosuchoption", "3"); }
BEGIN { setopt("quiet", "perhaps"); }
BEGIN { printf("went on\n"); exit(0); }
