/*
 * The message about an error in a library names the library's file and the line.
 * @flags: -L bad
 */
BEGIN { exit(0); }
