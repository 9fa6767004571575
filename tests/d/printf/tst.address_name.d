/*
 * %I prints an address without a host name unchanged.
 * @flags: -q
 */
BEGIN { printf("%I\n", "192.0.2.1"); exit(0); }
