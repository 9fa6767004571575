/*
 * An error in a library names its file and line.
 * @flags: -L bad
 */
BEGIN { exit(0); }
