/*
 * -C also applies to programs on the command line.
 * @flags: -qC -n 'BEGIN { printf("%d\n", __SUNW_D); }'
 */
BEGIN { exit(0); }
