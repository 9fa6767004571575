/*
 * A library cannot depend on a library that does not exist.
 * @flags: -L missing
 */
BEGIN { exit(0); }
