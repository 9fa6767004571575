/*
 * An unknown option is an error.
 * @flags: -x nosuchoption
 * @exit: 1
 * @stderr
 */
BEGIN { exit(0); }
