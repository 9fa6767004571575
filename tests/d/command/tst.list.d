/*
 * -l lists probes with their ids, including the probes of a script.
 * @flags: -l -n dtrace:::BEGIN -n END
 */
BEGIN { exit(0); }
