/*
 * The fields of a probe description may contain *, ? and sets of characters.
 * @flags: -q
 */
BEGI? { printf("1"); }
dtr*:::BEG* { printf("2"); }
[a-d]trace:::BEGIN { printf("3"); }
dtrace:::[!E]* { printf("4"); }
dtrace:::B\EGIN { printf("5\n"); exit(0); }
