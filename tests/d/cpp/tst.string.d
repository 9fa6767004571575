/*
 * -C is for programs of the command line, too.
 * @flags: -qC -n 'BEGIN { printf("%d\n", __SUNW_D); }'
 */
BEGIN { exit(0); }
