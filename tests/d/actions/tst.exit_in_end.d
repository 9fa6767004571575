/*
 * The status of an exit in END replaces the status of an earlier exit.
 * @exit: 3
 * @flags: -q
 */
BEGIN { exit(2); }
END { exit(3); }
