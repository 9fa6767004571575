/*
 * If a description matches nothing, -l prints a message, and still lists the probes of the script.
 * @flags: -l -n nosuch:::probe
 * @stderr
 */
BEGIN { exit(0); }
