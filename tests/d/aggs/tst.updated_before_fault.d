/*
 * Values that were aggregated before a fault are kept.
 * @flags: -q
 */
ERROR { exit(0); }
BEGIN { @a = count(); x = *(int *)0; @a = count(); }
