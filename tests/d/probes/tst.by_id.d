/*
 * A number names the probe of that id.
 * @flags: -q
 */
1 { printf("%s\n", probename); exit(0); }
2 { printf("%s\n", probename); }
