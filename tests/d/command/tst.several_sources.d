/*
 * The programs of one command run in the order of the command line.
 * @flags: -q -n 'BEGIN{printf("one ");}' -P 'dtrace{n++;}' -i '1{printf("id ");}'
 */
BEGIN { printf("script %d\n", n); exit(0); }
