/*
 * A script cannot redeclare a predefined type.
 * @flags: -C
 */
struct timespec { char seconds; };
BEGIN { exit(0); }
