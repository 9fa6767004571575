/*
 * -l of what matches nothing is a message; the script is listed all the same.
 * @flags: -l -n nosuch:::probe
 * @stderr
 */
BEGIN { exit(0); }
