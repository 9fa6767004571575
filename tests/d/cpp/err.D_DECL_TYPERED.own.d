/*
 * A script may not redeclare a predefined type.
 * @flags: -C
 */
struct timespec { char seconds; };
BEGIN { exit(0); }
