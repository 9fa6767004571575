/*
 * %I prints an address unchanged if it has no host name.
 * @flags: -q
 */
BEGIN { printf("%I\n", "192.0.2.1"); exit(0); }
