/*
 * If a description matches nothing, -l prints a message and still lists the other probes.
 * @flags: -l -n nosuch:::probe
 * @stderr
 */
BEGIN { exit(0); }
