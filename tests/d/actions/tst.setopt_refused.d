/*
 * setopt() of an option that does not exist is a fault of the library: the error
 * handler reports it, and tracing goes on.
 * @flags: -q
 * @stderr
 */
BEGIN { setopt("nosuchoption", "3"); }
BEGIN { setopt("quiet", "perhaps"); }
BEGIN { printf("went on\n"); exit(0); }
