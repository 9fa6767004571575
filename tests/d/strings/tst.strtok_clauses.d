/*
 * strtok continues in the next clause of the same firing.
 * @flags: -q
 */
BEGIN { printf("%s ", strtok("one two three", " ")); }
BEGIN { printf("%s ", strtok(NULL, " ")); }
BEGIN { printf("%s\n", strtok(NULL, " ")); exit(0); }
