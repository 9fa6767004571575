/*
 * exit in END has the last word.
 * @exit: 3
 * @flags: -q
 */
BEGIN { exit(2); }
END { exit(3); }
