/*
 * A number that is used as a probe description selects the probe with that id.
 * @flags: -q
 */
1 { printf("%s\n", probename); exit(0); }
2 { printf("%s\n", probename); }
