/*
 * -l of what matches nothing is the header and a message.
 * @flags: -l -n nosuch:::probe
 * @stderr
 * @replace: ^dtrace: -l lists probes of .*\n ->
 */
BEGIN { exit(0); }
