/*
 * dtrace reports an unknown option or an invalid value that is passed to setopt(),
 * and tracing continues.
 * @flags: -q
 * @stderr
 */
BEGIN { setopt("nosuchoption", "3"); }
BEGIN { setopt("quiet", "perhaps"); }
BEGIN { printf("went on\n"); exit(0); }
