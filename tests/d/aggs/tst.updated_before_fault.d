/*
 * What was aggregated before a fault stays.
 * @flags: -q
 */
ERROR { exit(0); }
BEGIN { @a = count(); x = *(int *)0; @a = count(); }
