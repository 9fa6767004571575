/*
 * %I prints an address that has no name as it is.
 * @flags: -q
 */
BEGIN { printf("%I\n", "192.0.2.1"); exit(0); }
